package faultinject

import (
	"context"
	"fmt"
	"sync"
)

// Gate holds calls back until a test lets them go.
type Gate struct {
	rule *Rule
	step chan struct{}
	open chan struct{}
	once sync.Once

	mu      sync.Mutex
	held    int
	changed chan struct{} // closed and replaced when held changes
}

// Hold keeps calls from the engine until the gate lets them go. A call whose context ends goes away with that error.
func (i *Injector) Hold(when When, match ...Match) *Gate {
	g := &Gate{step: make(chan struct{}), open: make(chan struct{}), changed: make(chan struct{})}
	g.rule = i.add(&Rule{match: all(match), when: when, act: func(x *exchange, next handler) (*answer, error) {
		if err := g.pass(x.ctx); err != nil {
			return nil, err
		}
		return next(x)
	}})
	return g
}

func (g *Gate) pass(ctx context.Context) error {
	g.count(1)
	defer g.count(-1)
	select {
	case <-g.open:
		return nil
	case <-g.step:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Gate) count(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held += n
	close(g.changed)
	g.changed = make(chan struct{})
}

// Wait returns when at least n calls are held at the same time, or with an error when ctx ends before.
func (g *Gate) Wait(ctx context.Context, n int) error {
	for {
		g.mu.Lock()
		held, changed := g.held, g.changed
		g.mu.Unlock()
		if held >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("faultinject: %d of %d calls came to the gate: %w", held, n, ctx.Err())
		}
	}
}

// Step lets one call go, waiting for one if none is held.
func (g *Gate) Step(ctx context.Context) error {
	select {
	case g.step <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("faultinject: no call came to the gate: %w", ctx.Err())
	}
}

// Open lets all calls go, those that are held and those to come.
func (g *Gate) Open() {
	g.rule.Stop()
	g.once.Do(func() { close(g.open) })
}
