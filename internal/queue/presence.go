package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// Heartbeat says that a user is online, and at work in some projects. Presence needs no truth: after Redis was emptied it is there
// again with the next heartbeats.
func (q *Queue) Heartbeat(ctx context.Context, u labelling.UserID, projects []project.ID) error {
	n, _, err := q.online(ctx, q.onlineUsersKey(), string(u), false)
	if err != nil {
		return err
	}
	for _, p := range projects {
		if _, _, err := q.online(ctx, q.keysOf(p).online(), string(u), false); err != nil {
			return err
		}
	}
	return q.writeCount(ctx, n)
}

// Online returns who is at work in a project, the one heard of last at the end.
func (q *Queue) Online(ctx context.Context, p project.ID) ([]labelling.Online, error) {
	_, users, err := q.online(ctx, q.keysOf(p).online(), "", true)
	return users, err
}

// OnlineCount returns how many users are online, in whatever project or none.
func (q *Queue) OnlineCount(ctx context.Context) (int, error) {
	n, _, err := q.online(ctx, q.onlineUsersKey(), "", false)
	if err != nil {
		return 0, err
	}
	return n, q.writeCount(ctx, n)
}

// writeCount shows the number under the document's key. That one lives in another slot than the set, so it follows a moment later, and
// goes when nobody is left to write it.
func (q *Queue) writeCount(ctx context.Context, n int) error {
	if err := q.client.Set(ctx, q.onlineCountKey(), n, q.o.Presence).Err(); err != nil {
		return failed("write down how many are online", err)
	}
	return nil
}

func (q *Queue) online(ctx context.Context, key, user string, names bool) (int, []labelling.Online, error) {
	reply, err := q.run(ctx, "ask who is online", heartbeatScript, []string{key}, user, q.o.Presence.Milliseconds(), bit(names))
	if err != nil {
		return 0, nil, err
	}
	if len(reply) != 2 {
		return 0, nil, errors.New("ask who is online in Redis: unexpected answer")
	}
	var users []labelling.Online
	for u, seen := range pairs(reply[1]) {
		ms, err := strconv.ParseFloat(seen, 64) // the score of a sorted set
		if err != nil {
			return 0, nil, fmt.Errorf("read a heartbeat in Redis: %w", err)
		}
		users = append(users, labelling.Online{User: labelling.UserID(u), Seen: instant(strconv.FormatInt(int64(ms), 10))})
	}
	return number(reply[0]), users, nil
}
