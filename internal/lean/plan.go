package lean

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/internal/memory"
)

// Type says how the fields of an object type are planned.
type Type struct {
	Implements []string // itself, and the interfaces and unions that it belongs to
	Fields     map[string]TypeField
}

// TypeField is a field that never waits.
type TypeField struct {
	At       int    // its place in the switch of the generated code, from 1
	Of       string // the object type that it returns; "" for values, and for interfaces and unions
	Resolved bool   // by a resolver, so that it can be deferred
	Shared   bool   // the same for everybody who may see the object
}

// Plan is how the objects of one type and selection are written. There is none for a selection with a field that waits or is deferred.
type Plan struct {
	Fields []Planned
	shape  string // equal for plans that write the same for everybody; "" for one with a field that is not shared
	form   func() form
}

// Planned is a field of a plan.
type Planned struct {
	Key   string // what stands before the value: {"name": for the first field, ,"name": for others
	At    int    // see TypeField; 0 for __typename
	Below *Plan  // of an object
	Field graphql.CollectedField
}

// Plans are the plans of one operation. They are made when they are first used. That costs less than one object, so they are not kept
// for the next operation, whose variables may include other fields.
type Plans struct {
	mu    sync.Mutex
	known map[planKey]*Plan
	bytes atomic.Int64 // written by plans, and not yet part of the answer

	comparing func(plan, executor []byte) // see [Comparing]; fixed by the first use
}

const cursor = "Cursor" // the scalar for a place in a list

type planKey struct {
	typ       string
	selection *ast.Selection
	n         int
}

// of returns the plan for a type and a selection, nil when there is none.
func (p *Plans) of(ctx context.Context, types map[string]Type, typ string, sel ast.SelectionSet) *Plan {
	if len(sel) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[planKey]*Plan{}
		p.comparing, _ = ctx.Value(comparing{}).(func(plan, executor []byte))
	}
	key := planKey{typ, &sel[0], len(sel)}
	plan, known := p.known[key]
	if !known {
		plan = compile(graphql.GetOperationContext(ctx), types, typ, sel)
		p.known[key] = plan
	}
	return plan
}

func compile(op *graphql.OperationContext, types map[string]Type, name string, sel ast.SelectionSet) *Plan {
	typ := types[name]
	fields := graphql.CollectFields(op, sel, typ.Implements)
	plan := &Plan{Fields: make([]Planned, len(fields))}
	shape, shared := []byte(name), true
	for i, field := range fields {
		planned := Planned{Key: `,"` + field.Alias + `":`, Field: field} // names need no escaping
		if i == 0 {
			planned.Key = "{" + planned.Key[1:]
		}
		if field.Name != "__typename" {
			f, plain := typ.Fields[field.Name]
			if !plain || f.Resolved && field.IsDeferred() {
				return nil
			}
			planned.At = f.At
			if f.Of != "" {
				if planned.Below = compile(op, types, f.Of, field.Selections); planned.Below == nil {
					return nil
				}
				shape, shared = append(shape, planned.Below.shape...), shared && planned.Below.shape != ""
			} else {
				shared = shared && len(field.Selections) == 0 // objects of several types
			}
			shared = shared && f.Shared
		}
		shape = append(strconv.AppendInt(shape, int64(planned.At), 10), planned.Key...)
		if len(field.Arguments) > 0 && shared {
			var arguments []byte
			arguments, shared = argumentsOf(op, field)
			shape = append(shape, arguments...)
		}
		plan.Fields[i] = planned
	}
	if shared {
		plan.shape = string(append(shape, ')'))
		plan.form = sync.OnceValue(func() form { return sha256.Sum256([]byte(plan.shape)) })
	}
	return plan
}

// argumentsOf returns the arguments of a field as shapes have them, whether they are variables or not. It returns false if one of them is a
// cursor, since cursors are bound to their viewers.
func argumentsOf(op *graphql.OperationContext, field graphql.CollectedField) ([]byte, bool) {
	values := field.ArgumentMap(op.Variables)
	for _, a := range field.Definition.Arguments {
		if a.Type.Name() == cursor && values[a.Name] != nil {
			return nil, false
		}
	}
	text, err := json.Marshal(values)
	return text, err == nil
}

// Writer writes what a plan says.
type Writer struct {
	B []byte

	ctx     context.Context // collects errors apart from those of the response
	done    <-chan struct{}
	plans   *Plans
	types   map[string]Type
	calls   []call
	counted int  // bytes that are in plans.bytes
	full    bool // the answer would pass MaxAnswer
	refused bool // there is no room for it
}

// call is how a resolver is called, for all objects of a plan.
type call struct {
	of  *Planned
	ctx context.Context
	fc  *graphql.FieldContext
}

// keptWriter is how large a buffer is that is kept for other answers.
const keptWriter = 1 << 20

var writers = sync.Pool{New: func() any { return new(Writer) }}

