package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// State returns what a project's queue is like, at a position in its events. ErrNotReady.
func (q *Queue) State(ctx context.Context, p project.ID) (labelling.State, error) {
	snapshot, err := q.Snapshot(ctx, p, "", nil)
	return snapshot.State, err
}

// Snapshot returns the same with the acknowledged claims of a user and the statistics of teams, in the order they are given in,
// all of one moment: events after the position are news to all of it. ErrNotReady.
func (q *Queue) Snapshot(ctx context.Context, p project.ID, u labelling.UserID, teams []string) (labelling.Snapshot, error) {
	k := q.keysOf(p)
	keys := []string{k.epoch(), k.metadata(), k.queue(), k.events(), k.claims(), k.userQueue(u), k.reviews()}
	for _, team := range teams {
		keys = append(keys, k.team(team))
	}
	reply, err := q.run(ctx, "read a queue", snapshotScript, keys, string(u))
	if err != nil {
		return labelling.Snapshot{}, err
	}
	if len(reply) != 6+len(teams) {
		return labelling.Snapshot{}, errors.New("read a queue in Redis: unexpected answer")
	}
	s := labelling.Snapshot{State: labelling.State{
		Project: p, Cursor: labelling.Cursor{Epoch: text(reply[0]), ID: text(reply[1])}, Queued: number(reply[2]), ToReview: number(reply[5]),
	}}
	for name, value := range pairs(reply[3]) {
		n, _ := strconv.Atoi(value)
		switch name {
		case "total-items":
			s.State.Counts.Total = n
		case "new-items":
			s.State.Counts.New = n
		case "claimed-items":
			s.State.Counts.Claimed = n
		case "finished-items":
			s.State.Counts.Finished = n
		case "skipped-items":
			s.State.Counts.Skipped = n
		case "queue-size":
			s.State.Size = n
		case "paused":
			s.State.Paused = value == "1"
		}
	}
	if s.State.Size == 0 {
		if s.State.Size, err = q.Size(ctx); err != nil {
			return labelling.Snapshot{}, err
		}
	}
	for item, value := range pairs(reply[4]) {
		var c claim
		if err := json.Unmarshal([]byte(value), &c); err != nil {
			return labelling.Snapshot{}, fmt.Errorf("read the claim of an item in Redis: %w", err)
		}
		s.Claims = append(s.Claims, c.of(p, item))
	}
	for i, team := range teams {
		s.Statistics = append(s.Statistics, statistics(team, reply[6+i]))
	}
	return s, nil
}

// StatisticsOf returns what the members of teams did, in the order the teams are given in. ErrNotReady.
func (q *Queue) StatisticsOf(ctx context.Context, p project.ID, teams []string) ([]labelling.Statistics, error) {
	k := q.keysOf(p)
	keys := []string{k.epoch()}
	for _, team := range teams {
		keys = append(keys, k.team(team))
	}
	reply, err := q.run(ctx, "read statistics", statisticsScript, keys)
	if err != nil {
		return nil, err
	}
	if len(reply) != len(teams) {
		return nil, errors.New("read statistics in Redis: unexpected answer")
	}
	all := make([]labelling.Statistics, len(teams))
	for i, team := range teams {
		all[i] = statistics(team, reply[i])
	}
	return all, nil
}

// ToReview returns how many efforts of an author and a category await a review, "" for all of them, and how many of these are of a user.
// ErrNotReady.
func (q *Queue) ToReview(ctx context.Context, p project.ID, author labelling.UserID, category string, of labelling.UserID) (all, own int, err error) {
	k := q.keysOf(p)
	reply, err := q.run(ctx, "count what is to review", reviewsScript, []string{k.epoch(), k.reviews()}, reviewsOf(author, category), reviewsOf(of, category))
	if err != nil {
		return 0, 0, err
	}
	if len(reply) != 2 {
		return 0, 0, errors.New("count what is to review in Redis: unexpected answer")
	}
	if all, own = number(reply[0]), number(reply[1]); author != "" && author != of {
		own = 0
	}
	return all, own, nil
}

// reviewsOf is the name under which efforts to review are counted; see lua/prelude.lua, toReview.
func reviewsOf(author labelling.UserID, category string) string {
	var parts []string
	if author != "" {
		parts = append(parts, "user", escape(string(author)))
	}
	if category != "" {
		parts = append(parts, "category", escape(category))
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, ":")
}

