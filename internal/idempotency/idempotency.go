// Package idempotency lets a mutation be sent twice and happen once.
//
// It knows keys, hashes of inputs and how a repeated request gets the first
// one's result. It must not know any mutation. A store records the [Key] in
// the transaction of the effect. Start reading at [Do].
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/fault"
)

// TTL is how long a key is remembered.
const TTL = 24 * time.Hour

// MaxKeys is how many keys of one user are remembered at a time; they are counted in the background, to within 10 %.
const MaxKeys = 500_000

// MaxBytes bounds a key as clients choose it.
const MaxBytes = 255

// Key is one use of an idempotency key. The zero Key records nothing.
type Key struct {
	Viewer    string // whose key it is
	Key       string // as the client chose it
	Hash      []byte // of the mutation's name and input
	ExpiresAt time.Time
	Result    []string // ids by which the result can be read again
}

// Given reports whether the client gave a key.
func (k Key) Given() bool { return k.Key != "" }

// With returns the key together with the ids of the result.
func (k Key) With(result ...string) Key {
	k.Result = result
	return k
}

// Replayed is the error of a store that found the key used before, for the same input.
type Replayed struct{ Result []string }

// Error says so.
func (*Replayed) Error() string { return "this request was carried out before" }

// ErrMismatch says that the key was used before, for another input.
var ErrMismatch = &fault.Error{Kind: fault.Conflict, Field: "input.idempotencyKey", Message: "this idempotency key was used for another input within the last 24 hours"}

// Store remembers keys.
type Store interface {
	// FindIdempotencyKey returns *[Replayed] when the key was used for the same input, [ErrMismatch] when for another,
	// and nil when it was not used or has expired.
	FindIdempotencyKey(ctx context.Context, key Key) error
}

// Request names one mutation of one viewer.
type Request struct {
	Viewer   string
	Mutation string
	Key      *string // as the client gave it
	Input    any     // everything that decides about the effect, but not the key
}

// Guard checks keys against a store.
type Guard struct {
	Store Store
	Now   func() time.Time
}

// Do runs effect at most once per key. The effect hands its Key, completed by [Key.With], to the store, which records
// it in the same transaction. When the key was used before, reread gets the ids of the first result, and a context in which it sees
// the whole effect; see [Serializable].
func Do[T any](ctx context.Context, g Guard, r Request, effect func(context.Context, Key) (T, error), reread func(context.Context, []string) (T, error)) (T, error) {
	var zero T
	if r.Key == nil {
		return effect(ctx, Key{})
	}
	if len(*r.Key) < 1 || len(*r.Key) > MaxBytes {
		return zero, fault.Invalidf("input.idempotencyKey", "an idempotency key has 1 to %d bytes", MaxBytes)
	}
	input, err := json.Marshal([]any{r.Mutation, r.Input})
	if err != nil {
		return zero, fault.Wrap(fault.Internal, err, "the input could not be hashed")
	}
	hash := sha256.Sum256(input)
	key := Key{Viewer: r.Viewer, Key: *r.Key, Hash: hash[:], ExpiresAt: g.Now().Add(TTL)}

	err = g.Store.FindIdempotencyKey(ctx, key)
	var done T
	if err == nil {
		done, err = effect(ctx, key)
	}
	// A second sender may have been faster between the look-up and the transaction, hence one check for both.
	replayed, ok := errors.AsType[*Replayed](err)
	if !ok && err != nil {
		// What made the effect fail may be the other sender's effect: the note that it deletes is gone, the version that it
		// expects is no longer the current one. Another error of this look-up says less than the one there is.
		replayed, ok = errors.AsType[*Replayed](g.Store.FindIdempotencyKey(ctx, key))
	}
	if ok {
		return reread(Serializable(ctx), replayed.Result)
	}
	return done, err
}
