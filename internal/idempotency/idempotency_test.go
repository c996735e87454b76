package idempotency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

// memory is a store with one effect: it counts.
type memory struct {
	keys    map[string]Key
	effects int
	blind   bool // look-ups find nothing, as for two senders at the same moment
}

func (m *memory) FindIdempotencyKey(_ context.Context, k Key) error {
	if m.blind {
		return nil
	}
	return m.check(k)
}

func (m *memory) check(k Key) error {
	switch had, used := m.keys[k.Viewer+"|"+k.Key]; {
	case !used:
		return nil
	case !bytes.Equal(had.Hash, k.Hash):
		return ErrMismatch
	default:
		return &Replayed{Result: had.Result}
	}
}

// write is the effect and the record of the key in one.
func (m *memory) write(k Key) error {
	if k.Given() {
		if err := m.check(k); err != nil {
			return err
		}
		m.keys[k.Viewer+"|"+k.Key] = k
	}
	m.effects++
	return nil
}

var now = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func (m *memory) do(key *string, viewer, mutation string, input any) (string, error) {
	g := Guard{Store: m, Now: func() time.Time { return now }}
	return Do(context.Background(), g, Request{Viewer: viewer, Mutation: mutation, Key: key, Input: input},
		func(_ context.Context, k Key) (string, error) {
			return "done", m.write(k.With(fmt.Sprint("result ", m.effects+1)))
		},
		func(_ context.Context, result []string) (string, error) { return "again " + result[0], nil })
}

func newMemory() *memory { return &memory{keys: map[string]Key{}} }

func ptr(s string) *string { return &s }

func TestWithoutAKeyEachRequestHappens(t *testing.T) {
	m := newMemory()
	for range 3 {
		got, err := m.do(nil, "ada", "create", 1)
		require.NoError(t, err)
		assert.Equal(t, "done", got)
	}
	assert.Equal(t, 3, m.effects)
	assert.Empty(t, m.keys)
}

func TestAKeyLetsARequestHappenOnce(t *testing.T) {
	for _, blind := range []bool{false, true} {
		m := newMemory()
		got, err := m.do(ptr("k"), "ada", "create", 1)
		require.NoError(t, err)
		assert.Equal(t, "done", got)
		m.blind = blind // then the store refuses when the effect is written
		got, err = m.do(ptr("k"), "ada", "create", 1)
		require.NoError(t, err)
		assert.Equal(t, "again result 1", got)
		assert.Equal(t, 1, m.effects)
		assert.Equal(t, now.Add(TTL), m.keys["ada|k"].ExpiresAt)
	}
}

func TestAKeyBelongsToViewerMutationAndInput(t *testing.T) {
	m := newMemory()
	_, err := m.do(ptr("k"), "ada", "create", map[string]any{"title": "a"})
	require.NoError(t, err)
	_, err = m.do(ptr("k"), "ada", "create", map[string]any{"title": "b"})
	require.ErrorIs(t, err, ErrMismatch)
	_, err = m.do(ptr("k"), "ada", "update", map[string]any{"title": "a"})
	require.ErrorIs(t, err, ErrMismatch)
	_, err = m.do(ptr("k"), "grace", "create", map[string]any{"title": "b"})
	require.NoError(t, err)
	assert.Equal(t, 2, m.effects)
}

func TestKeysThatAreNone(t *testing.T) {
	m := newMemory()
	for _, key := range []string{"", strings.Repeat("k", MaxBytes+1)} {
		_, err := m.do(&key, "ada", "create", 1)
		assert.True(t, fault.Is(err, fault.Invalid))
	}
	_, err := m.do(ptr(strings.Repeat("k", MaxBytes)), "ada", "create", 1)
	require.NoError(t, err)
	_, err = m.do(ptr("k"), "ada", "create", func() {})
	assert.True(t, fault.Is(err, fault.Internal), "an input that cannot be hashed is our mistake")
	assert.Equal(t, 1, m.effects)
}

func TestAFailedLookUpStopsTheEffect(t *testing.T) {
	m := newMemory()
	down := fault.New(fault.Unavailable, "down")
	g := Guard{Store: failing{down}, Now: time.Now}
	_, err := Do(t.Context(), g, Request{Key: ptr("k")}, func(context.Context, Key) (int, error) {
		m.effects++
		return 0, nil
	}, nil)
	assert.ErrorIs(t, err, down)
	assert.Zero(t, m.effects)
}

type failing struct{ err error }

func (f failing) FindIdempotencyKey(context.Context, Key) error { return f.err }

func TestErrorsOfEffectAndRereadAreReturned(t *testing.T) {
	boom := errors.New("boom")
	m := newMemory()
	g := Guard{Store: m, Now: time.Now}
	fails := func(context.Context, Key) (int, error) { return 0, boom }
	_, err := Do(t.Context(), g, Request{Key: ptr("k")}, fails, nil)
	require.ErrorIs(t, err, boom)
	replays := func(context.Context, Key) (int, error) {
		return 0, fmt.Errorf("write: %w", &Replayed{Result: []string{"x"}})
	}
	_, err = Do(t.Context(), g, Request{Key: ptr("k")}, replays, func(context.Context, []string) (int, error) { return 0, boom })
	require.ErrorIs(t, err, boom)
}

func ExampleDo() {
	m := newMemory()
	key := "chosen by the client"
	for range 2 {
		fmt.Println(m.do(&key, "ada", "createNote", "the input"))
	}
	fmt.Println(m.effects, "effect")
	// Output:
	// done <nil>
	// again result 1 <nil>
	// 1 effect
}
