package queue

import (
	"context"
	"strings"

	"github.com/taggie/taggie/internal/follow"
)

// Forget removes a stream of events, of what is gone, and what is remembered of each of its events.
//
// Cost: 1 SCAN per 1,000 keys of the Redis, or the master of the stream's slot, and 1 UNLINK per 1,000 keys of the stream.
func (q Streams) Forget(ctx context.Context, of follow.Stream) error {
	single := string(q.space) + string(of.Kind) + ":event:{" + escape(of.Of) + "}:"
	stream := q.streamKey(of)
	return q.forget(ctx, stream, unmatched.Replace(string(q.space)+string(of.Kind)+":event")+"*"+unmatched.Replace("{"+escape(of.Of)+"}")+"*", func(key string) bool {
		return key == stream || strings.HasPrefix(key, single)
	})
}