// Write has a plan write an object or a list, and returns what was written. It returns nil when there is no plan, and when anything is
// out of the ordinary: an error, a null where none may be, a panic, the end of the time. Then gqlgen's executor does it from the start, and
// says what is wrong; executor is called only to compare. Nothing was done that could not be done again: plans only call resolvers that read what is there.
// An object that is [Sharing] is written once for all whose plans have the same shape.
func Write(ctx context.Context, plans *Plans, types map[string]Type, typ string, sel ast.SelectionSet, object any, write func(*Writer, *Plan) bool, executor func(context.Context) graphql.Marshaler) graphql.Marshaler {
	plan := plans.of(ctx, types, typ, sel)
	if plan == nil || plans.comparing != nil && ctx.Value(alone{}) != nil {
		return nil
	}
	if plan.shape != "" {
		if all := renderingsOf(object); all != nil {
			return all.write(ctx, plans, plan.form(), executor, func() graphql.Marshaler { return plans.write(ctx, types, plan, write, executor) })
		}
	}
	return plans.write(ctx, types, plan, write, executor)
}

// write has a plan write, as [Write] says.
func (p *Plans) write(ctx context.Context, types map[string]Type, plan *Plan, write func(*Writer, *Plan) bool, executor func(context.Context) graphql.Marshaler) graphql.Marshaler {
	w := writers.Get().(*Writer) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	w.ctx, w.done, w.plans, w.types = graphql.WithFreshResponseContext(ctx), ctx.Done(), p, types
	switch {
	case w.run(plan, write) && len(graphql.GetErrors(w.ctx)) == 0 && w.count():
		if p.comparing != nil {
			// A request that was ended meanwhile is answered to nobody, and only the executor met its end.
			if again := byExecutor(ctx, executor); ctx.Err() == nil {
				p.comparing(w.B, again)
			}
		}
		return &written{w}
	case w.full:
		w.release()
		return tooLarge{}
	case w.refused:
		w.release()
		return graphql.Null // whoever refused it answers instead
	default:
		w.release()
		return nil
	}
}

func (w *Writer) run(plan *Plan, write func(*Writer, *Plan) bool) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false // gqlgen's executor meets it again, and tells it
		}
	}()
	return write(w, plan)
}

// release gives the writer back.
func (w *Writer) release() {
	w.plans.bytes.Add(-int64(w.counted))
	b := w.B[:0]
	if cap(b) > keptWriter {
		b = nil
	}
	clear(w.calls)
	*w = Writer{B: b, calls: w.calls[:0]}
	writers.Put(w)
}

// count takes what was written since into account, and reports whether all that plans have written for this answer is small enough and has its
// room.
func (w *Writer) count() bool {
	n := len(w.B) - w.counted
	w.counted = len(w.B)
	w.full = w.full || w.plans.bytes.Add(int64(n)) > MaxAnswer
	w.refused = w.refused || !w.full && memory.Take(w.ctx, n) != nil
	return !w.full && !w.refused
}

// Fits reports whether what was written may go on. It is asked after each value that may be large.
func (w *Writer) Fits() bool { return len(w.B)-w.counted <= takenAtOnce || w.count() }

// Close ends an object.
func (w *Writer) Close(p *Plan) bool {
	if len(p.Fields) == 0 {
		w.B = append(w.B, '{')
	}
	w.B = append(w.B, '}')
	return w.Fits()
}

// Next begins an element of a list, unless the time is up.
func (w *Writer) Next(i int) bool {
	select {
	case <-w.done:
		return false
	default:
	}
	if i > 0 {
		w.B = append(w.B, ',')
	}
	return true
}

// Null writes that there is nothing.
func (w *Writer) Null() { w.B = append(w.B, "null"...) }

// Write is for values that know no better way.
func (w *Writer) Write(b []byte) (int, error) {
	w.B = append(w.B, b...)
	return len(b), nil
}

// WriteString is Write without a copy.
func (w *Writer) WriteString(s string) (int, error) {
	w.B = append(w.B, s...)
	return len(s), nil
}

// Value writes a value in gqlgen's way, unless it is null where none may be.
func (w *Writer) Value(v graphql.Marshaler, nullable bool) bool {
	if v == graphql.Null && !nullable {
		return false
	}
	if appends, ok := v.(interface{ AppendGQL(b []byte) []byte }); ok {
		w.B = appends.AppendGQL(w.B)
		return true
	}
	v.MarshalGQL(w)
	return true
}

// Context is what marshalling a value in gqlgen's way needs.
func (w *Writer) Context() context.Context { return w.ctx }

// Call returns what the resolver of a field is called with; nil when its arguments are wrong.
func (w *Writer) Call(p *Planned, begin func(context.Context, graphql.CollectedField) (*graphql.FieldContext, error)) (context.Context, *graphql.FieldContext) {
	for _, c := range w.calls {
		if c.of == p {
			return c.ctx, c.fc
		}
	}
	fc, err := begin(w.ctx, p.Field)
	if err != nil {
		return nil, nil
	}
	ctx := graphql.WithFieldContext(w.ctx, fc)
	w.calls = append(w.calls, call{p, ctx, fc})
	return ctx, fc
}

// Plan returns the plan of an object whose type is known only now.
func (w *Writer) Plan(typ string, p *Planned) *Plan {
	return w.plans.of(w.ctx, w.types, typ, p.Field.Selections)
}