// statistics reads a hash of "team:type", "team:finished", "team:incorrect", "<user>:finished" and "<user>:incorrect".
func statistics(team string, fields any) labelling.Statistics {
	s := labelling.Statistics{Team: team}
	users := map[string]*labelling.UserStatistics{}
	for name, value := range pairs(fields) {
		at := strings.LastIndexByte(name, ':')
		if at < 0 {
			continue
		}
		who, what := name[:at], name[at+1:]
		n, _ := strconv.Atoi(value)
		switch {
		case who == "team" && what == "type":
			s.Type = project.TeamType(value)
			continue
		case who == "team" && what == "finished":
			s.Finished = n
			continue
		case who == "team" && what == "incorrect":
			s.Incorrect = n
			continue
		}
		u := users[who]
		if u == nil {
			u = &labelling.UserStatistics{User: labelling.UserID(who)}
			users[who] = u
		}
		switch what {
		case "finished":
			u.Finished = n
		case "incorrect":
			u.Incorrect = n
		}
	}
	for _, u := range users {
		s.Users = append(s.Users, *u)
	}
	slices.SortFunc(s.Users, func(a, b labelling.UserStatistics) int { return cmp.Compare(a.User, b.User) })
	return s
}

// Size returns how many ids the queues of projects hold that have no size of their own.
func (q *Queue) Size(ctx context.Context) (int, error) {
	n, err := q.client.Get(ctx, q.sizeKey()).Int()
	switch {
	case errors.Is(err, redis.Nil):
		return labelling.QueueSize, nil
	case err != nil:
		return 0, failed("read the size of queues", err)
	}
	return min(max(n, 1), project.MaxQueueSize), nil
}

// SetSize sets that number.
func (q *Queue) SetSize(ctx context.Context, n int) error {
	if err := q.client.Set(ctx, q.sizeKey(), n, 0).Err(); err != nil {
		return failed("set the size of queues", err)
	}
	return nil
}

// Fill appends ids of NEW items to a project's queue until it is full; size is that of queues without one of their own. An id that
// waits already, is reserved or claimed, or is kept for its author is left out, and the queue never holds more ids than items are
// counted as NEW. It returns how many were appended and how many the queue still lacks, within both bounds. ErrNotReady.
func (q *Queue) Fill(ctx context.Context, p project.ID, ids []string, size int) (added, missing int, err error) {
	k := q.keysOf(p)
	args := make([]any, 0, 1+len(ids))
	args = append(args, size)
	for _, id := range ids {
		args = append(args, id)
	}
	reply, err := q.run(ctx, "fill a queue", fillScript,
		[]string{k.epoch(), k.metadata(), k.queue(), k.queued(), k.claims(), k.held(), k.present()}, args...)
	if err != nil {
		return 0, 0, err
	}
	if len(reply) != 2 {
		return 0, 0, errors.New("fill a queue in Redis: unexpected answer")
	}
	return number(reply[0]), number(reply[1]), nil
}

// Need returns how many ids a project's queue lacks; size is that of queues without one of their own. ErrNotReady.
func (q *Queue) Need(ctx context.Context, p project.ID, size int) (int, error) {
	_, missing, err := q.Fill(ctx, p, nil, size)
	return missing, err
}

// Pause stops the handing out of items; claims go on. It reports whether that is news. ErrNotReady.
func (q *Queue) Pause(ctx context.Context, p project.ID, by labelling.UserID) (bool, error) {
	return q.pause(ctx, p, by, true)
}

// Resume undoes Pause. ErrNotReady.
func (q *Queue) Resume(ctx context.Context, p project.ID, by labelling.UserID) (bool, error) {
	return q.pause(ctx, p, by, false)
}

func (q *Queue) pause(ctx context.Context, p project.ID, by labelling.UserID, paused bool) (bool, error) {
	k := q.keysOf(p)
	return q.flag(ctx, "pause or resume a project", pauseScript,
		[]string{k.epoch(), k.metadata(), k.queue(), k.events(), k.present()}, bit(paused), string(by), q.o.MaxEvents)
}

// SetSettings writes down what the queue knows of the project itself; Paused is left to Pause and Resume. A queue that is too long
// is cut. Subscribers are told of another size and of other lists, by whom. ErrNotReady.
func (q *Queue) SetSettings(ctx context.Context, p project.ID, s labelling.Settings, by labelling.UserID) error {
	k := q.keysOf(p)
	keys := []string{k.epoch(), k.metadata(), k.queue(), k.queued(), k.labels(labelling.Categories), k.labels(labelling.Subcategories), k.events()}
	args := []any{s.Version, s.Name, s.Size, string(by), q.o.MaxEvents, len(s.Teams), len(s.Categories)}
	for _, team := range s.Teams {
		keys, args = append(keys, k.team(team.ID)), append(args, string(team.Type))
	}
	for _, name := range slices.Concat(s.Categories, s.Subcategories) {
		args = append(args, name)
	}
	_, err := q.run(ctx, "set up a queue", settingsScript, append(keys, k.present()), args...)
	return err
}
