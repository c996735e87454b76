package telemetry

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/semconv/v1.43.0"
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
		h.observe(ctx, start, err, cmd)
		return err
	}
}

// ProcessPipelineHook counts commands that are sent together.
func (h redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		start := time.Now()
		err := next(ctx, cmds)
		h.observe(ctx, start, err, cmds...)
		return err
	}
}

func (h redisHook) observe(ctx context.Context, start time.Time, err error, cmds ...redis.Cmder) {
	took, said := time.Since(start), redisOutcome(err)
	h.m.redisCalls.WithLabelValues(said).Inc()
	h.m.redisSeconds.Observe(took.Seconds())
	if parent := recorded(ctx); parent != nil {
		name, _ := ctx.Value(scriptName{}).(string)
		for i := 0; name == "" && i < len(cmds); i++ {
			name = cmds[i].FullName()
		}
		below(parent, name, said, took, semconv.DBSystemNameRedis, semconv.DBOperationName(name), attribute.Int("taggie.redis.commands", len(cmds)))
	}
}

type scriptName struct{}

// WithScript returns a context in which the next call to Redis is called this in a trace: scripts travel by their hash.
func WithScript(ctx context.Context, what string) context.Context {
	if recorded(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, scriptName{}, what)
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
