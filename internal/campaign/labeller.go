package campaign

import (
	"context"
	"math/rand/v2"
	"time"
)

// Labeller claims items, and finishes, takes back, skips, defers and releases them.
type Labeller struct {
	Work
	User string
	Rand *rand.Rand
	Left bool // whether the user is signed out, or leaves the project, during the campaign: being refused is as it should be then
}

// inHand is an item that the labeller has.
type inHand struct {
	ID        string
	Version   int
	UpdatedAt time.Time
	Claim     *struct {
		Token string
		Since time.Time
	}
}

// labelled is what the payloads of the mutations of a labeller have in common.
type labelled struct {
	Item   *inHand
	Effort *struct {
		ID         string
		FinishedAt time.Time
		UndoneAt   time.Time
	}
	Problem *struct {
		Typename string `json:"__typename"`
		Effort   *struct{ ID string }
	}
}

const shown = `item { id version updatedAt claim { token since } } problem { __typename }`

const (
	claimQuery = `mutation($in: ClaimProjectItemsInput!) { result: claimProjectItems(input: $in) {
		items { id version updatedAt claim { token since } } problem { __typename } } }`
	finishQuery = `mutation($in: FinishProjectItemInput!) { result: finishProjectItem(input: $in) {
		item { id version updatedAt } effort { id finishedAt } problem { __typename ... on AlreadyFinished { effort { id } } } } }`
	undoQuery    = `mutation($in: UndoFinishInput!) { result: undoFinish(input: $in) { effort { id undoneAt } ` + shown + ` } }`
	releaseQuery = `mutation($in: ReleaseProjectItemInput!) { result: releaseProjectItem(input: $in) { ` + shown + ` } }`
	skipQuery    = `mutation($in: SkipProjectItemInput!) { result: skipProjectItem(input: $in) { ` + shown + ` } }`
	foundQuery   = `query($p: ID!) { project(id: $p) { viewerClaims { id version updatedAt claim { token since } } } }`
)

// most is how many items a labeller takes at a time.
const most = 5

// Run works until the context ends. What was begun is brought to its end.
func (l *Labeller) Run(ctx context.Context) {
	for idle := 0; ctx.Err() == nil; idle++ {
		items := l.claim(ctx)
		if len(items) == 0 && idle%3 == 2 {
			items = l.found(ctx) // an answer may have been lost
		}
		for _, item := range items {
			idle = -1
			for hand := &item; hand != nil && l.rest(ctx, l.Rand); {
				hand = l.work(ctx, *hand)
			}
		}
		l.rest(ctx, l.Rand)
	}
}

// claim asks for some items.
func (l *Labeller) claim(ctx context.Context) []inHand {
	var data struct {
		Result struct {
			Items   []inHand
			Problem *struct {
				Typename string `json:"__typename"`
			}
		}
	}
	in := map[string]any{"projectId": l.Project, "count": 1 + l.Rand.IntN(most), "idempotencyKey": l.NewID()}
	a := l.asks(ctx, claimQuery, in, &data)
	if p := data.Result.Problem; a.outcome == Acknowledged && p != nil {
		a.outcome, a.why = Refused, p.Typename
		if p.Typename != "TooManyClaims" {
			l.complain(a, l.User, "claims", p.Typename)
		}
	}
	return l.got(a, Claim, data.Result.Items)
}

// got writes down which items the labeller has.
func (l *Labeller) got(a asked, kind Kind, items []inHand) []inHand {
	if a.outcome != Acknowledged {
		l.History.Did(a.did(kind, l.User, ""))
		return nil
	}
	var all []inHand
	for _, i := range items {
		if i.Claim == nil || i.Claim.Token == "" {
			l.complain(a, l.User, string(kind), "item "+i.ID+" without its token")
			continue
		}
		o := a.did(kind, l.User, i.ID)
		o.Token, o.Since, o.Changed, o.Version = i.Claim.Token, i.Claim.Since, i.UpdatedAt, i.Version
		l.History.Did(o)
		all = append(all, i)
	}
	return all
}

