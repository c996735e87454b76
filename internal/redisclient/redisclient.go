// Package redisclient makes the clients of Redis, so that a new master is found soon after the old one is gone.
//
// It knows go-redis and the errors that say that a Cluster may have another master by now. It must not know what is kept in Redis.
// Sentinels are asked for the master whenever a connection is made, so their client needs nothing more. Start reading at [New].
package redisclient

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// mapAge is how old the map of a Cluster's slots gets while nothing fails.
	mapAge = 10 * time.Second
	// reloadEvery is the shortest time between two reloads of the map that errors ask for.
	reloadEvery = 100 * time.Millisecond
)

// New returns a client of one Redis, of the master that Sentinels name, or of a Cluster, as the options say. It always asks
// masters: replicas may be behind.
func New(o redis.UniversalOptions) redis.UniversalClient {
	if o.MasterName != "" || !o.IsClusterMode {
		return redis.NewUniversalClient(&o)
	}
	cluster := o.Cluster()
	cluster.ClusterStateReloadInterval = mapAge
	client := redis.NewClusterClient(cluster)
	w := &watch{reload: func() { client.ReloadState(context.Background()) }} // which does not wait
	client.OnNewNode(func(node *redis.Client) { node.AddHook(w) })
	return client
}

// watch has the map of slots reloaded when a node of a Cluster cannot be reached, or says that it is not in order: the library does
// so only when another node says that a slot has moved, and nobody says that of a master that is gone.
type watch struct {
	reload func()
	last   atomic.Int64 // when it was reloaded, in nanoseconds
}

var _ redis.Hook = (*watch)(nil)

// DialHook looks at connections that are made.
func (w *watch) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		w.look(err)
		return conn, err
	}
}

// ProcessHook looks at single commands.
func (w *watch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		w.look(err)
		return err
	}
}

// ProcessPipelineHook looks at commands that are sent together.
func (w *watch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		w.look(err)
		return err
	}
}

// look has the map reloaded if the error may mean that it is out of date.
func (w *watch) look(err error) {
	if !suspicious(err) {
		return
	}
	now, last := time.Now().UnixNano(), w.last.Load()
	if now-last >= int64(reloadEvery) && w.last.CompareAndSwap(last, now) {
		w.reload()
	}
}

// suspicious reports whether an error may mean that a node is no longer the master it was.
func suspicious(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return true // no connection, or no answer
	}
	code, _, _ := strings.Cut(answer.Error(), " ")
	switch code {
	case "CLUSTERDOWN", "MASTERDOWN", "READONLY", "MOVED", "LOADING":
		return true
	}
	return false
}
