package labelling

import "github.com/taggie/taggie/internal/limit"

// Limits are those of queues and of work on them.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Claimed items", Of: "a user and project", Most: limit.Count(MaxClaims), Code: "TooManyClaims", Then: "or fewer items than requested"},
		{What: "Time without `extendClaim`", Of: "a claim", Most: limit.Time(Lease), Code: "LeaseLost"},
		{What: "Time to take a finish back", Of: "a finish", Most: limit.Time(Undo), Code: "UndoTooLate"},
		{What: "Finishes", Of: "`finishProjectItems`", Most: limit.Count(MaxFinishes), Code: limit.Invalid},
		{What: "Efforts to review", Of: "a reviewer and project", Most: limit.Count(MaxReviews), Code: limit.Invalid},
		{What: "Items", Of: "`returnSkippedItems`", Most: limit.Count(MaxReturns), Code: limit.Invalid},
		{What: "Time for which an item is put off", Of: "a skip", Most: limit.Time(MaxLater), Code: limit.Invalid},
		{What: "Characters of the comment", Of: "a review", Most: limit.Count(MaxCommentRunes), Code: limit.Invalid},
		{What: "Events kept for subscribers that resume", Of: "a project", Most: "about " + limit.Count(MaxEvents), Code: "ProjectGap"},
		{What: "Suggested keywords", Of: "`keywordCompletions`", Most: limit.Count(MaxCompletions), Code: limit.Invalid},
		{What: "Projects with a subscription", Of: "a user, on a server", Most: limit.Count(MaxHeard), Code: limit.Exhausted},
		{What: "Projects", Of: "a heartbeat", Most: limit.Count(MaxHeartbeats), Code: limit.Invalid},
		{What: "Dead letters", Of: "`deadLetters`", Most: limit.Count(MaxDeadLetters), Code: limit.Invalid},
	}
}
