package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/eventstream"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/response"
)

// dammed is a body that comes when its dam is opened.
type dammed struct {
	dam   <-chan struct{}
	body  io.Reader
	asked atomic.Bool // for the first byte
}

func (d *dammed) Read(b []byte) (int, error) {
	d.asked.Store(true)
	<-d.dam
	return d.body.Read(b)
}

// dam returns a request of Ada of unknown length, and its body.
func dam(query string, dam <-chan struct{}, headers ...string) (*http.Request, *dammed) {
	d := &dammed{dam: dam, body: strings.NewReader(`{"query":` + string(response.Encode(query)) + `}`)}
	r := httptest.NewRequest(http.MethodPost, "/graphql", d)
	return with(r, append([]string{"Authorization", "Bearer ada", "Content-Type", request.JSON}, headers...)...), d
}

// open is a dam that holds nothing back.
func open() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// upload begins as many requests of Ada as are read at a time, and returns what lets their bodies come, and waits for the answers.
func (s *server) upload(query string) (finish func()) {
	came := make(chan struct{})
	var asked sync.WaitGroup
	for range maxBulky {
		r, _ := dam(query, came)
		asked.Go(func() { assert.Equal(s.t, http.StatusOK, s.do(r).Code) })
	}
	synctest.Wait()
	return func() { close(came); asked.Wait() }
}

func TestLargeRequestsOfACallerWaitForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		came := make(chan struct{})
		var bodies []*dammed
		var statuses sync.Map
		var asked sync.WaitGroup
		for i := range maxBulky*(1+waitingPer) + 1 {
			r, body := dam(`{ viewer { name } }`, came)
			bodies = append(bodies, body)
			asked.Go(func() { statuses.Store(i, s.do(r).Code) })
		}
		synctest.Wait()
		reading := 0
		for _, body := range bodies {
			if body.asked.Load() {
				reading++
			}
		}
		assert.Equal(t, maxBulky, reading)
		close(came)
		asked.Wait()
		counts := map[any]int{}
		statuses.Range(func(_, status any) bool { counts[status]++; return true })
		assert.Equal(t, map[any]int{http.StatusOK: maxBulky * (1 + waitingPer), http.StatusTooManyRequests: 1}, counts)
	})
}

func TestLargeRequestsDoNotWaitForOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		var reads atomic.Int64
		inside := make(chan struct{})
		s.people.read = func(context.Context) error { reads.Add(1); <-inside; return nil }
		var asked sync.WaitGroup
		for range maxBulky + 1 {
			r, _ := dam(`{ viewer { name } }`, open())
			asked.Go(func() { assert.Equal(t, http.StatusOK, s.do(r).Code) })
		}
		time.Sleep(time.Second) // loaders collect for a moment
		assert.EqualValues(t, maxBulky+1, reads.Load())
		close(inside)
		asked.Wait()
	})
}

// deadlined is an answer on a connection that remembers until when it reads.
type deadlined struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadlined) SetReadDeadline(until time.Time) error {
	d.until = until
	return nil
}

func TestTheTimeToReadBeginsBehindTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		finish := s.upload(`{ viewer { name } }`)
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		r, _ := dam(`{ viewer { name } }`, open())
		var asked sync.WaitGroup
		asked.Go(func() { s.handler.ServeHTTP(w, r) })
		time.Sleep(request.MaxReading - time.Second)
		assert.Zero(t, w.until)
		until := time.Now().Add(request.MaxReading)
		finish()
		asked.Wait()
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, until, w.until)
	})
}

// TestTheTimeToReadIsNotThatOfTheOperation has an operation take longer than sending requests may: net/http goes on reading, to
// notice who goes, and clears the deadline for that.
func TestTheTimeToReadIsNotThatOfTheOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.OperationTimeout = 30 * time.Second })
		time.AfterFunc(request.MaxReading+time.Second, func() { close(th.play.gate) }) // of the bubble's clock
		var asked sync.WaitGroup
		for method, body := range map[string]string{http.MethodGet: "", http.MethodPost: `{"query":"{ slow }"}`} {
			asked.Go(func() {
				l := th.begin(method, "/graphql?query={slow}", body, "Accept", request.JSON, "Content-Type", request.JSON)
				text, err := io.ReadAll(l.body)
				assert.NoError(t, err)
				assert.JSONEq(t, `{"data":{"slow":"done"}}`, string(text), method)
			})
		}
		asked.Wait()
	})
}

func TestWhoWaitsInVainToBeReadPaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPurse()
		s := newServer(t, withBudget(p))
		finish := s.upload(`{ viewer { name } }`)
		r, body := dam(`{ viewer { name } }`, open())
		began := time.Now()
		a := s.do(r)
		a.only(t, http.StatusTooManyRequests, "EXHAUSTED")
		assert.Equal(t, "1", a.Header().Get("Retry-After"))
		assert.Equal(t, "close", a.Header().Get("Connection"))
		assert.Equal(t, request.MaxReading, time.Since(began))
		assert.False(t, body.asked.Load())
		finish()
		assert.Equal(t, []int{operationCost + 2, operationCost + 2}, p.spent(t, 2))
	})
}

func TestEventStreamsWaitToBeReadAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		finish := s.upload(`{ viewer { name } }`)
		r, body := dam(`{ viewer { name } }`, open(), "Accept", eventstream.Media)
		var asked sync.WaitGroup
		asked.Go(func() { s.handler.ServeHTTP(httptest.NewRecorder(), r) })
		synctest.Wait()
		assert.False(t, body.asked.Load())
		finish()
		asked.Wait()
		assert.True(t, body.asked.Load())
	})
}

