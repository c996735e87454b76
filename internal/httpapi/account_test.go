package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/request"
)

// purse is a budget into which nothing comes back.
type purse struct {
	mu      sync.Mutex
	left    map[string]int
	open    map[string]int // charged, not settled
	settled []int
}

const purseSize = 1_000_000

func newPurse() *purse { return &purse{left: make(map[string]int), open: make(map[string]int)} }

func (p *purse) of(who string) int {
	if left, ok := p.left[who]; ok {
		return left
	}
	return purseSize
}

func (p *purse) Charge(_ context.Context, who, operation string, cost int) (int, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if left := p.of(who); left < cost {
		return left, 2500 * time.Millisecond
	}
	p.left[who] = p.of(who) - cost
	p.open[operation] = cost
	return p.left[who], 0
}

func (p *purse) Settle(_ context.Context, who, operation string, cost int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left[who] = p.of(who) + p.open[operation] - cost
	delete(p.open, operation)
	p.settled = append(p.settled, cost)
	return p.left[who]
}

// spent returns what operations have cost, when n of them are settled and no other is open.
func (p *purse) spent(t *testing.T, n int) []int {
	t.Helper()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.settled) == n && len(p.open) == 0
	}, 10*time.Second, time.Millisecond)
	return p.settled
}

func withBudget(p *purse) func(*Options) {
	return func(o *Options) { o.Budget, o.BudgetSize, o.BudgetRate = p, purseSize, 1 }
}

// leave leaves this much in the budget of Ada.
func (p *purse) leave(left int) *purse {
	p.left["user:"+string(adaID)] = left
	return p
}

func TestOperationsCostWhatTheyShow(t *testing.T) {
	p := newPurse()
	s := newServer(t, withBudget(p))
	s.ask(`{ viewer { name } }`, nil)
	assert.Equal(t, []int{operationCost + 2}, p.spent(t, 1), "viewer and name")
	s.ask(`{ nodes(ids: ["`+strings.Repeat(`a", "`, 99)+`a"]) { id } }`, nil)
	assert.Equal(t, operationCost+7+1+100, p.spent(t, 2)[1], "700 bytes as JSON, the list, and a null for each that is no id")
}

// TestWhatComesIsPaidFor has the same number of values at different places.
func TestWhatComesIsPaidFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const values = 50_000
		list := `["",` + strings.Repeat(`0,`, values) + `0]`
		p := newPurse()
		th := newTheatre(t, withBudget(p))
		least := values * 22 / document.BytesPerUnit
		for i, body := range []string{
			`{"query":"{ __typename }","variables":{"a":` + list + `}}`,
			`{"query":"{ __typename }","extensions":{"a":` + list + `}}`,
			`{"query":"{ __typename }","extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + document.HashOf("{ __typename }") + `","a":` + list + `}}}`,
			`{"query":"{ __typename }","other":` + list + `}`,
			`{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"none"},"a":` + list + `}}`,
		} {
			th.post(body, ada...)
			assert.GreaterOrEqual(t, p.spent(t, i+1)[i], least, body[:60])
		}
		c := th.ready("ada")
		c.send(`{"type":"subscribe","id":"1","payload":{"query":{},"variables":{"a":` + list + `}}}`)
		c.closed(connection.CodeBadMessage)
		assert.GreaterOrEqual(t, p.spent(t, 6)[5], least)
		c = th.ready("ada")
		c.send(`{"type":"ping","payload":{"a":` + list + `}}`)
		c.closed(connection.CodeBadMessage)
		assert.GreaterOrEqual(t, p.spent(t, 7)[6], least)
	})
}

// What a subscription is given it keeps for as long as it waits.
func TestOnlyWhatIsReadOfExtensionsIsKept(t *testing.T) {
	var p request.Params
	_, refused := p.Read("the body", []byte(`{"extensions":{"cost":true,"dynamo":[true],"mine":{"a":[{}]},"persistedQuery":{"version":1,"sha256Hash":"ab","more":[{}]}}}`))
	require.Nil(t, refused)
	assert.Equal(t, map[string]any{"cost": true, "persistedQuery": document.PersistedQuery{Hash: "ab", Version: "1"}}, p.Extensions)
}

