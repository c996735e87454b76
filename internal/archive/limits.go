package archive

import "github.com/taggie/taggie/internal/limit"

// Limits are those of archives.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Archives written at a time", Of: "a user", Most: limit.Count(MaxRunning), Code: limit.Exhausted},
		{What: "Archives kept, with the one that is written", Of: "a user", Most: limit.Count(MaxKept), Code: limit.Exhausted},
		{What: "Time to download it", Of: "an archive", Most: limit.Time(Kept), Code: "NOT_FOUND"},
		{What: "Files listed that could not be found", Of: "an archive", Most: limit.Count(MaxFaults), Then: "others are only counted"},
	}
}
