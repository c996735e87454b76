package fleets

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/capacity"
)

const (
	// skippedOf and reviewedOf say which part of the items is skipped once, for others, and of which part a reviewer judges what was found.
	skippedOf, reviewedOf = 25, 10
	// fewOf and crowdOf are the percentages of the items that are finished while one labeller on each server, and all of them, follow.
	fewOf, crowdOf = 10, 5
	// lookAgain is how often the membership of a subscriber is read again, at most, while there are events.
	lookAgain = 30 * time.Second
)

// capacityLines is a file of items as large as in docs/performance.md: about 500 bytes each.
func capacityLines(items int) string {
	var b strings.Builder
	for i := range items {
		fmt.Fprintf(&b, `{"externalId":"e%06d","name":"Picture %d of a bird at the feeder","type":"image/jpeg","url":"https://pictures.example.com/feeder/2026/%06d.jpg",`+
			`"metadata":{"camera":"north","taken":"2026-05-14T07:31:%02dZ","light":%d,"note":"%s"}}`+"\n", i, i, i, i%60, i%100, strings.Repeat("seen from the window ", 12))
	}
	return b.String()
}

// project makes a project with categories, labellers and items, whose queue is full.
func (w *capacityWorld) project(manager *apitest.Client, labellers []*apitest.Client, items int) apitest.Crew {
	w.t.Helper()
	l := manager.Project(fmt.Sprintf("Birds %d", items))
	l.Labellers = labellers
	l.Team = l.Must(`mutation($p: ID!) { createTeam(input: {projectId: $p, name: "Labellers", type: TAGGIE}) { team { id } } }`, apitest.Vars{"p": l.ID}).Str("createTeam.team.id")
	for _, u := range labellers {
		l.Must(`mutation($t: ID!, $u: ID!) { putProjectMember(input: {teamId: $t, userId: $u}) { member { type } problem { __typename } } }`, apitest.Vars{"t": l.Team, "u": u.ID})
	}
	w.imports(l, items)
	return l
}

// imports fills a project, and waits until the queue is full.
func (w *capacityWorld) imports(l apitest.Crew, items int) {
	w.t.Helper()
	text := capacityLines(items)
	id, upload := l.Awaiting("JSON_LINES", len(text))
	require.Equal(w.t, http.StatusOK, upload(text))
	l.Must(apitest.StartImport, apitest.Vars{"i": id})
	require.Eventually(w.t, func() bool { return l.AnImport(id).Str("state") == "DONE" }, 10*apitest.Patience, 50*time.Millisecond)
	require.Eventually(w.t, func() bool { q := now(l, w.servers[0]); return q.Queued == min(q.Counts.New, q.Size) }, apitest.Patience, 50*time.Millisecond)
}

// shift is people at work until so many items are finished.
type shift struct {
	*capacityWorld
	items                       int
	begun                       atomic.Int64 // finishes, those included that are under way
	finished, skipped, reviewed atomic.Int64
	repeated                    atomic.Int64 // requests
	toReview                    chan struct{}
	done                        chan struct{}
	once                        sync.Once

	mu       sync.Mutex
	mistakes []string
}

// works has all labellers label items: most while nobody follows the project, then while one labeller does on each server, and the rest while
// all of them do.
func (w *capacityWorld) works() capacity.Record {
	few, crowd := w.size.Items*fewOf/100, w.size.Items*crowdOf/100
	r := capacity.Record{
		Size: w.size, Idle: capacity.Phase{Expense: w.resting},
		Listening: map[string]capacity.Units{
			"relationship_entries <id>:Project:<id>": {Read: 1 / lookAgain.Seconds()},
			"entities_master <project>":              {Read: 1 / lookAgain.Seconds() / 99}, // once for up to 99 of them
		},
	}
	r.Quiet = w.shift(w.size.Items - few - crowd)
	defer w.follow(w.Labellers[:w.size.Servers], 0)()
	r.Few = w.shift(few)
	w.hasTold(2 * few * w.size.Servers)
	defer w.follow(w.Labellers[w.size.Servers:], w.size.Servers)()
	r.Crowd = w.shift(crowd)
	w.hasTold(2*few*w.size.Servers + 2*crowd*w.size.Labellers)
	return r
}

// hasTold waits until those who follow were told of so many events: at least each claim and each finish, each of them.
func (w *capacityWorld) hasTold(events int) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return int(w.told.Load()) >= events }, apitest.Patience, 10*time.Millisecond)
}

