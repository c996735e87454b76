package admission

import (
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/limit"
)

// Limits are those of what a caller may have at a time: requests that are read, operations that wait, and answers that are not sent yet.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Requests above " + limit.Bytes(BulkyBody) + " that are read at a time", Of: "a caller", Most: limit.Count(maxBulky), Code: limit.Exhausted, Then: "after a wait of " + limit.Time(request.MaxReading)},
		{What: "Memory of requests in progress; each value counts as its text and " + limit.Count(valueSize) + " bytes", Of: "a caller", Most: limit.Bytes(maxRead), Code: limit.Exhausted, Then: "after a wait of " + limit.Time(request.MaxReading)},
		{What: "Operations that wait, for each that may be carried out at a time", Of: "a caller", Most: limit.Count(waitingPer), Code: limit.Exhausted, Then: "also for what would wait, or has waited, longer than `TAGGIE_OPERATION_TIMEOUT`"},
		{What: "Time to wait to be set up", Of: "a subscription", Most: limit.Time(maxSetUpWait), Code: limit.Exhausted, Then: "at once, for what would wait longer"},
		{What: "Time to wait to sign in", Of: "a socket", Most: limit.Time(maxSignInWait), Then: "it is closed with 1013; at once, when it would wait longer"},
		{What: "Answers that are not sent yet, together", Of: "a caller", Most: limit.Bytes(maxUnsent), Code: limit.Exhausted, Then: "after a wait of half of `TAGGIE_OPERATION_TIMEOUT`"},
		{What: "Answers of up to " + limit.Bytes(smallAnswer) + " that are not sent yet, together, not counting larger ones", Of: "a caller", Most: limit.Bytes(maxUnsent / shareOfSteps), Then: "then they wait for room like larger ones"},
		{What: "Answers that are not sent yet, together", Of: "a server", Most: "a quarter of its memory", Code: limit.Exhausted, Then: "after a wait of half of `TAGGIE_OPERATION_TIMEOUT`"},
	}
}
