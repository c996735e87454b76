package httpapi

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestACallerWaitsForItsTurn has many more operations than are carried out at a time.
func TestACallerWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(o *Options) { o.Operations, o.OperationTimeout = 2, 10*time.Second })
		s.people.read = func(context.Context) error { time.Sleep(time.Second); return nil }
		var asked sync.WaitGroup
		var mu sync.Mutex
		codes := map[int]int{}
		ask := func(n int) {
			for range n {
				asked.Go(func() {
					began := time.Now()
					a := s.ask(`{ viewer { name } }`, nil)
					mu.Lock()
					defer mu.Unlock()
					codes[a.Code]++
					if a.Code != 200 {
						assert.Equal(t, "EXHAUSTED", a.Errors[0].Extensions["code"])
						assert.Positive(t, a.Errors[0].Extensions["retryAfter"])
						assert.True(t, time.Since(began) <= refusalPause || time.Since(began) == 10*time.Second, time.Since(began))
					}
				})
			}
			asked.Wait()
		}
		ask(20) // the last one waits for nine seconds, and then takes its own time
		assert.Equal(t, map[int]int{200: 20}, codes)
		ask(60)
		assert.Zero(t, codes[503])
		assert.Positive(t, codes[429])
		assert.GreaterOrEqual(t, codes[200], 40)
	})
}

// TestSubscriptionsAreSetUpInTurns has many begin together, of which each takes long to be set up.
func TestSubscriptionsAreSetUpInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		for i := range 100 {
			c.subscribe(strconv.Itoa(i), `subscription { ticks(source: "`+strconv.Itoa(i)+`") }`)
		}
		for i := range 100 {
			th.play.source(strconv.Itoa(i)) <- i
			assert.Equal(t, "next", c.read()["type"])
		}
	})
}
