package queue

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// Fits returns the position in the events of a project, and whether an earlier one is still what it was; the zero Cursor always is. An ID
// of "" asks for the epoch alone. ErrNotReady.
func (q *Queue) Fits(ctx context.Context, p project.ID, was labelling.Cursor) (labelling.Cursor, bool, error) {
	k := q.keysOf(p)
	reply, err := q.run(ctx, "compare a position in events", fitsScript, []string{k.epoch(), k.events()}, was.Epoch, was.ID)
	if err != nil {
		return labelling.Cursor{}, false, err
	}
	if len(reply) != 3 {
		return labelling.Cursor{}, false, errors.New("compare a position in events in Redis: unexpected answer")
	}
	return labelling.Cursor{Epoch: text(reply[0]), ID: text(reply[1])}, number(reply[2]) == 1, nil
}

// Condemn has a project be not ready, so that it is rebuilt, unless its epoch is another one by now. It reports whether it did.
func (q *Queue) Condemn(ctx context.Context, p project.ID, epoch string) (bool, error) {
	return q.flag(ctx, "give up a queue", condemnScript, []string{q.keysOf(p).epoch()}, epoch)
}

// wholeAtOnce is how many keys are looked at in one script.
const wholeAtOnce = 500

// Whole reports whether the keys of a project fit together. When they do not, the project is not ready any more. ErrNotReady.
func (q *Queue) Whole(ctx context.Context, p project.ID) (bool, error) {
	k := q.keysOf(p)
	names, err := q.client.SMembers(ctx, k.present()).Result()
	if err != nil {
		return false, failed("read which keys there are", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !k.has(name) })
	slices.Sort(names)
	for first := true; first || len(names) > 0; first = false {
		n := min(len(names), wholeAtOnce)
		keys := []string{k.epoch(), k.present(), k.metadata(), k.queue(), k.queued(), k.wip(), k.claims(), k.events()}
		fits, err := q.flag(ctx, "look whether a queue is whole", wholeScript, append(keys, names[:n]...))
		if err != nil || !fits {
			return false, err
		}
		names = names[n:]
	}
	return true, nil
}

// Identities returns for each project which process of Redis keeps it; "" where that cannot be found out.
func (q *Queue) Identities(ctx context.Context, ids []project.ID) ([]string, error) {
	known := map[string]string{}
	ask := func(node redis.Cmdable, addr string) (string, error) {
		if id, asked := known[addr]; asked {
			return id, nil
		}
		info, err := node.Info(ctx, "server").Result()
		if answer, refused := errors.AsType[redis.Error](err); refused && !passing(answer) {
			info, err = "", nil // the embedded one, or a Redis that tells nobody
		}
		if err != nil {
			return "", failed("ask which Redis this is", err)
		}
		for line := range strings.Lines(info) {
			if id, is := strings.CutPrefix(strings.TrimSpace(line), "run_id:"); is {
				known[addr] = id
				return id, nil
			}
		}
		known[addr] = ""
		return "", nil
	}
	found := make([]string, len(ids))
	cluster, _ := q.client.(*redis.ClusterClient)
	for i, p := range ids {
		var err error
		if cluster == nil {
			found[i], err = ask(q.client, "")
		} else if node, none := cluster.MasterForKey(ctx, q.keysOf(p).epoch()); none != nil {
			err = failed("find the master of a project", none)
		} else {
			found[i], err = ask(node, node.Options().Addr)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
