package lean

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"sync"

	"github.com/99designs/gqlgen/graphql"
)

// Sharing is an object that many see at about the same time, such as an event: what plans write of it is written once for all of them.
type Sharing interface {
	// Shared is where it is kept, for as long as anybody is told of the object; nil when it is not shared.
	Shared() *sync.Map
}

const (
	// maxShared is how many bytes are kept of one object, in all its forms. The forms beyond are written for each who wants them.
	maxShared = 32 << 10
	// maxForms is how many forms of one object are known, kept or not.
	maxForms = 32
)

// form stands for the shape of a plan: shapes are as long as a client likes, since aliases are part of them.
type form [sha256.Size]byte

// renderings are the forms of one object.
type renderings struct {
	mu    sync.Mutex
	all   map[form]*rendering
	bytes int // of their texts
}

// rendering is what a plan wrote, once that is done.
type rendering struct {
	done chan struct{}
	text []byte // nil when the plan said no, or there is no place to keep it
}

type renderingsKey struct{}

// renderingsOf returns what is kept of an object; nil when it is not shared.
func renderingsOf(object any) *renderings {
	sharing, ok := object.(Sharing)
	if !ok {
		return nil
	}
	kept := sharing.Shared()
	if kept == nil {
		return nil
	}
	known, there := kept.Load(renderingsKey{})
	if !there {
		known, _ = kept.LoadOrStore(renderingsKey{}, &renderings{all: map[form]*rendering{}})
	}
	return known.(*renderings) //nolint:errcheck,forcetypeassert // nothing else is stored there
}

// of returns the rendering of a form, and whether the caller has to write it; nil when no more are kept.
func (r *renderings) of(f form) (one *rendering, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one = r.all[f]; one != nil || len(r.all) == maxForms {
		return one, false
	}
	one = &rendering{done: make(chan struct{})}
	r.all[f] = one
	return one, true
}

// keep keeps what was written, if there is a place for it.
func (r *renderings) keep(one *rendering, text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+len(text) <= maxShared {
		r.bytes += len(text)
		one.text = bytes.Clone(text)
	}
}

// write returns what was written for somebody else, or has it written. Whoever waits for somebody else's and does not get it, writes their own.
func (r *renderings) write(ctx context.Context, plans *Plans, f form, executor func(context.Context) graphql.Marshaler, write func() graphql.Marshaler) graphql.Marshaler {
	one, mine := r.of(f)
	switch {
	case one == nil:
		return write()
	case mine:
		defer close(one.done)
		m := write()
		if w, ok := m.(*written); ok {
			r.keep(one, w.by.B)
		}
		return m
	}
	select {
	case <-one.done:
	case <-ctx.Done():
		return nil
	}
	if one.text == nil {
		return write()
	}
	if plans.comparing != nil {
		if again := byExecutor(ctx, executor); ctx.Err() == nil {
			plans.comparing(one.text, again)
		}
	}
	return shared(one.text)
}

// shared is what was written for somebody else.
type shared []byte

// MarshalGQL puts it into the answer.
func (s shared) MarshalGQL(to io.Writer) {
	if b, ok := to.(interface{ Len() int }); ok && b.Len()+len(s) > MaxAnswer {
		panic(TooLarge{})
	}
	_, _ = to.Write(s)
}
