package idempotency

import "context"

type serializable struct{}

// Serializable returns a context in which a store reads rows by their keys before or after each transaction as a whole, and waits
// for one that is under way. DynamoDB shows a transaction row by row: whoever has seen one of its rows, such as that of a key, may
// not see the next yet.
func Serializable(ctx context.Context) context.Context {
	return context.WithValue(ctx, serializable{}, true)
}

// IsSerializable reports whether rows are to be read so.
func IsSerializable(ctx context.Context) bool { return ctx.Value(serializable{}) != nil }
