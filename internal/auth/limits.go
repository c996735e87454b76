package auth

import "github.com/taggie/taggie/internal/limit"

// Limits are those of tokens.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Size", Of: "a token", Most: limit.Bytes(maxToken), Code: limit.Unauthorized},
		{What: "Size of the subject, at least 1 byte", Of: "a token", Most: limit.Bytes(maxSubject), Code: limit.Unauthorized},
		{What: "Size of the e-mail address", Of: "a token", Most: limit.Bytes(maxEmail), Then: "ignored"},
	}
}
