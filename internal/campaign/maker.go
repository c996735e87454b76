package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Maker is a user who makes things, each with a name that no other thing has.
type Maker struct {
	Work
	User string
	Rand *rand.Rand
	made int
}

// name returns a new name.
func (m *Maker) name(of string) string {
	m.made++
	return fmt.Sprintf("%s %d of %s", of, m.made, m.User)
}

// asks sends a mutation and reads its result. A problem is a refusal. One mutation in ten is not sent again.
func (m *Maker) asks(ctx context.Context, mutation string, in map[string]any, result any) asked {
	in["idempotencyKey"] = m.NewID()
	var data struct{ Result json.RawMessage }
	a := m.ask(ctx, m.Rand, m.User, mutation, map[string]any{"in": in}, &data, m.Rand.IntN(10) == 0)
	if slices.Contains(away, a.why) {
		m.complain(a, m.User, mutation, a.why)
	}
	if a.outcome != Acknowledged {
		return a
	}
	var payload struct {
		Problem *struct {
			Typename string `json:"__typename"`
		}
	}
	err := json.Unmarshal(data.Result, &payload)
	if err == nil {
		err = json.Unmarshal(data.Result, result)
	}
	switch {
	case err != nil:
		m.complain(a, m.User, mutation, fmt.Sprintf("%s: %v", data.Result, err))
	case payload.Problem != nil:
		a.outcome, a.why = Refused, payload.Problem.Typename
		m.complain(a, m.User, mutation, a.why) // a maker does nothing that would be refused
	}
	return a
}

// makes sends a mutation that puts something into collections, writes down what came of it, and reports whether it was acknowledged.
func (m *Maker) makes(ctx context.Context, name, mutation string, in map[string]any, result any, collections ...string) bool {
	a := m.asks(ctx, mutation, in, result)
	for _, collection := range collections {
		o := a.did(Make, m.User, collection)
		o.Content = name
		m.History.Did(o)
	}
	return a.outcome == Acknowledged
}

// takes sends a mutation that takes something out of a collection, and writes down what came of it.
func (m *Maker) takes(ctx context.Context, collection, name, mutation string, in map[string]any) {
	o := m.asks(ctx, mutation, in, &struct{}{}).did(Take, m.User, collection)
	o.Content = name
	m.History.Did(o)
}

// reads sends a query that has to be answered.
func (m *Maker) reads(ctx context.Context, query string, variables map[string]any, data any) error {
	problems, err := m.Caller.Call(ctx, m.User, query, variables, data)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("%s: %s", problems[0].Code, problems[0].Message)
	}
	return err
}

// listed is a page of a list.
type listed[T any] struct {
	Nodes    []T
	PageInfo struct {
		HasNextPage bool
		EndCursor   string
	}
}

// list reads all pages of a list. The query has the variables id and after, and the page is at the given place of its data.
func list[T, D any](ctx context.Context, m *Maker, query, id string, page func(*D) *listed[T]) ([]T, error) {
	var all []T
	for after := any(nil); ; {
		var data D
		err := m.reads(ctx, query, map[string]any{"id": id, "after": after}, &data)
		p := page(&data)
		if err == nil && p == nil {
			err = fmt.Errorf("there is no list in the answer to %s", query)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p.Nodes...)
		if !p.PageInfo.HasNextPage {
			return all, nil
		}
		after = p.PageInfo.EndCursor
	}
}
