package lean

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
)

// Deferred stands for the value of a field that is sent later: [Object] leaves the field out. gqlgen sends null, which a client
// takes for the value.
var Deferred graphql.Marshaler = deferred{}

type deferred struct{}

// MarshalGQL writes null, where something else than an Object writes it.
func (deferred) MarshalGQL(w io.Writer) { _, _ = io.WriteString(w, "null") }

// group is the deferred fields of one object.
type group struct {
	sent chan struct{} // closed when all of them were sent
	left int           // views that were not
}

type groupKey struct{}

// Defer resolves the deferred fields of an object beside everything else, and hands over those of each view when they are
// complete. What is deferred below a deferred field comes after it: gqlgen hands over what is ready first, for a place that the
// client may not have heard of. It also reads without a lock what other fields still count.
func Defer(ctx context.Context, pending *int32, results chan<- graphql.DeferredResult, fields *graphql.FieldSet, views map[string]*graphql.FieldSetView) {
	atomic.AddInt32(pending, int32(len(views))) //nolint:gosec // there are fewer views than fields in a document
	above, _ := ctx.Value(groupKey{}).(*group)
	own := &group{sent: make(chan struct{}), left: len(views)}
	path := graphql.GetPath(ctx)
	ctx = context.WithValue(graphql.WithFreshResponseContext(ctx), groupKey{}, own)
	var mu sync.Mutex
	told := 0 // errors, each in one view
	for label, view := range views {
		view.SetOnComplete(func(ctx context.Context) {
			mu.Lock()
			errs := graphql.GetErrors(ctx)
			result := graphql.DeferredResult{Path: path, Label: label, Result: view, Errors: errs[told:]}
			told = len(errs)
			mu.Unlock()
			if atomic.LoadUint32(&fields.Invalids) > 0 {
				result.Result = graphql.Null
			}
			if above != nil {
				select {
				case <-above.sent:
				case <-ctx.Done():
					return
				}
			}
			select {
			case results <- result:
			case <-ctx.Done():
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if own.left--; own.left == 0 {
				close(own.sent)
			}
		})
	}
	go fields.Dispatch(ctx)
}

// Next waits for deferred fields; there are none any more when the time is up.
func Next(ctx context.Context, results <-chan graphql.DeferredResult) (result graphql.DeferredResult, ok bool) {
	select {
	case result = <-results:
		return result, true
	case <-ctx.Done():
		return graphql.DeferredResult{}, false
	}
}
