package retry

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Twenty writers read a version, take their time, and write if it is the same still.
func TestThoseWhoMetGoOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns Turns
		var mu sync.Mutex
		version, tries := 0, 0
		read := func() int { mu.Lock(); defer mu.Unlock(); return version }
		write := func(before int) bool {
			mu.Lock()
			defer mu.Unlock()
			tries++
			if version != before {
				return false
			}
			version++
			return true
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				for range 19 {
					done := false
					for range turns.Until(ctx, "note") {
						before := read()
						time.Sleep(20 * time.Millisecond)
						if done = write(before); done {
							break
						}
					}
					assert.True(t, done)
				}
			})
		}
		group.Wait()
		assert.Equal(t, 380, version)
		assert.Less(t, tries, 450)
		assert.Empty(t, turns.queues)
	})
}

func TestWhoComesTooLateForATurnTriesOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns Turns
		leave := turns.join(t.Context(), "k", false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		tried := false
		for range turns.Until(ctx, "k") {
			tried = true
			break
		}
		assert.True(t, tried)
		assert.NoError(t, ctx.Err())
		leave()
		leave()
		assert.Empty(t, turns.queues)
	})
}
