package queue

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/project"
)

// forgotAtOnce is about how many keys Redis looks at in one SCAN.
const forgotAtOnce = 1_000

// unmatched keeps what a key consists of from being taken for a pattern.
var unmatched = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)

// Forget removes all keys of a project, whoever made them: of a project that is no more. They are found by what their names have in common, since
// no list of them has what users put off or skipped, and what a rebuild prepared.
//
// Cost: 1 SCAN per 1,000 keys of the Redis, or the master of the project's slot, and 1 UNLINK per 1,000 keys of the project.
func (q *Queue) Forget(ctx context.Context, p project.ID) error {
	k := q.keysOf(p)
	return q.forget(ctx, k.epoch(), unmatched.Replace(string(k.space))+"*"+unmatched.Replace(k.project)+"*", k.has)
}

// forget removes the keys that match a pattern and are ours, all of which are in the slot of a key.
func (q *Queue) forget(ctx context.Context, slot, pattern string, ours func(key string) bool) error {
	var node redis.Cmdable = q.client
	if cluster, is := q.client.(*redis.ClusterClient); is {
		master, err := cluster.MasterForKey(ctx, slot)
		if err != nil {
			return failed("find the master of a slot", err)
		}
		node = master
	}
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		found, next, err := node.Scan(ctx, cursor, pattern, forgotAtOnce).Result()
		if found = slices.DeleteFunc(found, func(key string) bool { return !ours(key) }); err == nil && len(found) > 0 {
			err = q.client.Unlink(ctx, found...).Err()
		}
		if err != nil {
			return failed("forget what is gone", err)
		}
		cursor = next
	}
	return nil
}
