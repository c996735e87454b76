// Package domain is what the domain rooms share: who has to be signed up, reads of many things at once, and the shape of a mutation and of an edit.
//
// It knows the viewer, faults, idempotency keys and what tries again. It must not know any thing of a domain, nor a store.
// Start reading at [Once].
package domain

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/viewer"
)

// SignUpFirst is the fault of what only users may do.
func SignUpFirst() error { return fault.New(fault.Unauthenticated, "sign up first: createUser") }

// Self returns the viewer, who has to be a user: [SignUpFirst] otherwise.
func Self(ctx context.Context) (viewer.UserID, error) {
	if id := viewer.From(ctx).UserID; id != "" {
		return id, nil
	}
	return "", SignUpFirst()
}

// AdminsOnly refuses everybody who is no administrator. Faults: Unauthenticated, Forbidden.
func AdminsOnly(ctx context.Context) error {
	switch v := viewer.From(ctx); {
	case v.Admin():
		return nil
	case v.Anonymous():
		return fault.New(fault.Unauthenticated, "sign in as an administrator first")
	}
	return fault.New(fault.Forbidden, "only an administrator may do this")
}

// First returns the one result of a list of one.
func First[T any](values []T, errs []error) (T, error) {
	if len(errs) > 0 && errs[0] != nil {
		var zero T
		return zero, errs[0]
	}
	return values[0], nil
}

// Allowed reads what may be read of the keys, and has the error of may for the others. Values are as many as keys, and errors too,
// or none when all may be read and read has none.
func Allowed[K, V any](keys []K, may func(K) error, read func([]K) ([]V, []error)) ([]V, []error) {
	values, errs := make([]V, len(keys)), make([]error, len(keys))
	var mine []K
	var at []int
	for i, key := range keys {
		if errs[i] = may(key); errs[i] == nil {
			mine, at = append(mine, key), append(at, i)
		}
	}
	if len(mine) == 0 {
		return values, errs
	}
	found, failed := read(mine)
	if len(mine) == len(keys) {
		return found, failed
	}
	for n, i := range at {
		values[i] = found[n]
		if failed != nil {
			errs[i] = failed[n]
		}
	}
	return values, errs
}

// Once runs a mutation of the viewer at most once per idempotency key; see [idempotency.Do].
func Once[T any](ctx context.Context, g idempotency.Guard, mutation string, key *string, input any, effect func(context.Context, idempotency.Key) (T, error), reread func(context.Context, []string) (T, error)) (T, error) {
	request := idempotency.Request{Viewer: string(viewer.From(ctx).UserID), Mutation: mutation, Key: key, Input: input}
	return idempotency.Do(ctx, g, request, effect, reread)
}

// Edit reads a thing, and has store make and keep its next state. It starts again when that ends with a conflict of the type C: somebody
// else was faster. The tries are those of [retry.Until] or [retry.Turns.Until]; [retry.Busy] when they are over.
func Edit[C error, V, R any](tries iter.Seq[int], what string, read func() (V, error), store func(before V) (R, error)) (R, error) {
	var none R
	for range tries {
		before, err := read()
		if err != nil {
			return none, err
		}
		after, err := store(before)
		if _, conflict := errors.AsType[C](err); !conflict {
			return after, err
		}
	}
	return none, retry.Busy(what)
}

// Gone turns that the result of an earlier request is there no more into its zero value.
func Gone[T any](v T, err error) (T, error) {
	if fault.Is(err, fault.NotFound) {
		var zero T
		return zero, nil
	}
	return v, err
}

// Later returns the time of a change that follows one at the given time, in UTC and whole milliseconds: now, but always later, also when
// the clock of the server that made the earlier change is ahead.
func Later(now func() time.Time, than time.Time) time.Time {
	at := now().UTC().Truncate(time.Millisecond)
	if !at.After(than) {
		return than.Add(time.Millisecond)
	}
	return at
}

// IgnoreMissing is no error when something is not there, and err otherwise.
func IgnoreMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