func TestWhatIsNotUsedIsGivenBack(t *testing.T) {
	p := newPurse()
	s := newServer(t, withBudget(p))
	a := s.ask(`query($n: Int) { viewer { name sharedNotes(first: $n) @skip(if: true) { nodes { title owner { name } } } } }`, map[string]any{"n": 500}, "Taggie-Extensions", "cost")
	var shown costShown
	require.NoError(t, json.Unmarshal(a.Extensions["cost"], &shown))
	assert.Equal(t, 1+1+1+500*(1+1+1+1), shown.Requested)
	assert.Equal(t, 2, *shown.Used)
	assert.Equal(t, operationCost+2+shown.Requested, shown.Budget.Charged)
	assert.Equal(t, operationCost+2+2, shown.Budget.Kept)
	assert.Equal(t, purseSize-shown.Budget.Kept, shown.Budget.Remaining, "given back before it is told")
	assert.Equal(t, []int{shown.Budget.Kept}, p.spent(t, 1), "and not once more")
}

func TestWhatCameToNothingIsKept(t *testing.T) {
	p := newPurse()
	s := newServer(t, withBudget(p), func(o *Options) { o.Schema = oversized{o.Schema} })
	s.ask(`{ viewer { notes(first: 500) { nodes { title } } } }`, nil).only(t, http.StatusOK, "EXHAUSTED")
	assert.Equal(t, []int{operationCost + 2 + 1 + 500*2}, p.spent(t, 1), "an answer that became too large")
}

func TestChangesCostMore(t *testing.T) {
	p := newPurse()
	s := newServer(t, withBudget(p))
	s.ask(`mutation { createNote(input: {title: "", content: "b"}) { note { id } } }`, nil)
	assert.GreaterOrEqual(t, p.spent(t, 1)[0], operationCost+changeCost)
}

// What is well-formed, and is refused for the way that it came, costs no more than to receive it.
func TestWhatIsNotCarriedOutCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPurse()
		s := newServer(t, withBudget(p))
		s.ask(deferringNotes, nil).only(t, http.StatusNotAcceptable, "BAD_REQUEST")
		p.spent(t, 1)
		s.ask(`mutation { createNote(input: {title: "a", content: "b"}) { ... @defer { note { id } } } }`, nil).only(t, http.StatusOK, "BAD_REQUEST")
		p.spent(t, 2)

		th := newTheatre(t, withBudget(p))
		th.ask(`subscription { ticks(source: "a") }`, nil).only(t, http.StatusBadRequest, "BAD_REQUEST")
		p.spent(t, 3)
		th.get("/graphql?query="+url.QueryEscape(`subscription { ticks(source: "a") }`), ada...).only(t, http.StatusBadRequest, "BAD_REQUEST")
		p.spent(t, 4)
		th.get("/graphql?query="+url.QueryEscape(`mutation { slow }`), "Authorization", "Bearer ada").only(t, http.StatusMethodNotAllowed, "BAD_REQUEST")
		p.spent(t, 5)
		th.source(`mutation { slow }`).refused(http.StatusMethodNotAllowed, "BAD_REQUEST")
		p.spent(t, 6)
		c := th.ready("ada")
		c.subscribe("1", `{ ... @defer { hello } }`)
		c.refused("1", "BAD_REQUEST")
		spent := p.spent(t, 7)
		assert.Equal(t, slices.Repeat([]int{operationCost + 1}, 3), spent[:3], "in a body of more than 100 bytes")
		assert.Equal(t, slices.Repeat([]int{operationCost}, 4), spent[3:])
	})
}

func TestBudgetIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // refusals are held back
		p := newPurse().leave(2_000)
		s := newServer(t, withBudget(p))
		for _, media := range []string{request.JSON, mediaResponse} {
			a := s.ask(`{ viewer { notes(first: 500) { nodes { title } } } }`, nil, "Accept", media, "Taggie-Extensions", "cost")
			require.Less(t, a.Code, http.StatusMultipleChoices, "1,103 are there")
			p.leave(1_000)
			a = s.ask(`{ viewer { notes(first: 500) { nodes { title } } } }`, nil, "Accept", media, "Taggie-Extensions", "cost, dynamo")
			require.Equal(t, http.StatusTooManyRequests, a.Code)
			assert.Equal(t, "3", a.Header().Get("Retry-After"), "2.5 seconds")
			require.Len(t, a.Errors, 1)
			assert.Equal(t, map[string]any{"code": "EXHAUSTED", "retryable": true, "retryAfter": 3.0}, a.Errors[0].Extensions)
			assert.Equal(t, "the operation may cost 1103, and 1000 of your budget are left: try again later, or ask for less", a.Errors[0].Message)
			assert.NotContains(t, a.Body.String(), `"data"`)
			assert.Contains(t, string(a.Extensions["dynamo"]), `"calls":0`, "nothing was read")
			var shown costShown
			require.NoError(t, json.Unmarshal(a.Extensions["cost"], &shown))
			assert.Equal(t, &budgetShown{Capacity: purseSize, PerSecond: 1, Remaining: 1000}, shown.Budget)
			p.leave(2_000)
		}
		assert.Empty(t, s.post(`{"query":"{ __typename }"}`).Errors, "strangers have a budget of their own")
		assert.Contains(t, s.get("/metrics").Body.String(), "\ntaggie_budget_refusals_total 2\n")
	})
}

// Documents that are refused cost too, and who has overdrawn is refused before the next is looked at.
func TestRefusedDocumentsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // refusals are held back
		p := newPurse().leave(refusedCost + 100)
		s := newServer(t, withBudget(p))
		s.ask(`{ nam }`, nil).only(t, http.StatusOK, "GRAPHQL_VALIDATION_FAILED")
		s.ask(nested(document.MaxDepth+1), nil).only(t, http.StatusOK, "BAD_REQUEST")
		assert.Equal(t, []int{refusedCost, refusedCost + 2}, p.spent(t, 2))
		a := s.ask(`{ nam }`, nil)
		require.Equal(t, http.StatusTooManyRequests, a.Code)
		assert.Equal(t, "EXHAUSTED", a.Errors[0].Extensions["code"])
		assert.Len(t, p.spent(t, 2), 2, "which costs nothing")
		assert.NotContains(t, a.Body.String(), "nam", "nothing was looked at")
		body := &endless{}
		r := httptest.NewRequest(http.MethodPost, "/graphql", body)
		began := time.Now()
		a = s.do(with(r, "Authorization", "Bearer ada", "Content-Type", request.JSON))
		assert.Equal(t, http.StatusTooManyRequests, a.Code)
		assert.Zero(t, body.read, "and nothing was read")
		assert.Equal(t, refusalPause, time.Since(began))
	})
}

// So do bodies that cannot be read.
func TestRefusedBodiesCost(t *testing.T) {
	p := newPurse()
	s := newServer(t, withBudget(p))
	s.post("{"+strings.Repeat(" ", 9_999), "Authorization", "Bearer ada").only(t, http.StatusBadRequest, "BAD_REQUEST")
	assert.Equal(t, []int{refusedCost + 100}, p.spent(t, 1))
	assert.Contains(t, s.get("/metrics").Body.String(), fmt.Sprintf("\ntaggie_budget_charged_units_total %d\n", refusedCost+100))
}

func TestAnOperationWaitsForItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPurse().leave(50)
		s := newServer(t, withBudget(p))
		go func() {
			time.Sleep(refusalPause / 2)
			p.Settle(t.Context(), "user:"+string(adaID), "what comes back", -1_000)
		}()
		assert.Empty(t, s.ask(`{ viewer { name } }`, nil).Errors)
	})
}

// Operations of one caller wait for one another, whatever they came over, and others do not.
func TestOperationsOfACallerAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(o *Options) { o.Operations = 1 })
		gate := make(chan struct{})
		s.people.read = func(context.Context) error { <-gate; return nil }
		var asked sync.WaitGroup
		for range 1 + waitingPer {
			asked.Go(func() { assert.Empty(t, s.ask(`{ viewer { name } }`, nil).Errors) })
		}
		synctest.Wait()
		a := s.ask(`{ viewer { name } }`, nil)
		require.Equal(t, http.StatusTooManyRequests, a.Code)
		assert.Equal(t, map[string]any{"code": "EXHAUSTED", "retryable": true, "retryAfter": 1.0}, a.Errors[0].Extensions)
		assert.Empty(t, s.post(`{"query":"{ __typename }"}`).Errors)
		close(gate)
		asked.Wait()
	})
}