// found asks for the items that the labeller has.
func (l *Labeller) found(ctx context.Context) []inHand {
	var data struct {
		Project *struct{ ViewerClaims []inHand }
	}
	a := l.ask(ctx, l.Rand, l.User, foundQuery, map[string]any{"p": l.Project}, &data, true)
	if a.outcome != Acknowledged || data.Project == nil {
		return nil
	}
	return l.got(a, Found, data.Project.ViewerClaims)
}

// work does something with an item, and returns it when the labeller has it again afterwards.
func (l *Labeller) work(ctx context.Context, i inHand) *inHand {
	held := map[string]any{"itemId": i.ID, "token": i.Claim.Token, "idempotencyKey": l.NewID()}
	switch n := l.Rand.IntN(100); {
	case n < 8:
		l.ends(ctx, Release, releaseQuery, i, held)
	case n < 14:
		held["reason"] = "TO_OTHERS"
		l.ends(ctx, Defer, skipQuery, i, held)
	case n < 17:
		held["reason"] = "FOR_NOBODY"
		l.ends(ctx, Skip, skipQuery, i, held)
	default:
		held["categoryId"] = l.Category
		o, _ := l.ends(ctx, Finish, finishQuery, i, held)
		if o.Outcome == Acknowledged && o.Effort != "" && l.Rand.IntN(5) == 0 {
			return l.undo(ctx, i, o.Effort)
		}
	}
	return nil
}

// undo takes an effort back.
func (l *Labeller) undo(ctx context.Context, i inHand, effort string) *inHand {
	i.Claim = nil
	o, data := l.ends(ctx, Undo, undoQuery, i, map[string]any{"effortId": effort, "idempotencyKey": l.NewID()})
	if o.Outcome != Acknowledged {
		return nil
	}
	return data.Item
}

// ends asks for something that ends a claim, or makes a new one, and writes down what came of it.
func (l *Labeller) ends(ctx context.Context, kind Kind, query string, i inHand, in map[string]any) (Operation, labelled) {
	var data struct{ Result labelled }
	a := l.asks(ctx, query, in, &data)
	p := data.Result
	o := a.did(kind, l.User, i.ID)
	if i.Claim != nil {
		o.Token = i.Claim.Token
	}
	if kind == Undo {
		o.Effort, _ = in["effortId"].(string)
	}
	switch {
	case o.Outcome != Acknowledged:
	case p.Problem != nil && p.Problem.Typename == "AlreadyFinished" && p.Problem.Effort != nil:
		o.Effort = p.Problem.Effort.ID
	case p.Problem != nil:
		o.Outcome, o.Why = Refused, p.Problem.Typename
	case kind == Finish && p.Effort != nil:
		o.Effort, o.Changed = p.Effort.ID, p.Effort.FinishedAt
		if p.Item != nil && p.Item.UpdatedAt.Equal(o.Changed) {
			o.Version = p.Item.Version
		}
	case kind == Undo && p.Effort != nil && p.Item != nil && p.Item.Claim != nil:
		o.Changed, o.Token, o.Since = p.Effort.UndoneAt, p.Item.Claim.Token, p.Item.Claim.Since
		if p.Item.UpdatedAt.Equal(o.Changed) {
			o.Version = p.Item.Version
		}
	case (kind == Release || kind == Defer || kind == Skip) && p.Item != nil:
		if a.tries == 1 { // the answer of a second one may show what somebody did since
			o.Version, o.Changed = p.Item.Version, p.Item.UpdatedAt
		}
	case a.tries == 1:
		l.complain(a, l.User, string(kind), "neither a result nor a problem")
	}
	l.History.Did(o)
	return o, p
}

// asks is [Work.ask] of an input; one of ten labellers does not ask a second time. Whoever does not leave is never sent away.
func (l *Labeller) asks(ctx context.Context, query string, in map[string]any, data any) asked {
	a := l.ask(ctx, l.Rand, l.User, query, map[string]any{"in": in}, data, l.Rand.IntN(10) == 0)
	for _, code := range away {
		if a.why == code && !l.Left {
			l.complain(a, l.User, query, code)
		}
	}
	return a
}
