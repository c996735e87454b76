package campaign

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// Caller sends one request of a user to one of the servers, and reads the data of the answer. The error says that there was no answer.
type Caller interface {
	Call(ctx context.Context, user, query string, variables map[string]any, data any) ([]Problem, error)
}

// Problem is an error of an answer.
type Problem struct {
	Code      string
	Retryable bool
	Message   string
}

// Work is what all have in common who take part in a campaign.
type Work struct {
	History  *History
	Caller   Caller
	Project  string
	Category string        // of what is finished
	Patience time.Duration // how long an operation is tried
	Pace     time.Duration // between the operations of a user, on average
	NewID    func() string
}

// asked is what came of a request that was perhaps sent several times.
type asked struct {
	began, ended time.Time
	tries        int
	longest      time.Duration // of a request
	outcome      Outcome
	why          string
}

// away are the codes with which those are refused who were signed out, or are no member.
var away = []string{"UNAUTHENTICATED", "NOT_FOUND", "FORBIDDEN"}

// ask sends a request until there is an answer, or the time is up; once only if the user is impatient.
func (w Work) ask(ctx context.Context, r *rand.Rand, user, query string, v map[string]any, data any, impatient bool) asked {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Patience)
	defer cancel()
	a := asked{began: w.History.Now(), outcome: Unknown}
	doubt := false // an earlier one may have been carried out
	const shortest, longest = 50, 1000
	for wait := shortest; ; wait = min(2*wait, longest) {
		a.tries++
		sent := w.History.Now()
		problems, err := w.Caller.Call(ctx, user, query, v, data)
		a.ended = w.History.Now()
		a.longest = max(a.longest, a.ended.Sub(sent))
		switch {
		case err != nil:
			a.why, doubt = "no answer: "+err.Error(), true
		case len(problems) == 0:
			a.outcome, a.why = Acknowledged, ""
			return a
		case problems[0].Retryable:
			a.why, doubt = problems[0].Code, true
		default:
			a.why = problems[0].Code
			if !slices.Contains(away, a.why) {
				w.complain(a, user, query, problems[0].Code+": "+problems[0].Message)
			}
			if !doubt {
				a.outcome = Refused
			}
			return a
		}
		if impatient || !pause(ctx, time.Duration(1+r.IntN(wait))*time.Millisecond) {
			return a
		}
	}
}

// complain writes down an answer that there must not be.
func (w Work) complain(a asked, user, of, why string) {
	w.History.Did(Operation{Kind: Complain, User: user, Of: of, Began: a.began, Ended: a.ended, Why: why})
}

// did is an operation with what came of asking for it.
func (a asked) did(kind Kind, user, of string) Operation {
	return Operation{Kind: kind, User: user, Of: of, Began: a.began, Ended: a.ended, Outcome: a.outcome, Why: a.why, Tries: a.tries, Longest: a.longest}
}

// pause waits, and reports whether the context still goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// rest waits for about the pace.
func (w Work) rest(ctx context.Context, r *rand.Rand) bool {
	return pause(ctx, w.Pace/2+rand.N(w.Pace+1)*time.Duration(r.IntN(2)))
}
