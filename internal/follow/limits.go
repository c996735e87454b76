package follow

import "github.com/taggie/taggie/internal/limit"

// Limits are those of following notes and scores.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Users who share notes with the caller", Of: "`noteEvents`", Most: limit.Count(MaxOwners), Code: limit.Exhausted, Then: "`noteChanges` tells the changes"},
		{What: "Notes shared with the caller", Of: "`noteEvents`", Most: limit.Count(MaxShares), Code: limit.Exhausted, Then: "`noteChanges` tells the changes"},
		{What: "Subscriptions to `noteEvents`", Of: "a user, on a server", Most: limit.Count(MaxListening), Code: limit.Exhausted},
		{What: "Subscriptions to `scoreEvents`", Of: "a user, on a server", Most: limit.Count(MaxListening), Code: limit.Exhausted},
		{What: "Events kept for subscribers that resume", Of: "a user's notes, or a score", Most: "about " + limit.Count(MaxEvents), Code: "NoteGap", Then: "`ScoreGap` of a score"},
		{What: "Time for which they are kept without a subscriber", Of: "a user's notes, or a score", Most: limit.Time(KeptFor), Code: "NoteGap", Then: "`ScoreGap` of a score"},
	}
}
