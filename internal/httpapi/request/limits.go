package request

import "github.com/taggie/taggie/internal/limit"

// Limits are those of what comes in one request.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Size of the body, or of a message of a socket", Of: "a request", Most: limit.Bytes(MaxBody), Code: limit.BadRequest, Then: "or 1009 on a socket"},
		{What: "Size of the address", Of: "a request", Most: limit.Bytes(MaxAddress), Code: limit.BadRequest},
		{What: "Values in the variables", Of: "a request", Most: limit.Count(MaxValues), Code: limit.BadRequest},
		{What: "Time to send it", Of: "a request", Most: limit.Time(MaxReading), Then: "the connection is closed"},
	}
}
