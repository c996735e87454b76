package user

import (
	"time"

	"github.com/taggie/taggie/internal/limit"
)

// How many e-mail addresses a user may try: each tells whether somebody has signed up with it.
const (
	MaxTries = 60 // at once
	TryEvery = time.Second
)

// Limits are those of users.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Characters of a name, at least 1", Of: "a user", Most: limit.Count(MaxName), Code: limit.Invalid},
		{What: "Size of an e-mail address", Of: "a user", Most: limit.Bytes(MaxEmail), Code: limit.Invalid},
		{What: "Users that a user has blocked", Of: "a user", Most: limit.Count(MaxBlocked), Code: limit.Exhausted},
		{What: "E-mail addresses tried at once", Of: "a user", Most: limit.Count(MaxTries) + ", one more each " + limit.Time(TryEvery), Code: limit.Exhausted},
	}
}
