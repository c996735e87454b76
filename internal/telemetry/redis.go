package telemetry

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// ObserveRedis observes the calls of a client of Redis: commands, and what is sent together as one call. It is not for clients whose commands
// wait for something to happen.
func (m *Metrics) ObserveRedis(client redis.UniversalClient) {
	client.AddHook(redisHook{dialHook{m}})
	if cluster, is := client.(*redis.ClusterClient); is { // whose nodes make the connections
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(dialHook{m}) })
	}
}

// dialHook counts connections.
type dialHook struct{ m *Metrics }

// ProcessHook changes nothing.
func (dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook changes nothing.
func (dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// DialHook counts connections.
func (h dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			h.m.Dialled("redis")
		}
		return conn, err
	}
}

// redisHook counts commands, too.
type redisHook struct{ dialHook }

// ProcessHook counts single commands.
func (h redisHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		start := time.Now()
		err := next(ctx, cmd)
		h.observe(start, err)
		return err
	}
}

// ProcessPipelineHook counts commands that are sent together.
func (h redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		start := time.Now()
		err := next(ctx, cmds)
		h.observe(start, err)
		return err
	}
}

func (h redisHook) observe(start time.Time, err error) {
	h.m.redisCalls.WithLabelValues(redisOutcome(err)).Inc()
	h.m.redisSeconds.Observe(time.Since(start).Seconds())
}

// redisOutcome is "ok", "refused" for an answer of Redis that is an error, "cancelled", "timeout" or "failed".
func redisOutcome(err error) string {
	if errors.Is(err, redis.Nil) {
		return outcome(nil) // there is nothing, which is an answer
	}
	if _, answered := errors.AsType[redis.Error](err); answered {
		return "refused"
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return "timeout"
	}
	return outcome(err)
}
