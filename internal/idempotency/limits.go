package idempotency

import "github.com/taggie/taggie/internal/limit"

// Limits are those of idempotency keys.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Size, at least 1 byte", Of: "an idempotency key", Most: limit.Bytes(MaxBytes), Code: limit.Invalid},
		{What: "Time it is remembered", Of: "an idempotency key", Most: limit.Time(TTL), Then: "the mutation is carried out again"},
		{What: "Idempotency keys remembered", Of: "a user", Most: limit.About(MaxKeys), Code: limit.Exhausted, Set: "TAGGIE_ALLOWANCES"},
	}
}