func TestLargeMessagesWaitToBeReadAlike(t *testing.T) {
	large := `{"type":"subscribe","id":"1","payload":{"query":"{ hello }","variables":{"a":"` + strings.Repeat("x", admission.BulkyBody) + `"}}}`
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c, other := th.ready("ada"), th.ready("ada2")
		finish := th.upload(`{ fails }`)
		c.send(large)
		other.send(large)
		other.expects(`{"type":"next","id":"1","payload":{"data":{"hello":"world"}}}`)
		synctest.Wait()
		assert.Contains(t, th.counted(), `outcome="ok"} 1`, "hers waits")
		finish()
		c.expects(`{"type":"next","id":"1","payload":{"data":{"hello":"world"}}}`)
		c.expects(`{"type":"complete","id":"1"}`)
	})
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		finish := th.upload(`{ fails }`)
		c.send(large)
		c.send(`{"type":"ping"}`)
		c.expects(`{"type":"pong"}`)
		assert.Contains(t, c.refused("1", "EXHAUSTED")["message"], "wait for answers", "in vain")
		c.send(large)
		synctest.Wait()
		c.complete("1")
		synctest.Wait()
		finish()
		c.subscribe("1", `{ hello }`)
		c.expects(`{"type":"next","id":"1","payload":{"data":{"hello":"world"}}}`)
	})
}

// heavy are the parameters of a request that takes up a third of what a caller may have read at a time.
func heavy(query string) string {
	return `{"query":` + string(response.Encode(query)) + `,"variables":{"a":[` + strings.Repeat("7,", request.MaxValues-10) + `7]}}`
}

func TestWhatWasReadOfACallerIsBounded(t *testing.T) {
	const fit = 3
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		var reads atomic.Int64
		inside := make(chan struct{})
		s.people.read = func(context.Context) error { reads.Add(1); <-inside; return nil }
		var asked sync.WaitGroup
		for range fit + 1 {
			asked.Go(func() {
				assert.Equal(t, http.StatusOK, s.post(heavy(`{ viewer { name } }`), ada...).Code)
			})
		}
		time.Sleep(time.Second) // loaders collect for a moment
		asked.Go(func() {       // whatever it came in
			assert.Equal(t, http.StatusOK, s.get("/graphql?query={viewer{name}}&variables={%22a%22:["+strings.Repeat("7,", 9_000)+"7]}", ada...).Code)
		})
		time.Sleep(time.Second)
		assert.EqualValues(t, fit, reads.Load())
		assert.Empty(t, s.ask(`{ __typename }`, nil).Errors, "what is small does not wait")
		assert.Empty(t, s.post(heavy(`{ __typename }`)).Errors, "nor does anybody else")
		close(inside)
		asked.Wait()
		assert.EqualValues(t, fit+2, reads.Load())
	})
}

func TestWhatWasReadOverASocketIsBounded(t *testing.T) {
	message := func(id, query string) string {
		return `{"type":"subscribe","id":"` + id + `","payload":` + heavy(query) + `}`
	}
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.OperationTimeout = time.Minute })
		c, other := th.ready("ada"), th.ready("ada")
		for _, id := range []string{"1", "2", "3"} {
			c.send(message(id, `{ slow }`))
		}
		synctest.Wait()
		other.send(message("1", `{ slow }`))
		other.refused("1", "EXHAUSTED")
		close(th.play.gate)
		for range 6 {
			c.read()
		}
		c.send(message("1", `{ hello }`))
		c.expects(`{"type":"next","id":"1","payload":{"data":{"hello":"world"}}}`)
	})
	synctest.Test(t, func(t *testing.T) { // subscriptions give the room back when they are set up
		th := newTheatre(t)
		c := th.ready("ada")
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			c.send(message(id, `subscription { ticks(source: "`+id+`") }`))
			th.play.source(id) <- 1
			assert.Equal(t, id, c.read()["id"])
			th.begin(http.MethodPost, "/graphql", heavy(`subscription { ticks(source: "a") }`), append(ada, "Content-Type", request.JSON)...).opened()
		}
	})
}

// stuck is an answer that its client does not take before the dam is opened.
type stuck struct {
	*httptest.ResponseRecorder
	dam <-chan struct{}
}

func (s stuck) Write(b []byte) (int, error) {
	<-s.dam
	return s.ResponseRecorder.Write(b)
}

func (stuck) SetReadDeadline(time.Time) error { return nil }

func (stuck) SetWriteDeadline(time.Time) error { return nil }

// An answer that nobody takes is in memory, whether the time for its operation is up or not.
func TestOperationsStayInTheirGateUntilTheyAreAnswered(t *testing.T) {
	for _, accept := range []string{request.JSON, eventstream.Media} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, func(o *Options) { o.Operations = 1 })
			taken := make(chan struct{})
			r, _ := dam(`{ viewer { name } }`, open(), "Accept", accept)
			var asked sync.WaitGroup
			asked.Go(func() { s.handler.ServeHTTP(stuck{httptest.NewRecorder(), taken}, r) })
			time.Sleep(2 * s.options.OperationTimeout)
			s.ask(`{ viewer { name } }`, nil).only(t, http.StatusTooManyRequests, "EXHAUSTED")
			close(taken)
			asked.Wait()
			require.Empty(t, s.ask(`{ viewer { name } }`, nil).Errors)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.Operations, o.OperationTimeout = 1, 2*time.Second })
		c := th.ready("ada")
		for _, id := range []string{"written", "queued", "waiting"} {
			c.subscribe(id, `{ big(size: 2000000) }`)
		}
		time.Sleep(th.options.OperationTimeout + time.Second)
		th.ask(`{ hello }`, nil).only(t, http.StatusTooManyRequests, "EXHAUSTED")
		for range 6 {
			c.read()
		}
		require.Empty(t, th.ask(`{ hello }`, nil).Errors)
	})
}
