package clock_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/clock"
)

// server is the clock of a server that is off by some time, at a true time that the test moves.
type server struct {
	*clock.Clock
	true  time.Time
	ahead time.Duration
	logs  bytes.Buffer
}

func newServer(ahead time.Duration) *server {
	s := &server{true: time.Date(2026, 3, 1, 12, 0, 0, 300e6, time.UTC), ahead: ahead}
	s.Clock = clock.New(func() time.Time { return s.true.Add(s.ahead) }, slog.New(slog.NewTextHandler(&s.logs, nil)))
	return s
}

func (s *server) passes(d time.Duration) { s.true = s.true.Add(d) }

// asks has a store answer a millisecond after it was asked.
func (s *server) asksRedis() {
	asked := s.Local()
	s.passes(time.Millisecond)
	s.HeardRedis(s.true, asked)
}

func (s *server) asksDynamoDB() {
	asked := s.Local()
	s.passes(time.Millisecond)
	s.HeardDate(s.true.Format(http.TimeFormat), asked)
}

// off is how far the shared time is from the true one.
func (s *server) off() time.Duration { return s.Now().Sub(s.true).Abs() }

func TestTheTimeIsThatOfRedis(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
		s := newServer(ahead)
		assert.Equal(t, s.Local(), s.Now(), "nothing else is known yet")
		s.asksRedis()
		assert.LessOrEqual(t, s.off(), time.Millisecond)
		s.passes(time.Hour) // Redis is away, and so is DynamoDB: what was heard goes on
		assert.LessOrEqual(t, s.off(), time.Millisecond)
		assert.Equal(t, ahead.Round(time.Second), s.Ahead().Round(time.Second))
	}
}

func TestTheTimeIsThatOfDynamoDBWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	s := newServer(10 * time.Minute)
	s.asksDynamoDB()
	assert.LessOrEqual(t, s.off(), time.Second, "one answer tells the second")
	for range 300 {
		s.passes(37 * time.Millisecond)
		s.asksDynamoDB()
	}
	assert.LessOrEqual(t, s.off(), 50*time.Millisecond, "many tell more")
	s.asksRedis()
	assert.LessOrEqual(t, s.off(), time.Millisecond)
}

func TestAWrongRedisIsNotBelievedForLong(t *testing.T) {
	t.Parallel()
	s := newServer(0)
	asked := s.Local()
	s.HeardRedis(s.true.Add(time.Hour), asked)
	require.Equal(t, time.Hour, s.off(), "as long as it answers it is what servers agree on")
	for range 20 {
		s.passes(time.Second)
		s.asksDynamoDB()
	}
	assert.LessOrEqual(t, s.off(), time.Second)
}

func TestDynamoDBsClockMayBeSet(t *testing.T) {
	t.Parallel()
	s := newServer(0)
	s.asksDynamoDB()
	s.passes(5 * time.Second)
	s.HeardDate(s.true.Add(time.Minute).Format(http.TimeFormat), s.Local())
	assert.InDelta(t, time.Minute.Seconds(), s.off().Seconds(), 1)
}

func TestAServerThatIsOffWarns(t *testing.T) {
	t.Parallel()
	s := newServer(1900 * time.Millisecond)
	s.asksRedis()
	require.NoError(t, s.Check(t.Context()))
	assert.Empty(t, s.logs.String())
	s.ahead = -3 * time.Second // it was set
	s.asksRedis()
	err := s.Check(t.Context())
	var off *clock.Off
	require.ErrorAs(t, err, &off)
	assert.Equal(t, "3s behind", (&clock.Off{Ahead: off.Ahead.Round(time.Second)}).Said())
	s.asksRedis()
	assert.Equal(t, 1, bytes.Count(s.logs.Bytes(), []byte("level=WARN")), "once: %s", s.logs.String())
	s.ahead = 0
	s.asksRedis()
	require.NoError(t, s.Check(t.Context()))
	assert.Contains(t, s.logs.String(), "right again")
}

func TestTokensDoNotGoByARedisThatIsOff(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		s := newServer(0)
		s.HeardRedis(s.true.Add(ahead), s.Local())
		assert.Equal(t, ahead, s.Agreed().Sub(s.true), "one against one: Redis is believed")
		s.asksDynamoDB()
		s.HeardRedis(s.true.Add(ahead), s.Local())
		assert.Equal(t, ahead, s.Now().Sub(s.true), "leases go by Redis, as its scripts do")
		assert.Equal(t, s.true, s.Agreed())
		var off *clock.Off
		require.ErrorAs(t, s.Check(t.Context()), &off)
		assert.Contains(t, off.Said(), "the clock of Redis is 10m0s")
		assert.Equal(t, 1, bytes.Count(s.logs.Bytes(), []byte("the clock of Redis is off")), s.logs.String())

		s.passes(time.Minute) // DynamoDB was not asked meanwhile: what it said stands
		s.HeardRedis(s.true.Add(ahead), s.Local())
		assert.Equal(t, s.true, s.Agreed())
		s.asksDynamoDB()
		s.asksRedis()
		assert.InDelta(t, 0, s.Agreed().Sub(s.true), float64(time.Millisecond), "Redis was set")
		require.NoError(t, s.Check(t.Context()))
		assert.Contains(t, s.logs.String(), "the clock of Redis is right again")
	}
	s := newServer(10 * time.Minute)
	s.asksDynamoDB()
	s.asksRedis()
	assert.LessOrEqual(t, s.Agreed().Sub(s.true), time.Second, "it is the server that is off")
}

func Example() {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := clock.New(func() time.Time { return at.Add(10 * time.Minute) }, slog.New(slog.DiscardHandler)) // a server that is ahead
	c.HeardRedis(at, c.Local())
	fmt.Println(c.Now().Format(time.TimeOnly), c.Ahead())
	// Output: 12:00:00 10m0s
}
