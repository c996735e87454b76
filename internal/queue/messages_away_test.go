package queue

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
)

// lines is what a log wrote.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.out.Bytes(), []byte(text))
}

func TestARedisThatIsAwayIsLoggedOncePerStream(t *testing.T) {
	var dials atomic.Int64
	client := redis.NewClient(&redis.Options{MaxRetries: -1, DialerRetries: 1, PoolSize: 1000, Dialer: func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, errors.New("away")
	}})
	t.Cleanup(func() { _ = client.Close() })
	log := &lines{}
	q := New(client, Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.Consume(ctx, "c", func(context.Context, labelling.Message) error { return nil })
	}()
	require.Eventually(t, func() bool { return dials.Load() > 5*streams }, 20*time.Second, 5*time.Millisecond)
	stop()
	<-ended
	assert.Equal(t, streams, log.count("messages cannot be read"))
}
