package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// unescape is the opposite of [escape].
var unescape = strings.NewReplacer("%25", "%", "%7B", "{", "%7D", "}", "%3A", ":", "%00", "\x00")

// EraseUser removes a user from everything that Redis keeps of queues and events, and returns how often it met the user. In a project, the pseudonym that as
// returns takes the user's place: in statistics, claims, events and what awaits a review. What the user put off or skipped is removed. So are streams of events
// of notes and scores that name the user: who follows them begins anew. Dead letters that name the user are removed, since the outbox has what they are about.
// Messages that name the user are met and stay: the consumer follows them in a moment. A project that is being rebuilt is met.
//
// Cost: 1 SCAN per 1,000 keys of the Redis, or of each master; 1 script for each project, 2 for one that names the user, of which the second writes its
// events anew, up to about [labelling.MaxEvents]; 1 for each stream of events of notes and scores; 2 reads of each stream of messages, more for each 500 of these.
func (q *Queue) EraseUser(ctx context.Context, u labelling.UserID, as func(ctx context.Context, u labelling.UserID, project string) (labelling.UserID, error)) (met int, err error) {
	projects, streams, err := q.kept(ctx)
	if err != nil {
		return 0, err
	}
	for _, p := range slices.Sorted(maps.Keys(projects)) {
		n, err := q.eraseIn(ctx, p, projects[p], u, as)
		if met += n; err != nil {
			return met, err
		}
	}
	for _, key := range streams {
		dropped, err := q.drop(ctx, key, u)
		if err != nil {
			return met, err
		}
		if dropped {
			met++
		}
	}
	n, err := q.eraseMessages(ctx, u)
	if met += n; err != nil {
		return met, err
	}
	if err := q.client.ZRem(ctx, q.onlineUsersKey(), string(u)).Err(); err != nil {
		return met, failed("forget who is online", err)
	}
	return met, nil
}

// kept returns the projects of which something is kept, each with its keys of statistics, and the streams of events of notes and scores.
func (q *Queue) kept(ctx context.Context) (teams map[project.ID][]string, streams []string, err error) {
	teams = map[project.ID][]string{}
	var mu sync.Mutex
	see := func(key string) {
		of, ours := strings.CutPrefix(key, string(q.space))
		what, rest, braced := strings.Cut(of, ":{")
		part, rest, closed := strings.Cut(rest, "}")
		id := project.ID(unescape.Replace(part))
		switch {
		case !ours || !braced || !closed || !q.keysOf(id).has(key):
		case what == string(event.OfNote)+":events" || what == string(event.OfScore)+":events":
			streams = append(streams, key)
		case what == "team:statistics" && strings.Count(rest, ":") == 1: // what a rebuild prepares has one more
			teams[id] = append(teams[id], key)
		case teams[id] == nil && (strings.HasPrefix(what, "project:") || strings.HasPrefix(what, "user:")):
			teams[id] = []string{}
		}
	}
	scan := func(ctx context.Context, node redis.Cmdable) error {
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			found, next, err := node.Scan(ctx, cursor, unmatched.Replace(string(q.space))+"*", forgotAtOnce).Result()
			if err != nil {
				return failed("look for what names a user", err)
			}
			mu.Lock()
			for _, key := range found {
				see(key)
			}
			mu.Unlock()
			cursor = next
		}
		return nil
	}
	if cluster, is := q.client.(*redis.ClusterClient); is {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return scan(ctx, node) })
	} else {
		err = scan(ctx, q.client)
	}
	for _, of := range teams {
		slices.Sort(of)
	}
	slices.Sort(streams)
	return teams, slices.Compact(streams), err
}

// eraseIn does so in one project.
func (q *Queue) eraseIn(ctx context.Context, p project.ID, teams []string, u labelling.UserID, as func(context.Context, labelling.UserID, string) (labelling.UserID, error)) (met int, err error) {
	k := q.keysOf(p)
	erase := func(by labelling.UserID) (int, bool, error) {
		keys := []string{k.epoch(), k.rebuild(), k.events(), k.claims(), k.reviews(), k.online(), k.userQueue(u), k.userReturned(u), k.userLater(u), k.userSkipped(u), k.userReviews(u),
			k.userQueue(by), k.userReturned(by), k.present()}
		reply, err := q.run(ctx, "erase a user", eraseScript, append(append(keys, teams...), k.present()), string(u), escape(string(u)), string(by), escape(string(by)))
		switch {
		case errors.Is(err, labelling.ErrNotReady): // a key was missed: it is rebuilt, and met in the next pass
			return 1, true, nil
		case err != nil:
			return 0, false, err
		case len(reply) != 2:
			return 0, false, errors.New("erase a user in Redis: unexpected answer")
		}
		return number(reply[0]), number(reply[1]) == 1, nil
	}
	met, rebuilding, err := erase("")
	if err == nil && met > 0 {
		var by labelling.UserID
		if by, err = as(ctx, u, string(p)); err == nil {
			met, rebuilding, err = erase(by)
		}
	}
	if rebuilding {
		met++
	}
	return met, err
}

// drop removes the events under a key when one of them names a user.
func (q *Queue) drop(ctx context.Context, key string, u labelling.UserID) (bool, error) {
	return q.flag(ctx, "remove events about a user", dropScript, []string{key}, string(u))
}

// messagesAtOnce is how many messages are read together.
const messagesAtOnce = 500

// eraseMessages removes dead letters that name a user, and returns how many of these there were, and how many messages are on their way.
func (q *Queue) eraseMessages(ctx context.Context, u labelling.UserID) (met int, err error) {
	for n := range streams {
		for _, key := range []string{q.finishedKey(n), q.deadKey(n)} {
			for from := "-"; from != ""; {
				entries, err := q.client.XRangeN(ctx, key, from, "+", messagesAtOnce).Result()
				if err != nil {
					return met, failed("look for messages about a user", err)
				}
				if from = ""; len(entries) == messagesAtOnce {
					from = "(" + entries[len(entries)-1].ID
				}
				for _, e := range entries {
					if !strings.Contains(text(e.Values["body"]), string(u)) {
						continue
					}
					if met++; key == q.finishedKey(n) {
						continue
					}
					if err := q.DropDeadLetter(ctx, fmt.Sprintf("%d/%s", n, e.ID)); err != nil && !errors.Is(err, labelling.ErrNoDeadLetter) {
						return met, err
					}
				}
			}
		}
	}
	return met, nil
}