// follow opens the board of labellers, the first of whom has this number. It returns what closes it again.
func (w *capacityWorld) follow(labellers []*apitest.Client, first int) (end func()) {
	t := w.t
	t.Helper()
	var ends []func()
	for n, user := range labellers {
		s := w.of(first + n)
		by := s.by(user)
		by.Must(w.board["Project"], apitest.Vars{"id": w.ID})
		by.Must(w.board["Lists"], apitest.Vars{"project": w.ID})
		by.Must(w.board["Claims"], apitest.Vars{"project": w.ID})
		end, err := w.follows(s, user, w.ID)
		require.NoError(t, err)
		ends = append(ends, end)
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// shift has all labellers work until so many items are finished.
func (w *capacityWorld) shift(items int) capacity.Phase {
	t := w.t
	t.Helper()
	s := &shift{capacityWorld: w, items: items, toReview: make(chan struct{}, items), done: make(chan struct{})}
	p := capacity.Phase{Expense: w.consumed(func() {
		var all sync.WaitGroup
		for n, user := range w.Labellers {
			all.Go(func() { s.labels(t.Context(), n, user) })
		}
		for n, user := range w.reviewers {
			all.Go(func() { s.reviews(t.Context(), n, user) })
		}
		all.Wait()
	}), Finished: int(s.finished.Load())}
	require.Empty(t, s.mistakes)
	require.Equal(t, items, p.Finished)
	w.skips = append(w.skips, int(s.skipped.Load()))
	t.Logf("%d finished, %d skipped once, %d reviewed, %d requests repeated in %s", p.Finished, s.skipped.Load(), s.reviewed.Load(), s.repeated.Load(), p.Took)
	return p
}

func (w *capacityWorld) of(n int) *server { return w.servers[n%len(w.servers)] }

func (s *shift) wrong(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mistakes = append(s.mistakes, fmt.Sprintf(format, args...))
	s.once.Do(func() { close(s.done) })
}

// asks sends an operation of the board, again while that helps: it has the same key each time.
func (s *shift) asks(ctx context.Context, n int, user *apitest.Client, operation string, v apitest.Vars, data any) bool {
	var errs []apitest.Error
	var err error
	for range 20 {
		errs, err = s.of(n).ask(ctx, user.Token, s.board[operation], v, data)
		switch {
		case err == nil && len(errs) == 0:
			return true
		case err == nil && !errs[0].Extensions.Retryable:
			s.wrong("%s: %+v", operation, errs)
			return false
		}
		s.repeated.Add(1)
	}
	s.wrong("%s is refused again and again: %+v, %v", operation, errs, err)
	return false
}

// labels claims, finishes and skips items until enough are finished.
func (s *shift) labels(ctx context.Context, n int, user *apitest.Client) {
	for round := 1; s.begun.Add(1) <= int64(s.items); {
		item, ok := s.claims(ctx, n, user)
		for ; ok && round%skippedOf == 0; round++ {
			s.passesOn(ctx, n, user, item)
			item, ok = s.claims(ctx, n, user)
		}
		if !ok {
			return
		}
		s.finishes(ctx, n, user, item, round)
		round++
	}
}

// claims claims an item, again until there is one.
func (s *shift) claims(ctx context.Context, n int, user *apitest.Client) (inHand, bool) {
	for ctx.Err() == nil {
		var claimed struct{ ClaimProjectItems struct{ Items []inHand } }
		if !s.asks(ctx, n, user, "Claim", apitest.Vars{"input": apitest.Vars{"projectId": s.ID, "count": 1, "idempotencyKey": uuid.NewString()}}, &claimed) {
			return inHand{}, false
		}
		if items := claimed.ClaimProjectItems.Items; len(items) > 0 {
			return items[0], true
		}
		select { // the queue is being filled
		case <-s.done:
			return inHand{}, false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return inHand{}, false
}

// passesOn skips an item, which somebody else gets.
func (s *shift) passesOn(ctx context.Context, n int, user *apitest.Client, item inHand) {
	var skipped struct {
		SkipProjectItem struct{ Problem *struct{ Message string } }
	}
	in := apitest.Vars{"itemId": item.ID, "token": item.Claim.Token, "reason": "TO_OTHERS", "idempotencyKey": uuid.NewString()}
	if s.asks(ctx, n, user, "Skip", apitest.Vars{"input": in}, &skipped) {
		s.skipped.Add(1)
	}
}

func (s *shift) finishes(ctx context.Context, n int, user *apitest.Client, item inHand, round int) {
	var finished struct {
		FinishProjectItem struct {
			Effort  *struct{ ID string }
			Problem *struct{ Message string }
		}
	}
	if !s.asks(ctx, n, user, "Finish", apitest.Vars{"input": apitest.Vars{
		"itemId": item.ID, "token": item.Claim.Token, "categoryId": s.Categories[round%len(s.Categories)], "keywords": []string{fmt.Sprintf("k%d", round%20), "bird"},
		"idempotencyKey": uuid.NewString()}}, &finished) {
		return
	}
	if finished.FinishProjectItem.Effort == nil {
		s.wrong("a finish: %+v", finished.FinishProjectItem.Problem)
		return
	}
	all := int(s.finished.Add(1))
	if all%reviewedOf == 0 {
		s.toReview <- struct{}{}
	}
	if all == s.items {
		s.once.Do(func() { close(s.done) })
	}
}

// reviews judges as many efforts as there are to be reviewed, until all items are finished.
func (s *shift) reviews(ctx context.Context, n int, user *apitest.Client) {
	for {
		select {
		case <-s.done:
			return
		case <-ctx.Done():
			return
		case <-s.toReview:
		}
		var taken struct {
			ClaimReviews struct {
				Efforts []struct {
					ID      string
					Version int
				}
			}
		}
		if !s.asks(ctx, n, user, "ToReview", apitest.Vars{"project": s.ID, "count": 1}, &taken) {
			return
		}
		for _, effort := range taken.ClaimReviews.Efforts {
			var reviewed struct {
				ReviewEffort struct{ Problem *struct{ Message string } }
			}
			if !s.asks(ctx, n, user, "Review", apitest.Vars{"input": apitest.Vars{"effortId": effort.ID, "verdict": "CORRECT", "expectedVersion": effort.Version, "idempotencyKey": uuid.NewString()}}, &reviewed) {
				return
			}
			s.reviewed.Add(1)
		}
	}
}
