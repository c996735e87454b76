package dynamo

import "github.com/taggie/taggie/internal/limit"

// Limits are those of DynamoDB that callers meet.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Size as DynamoDB keeps it", Of: "a note, an entity, or anything else", Most: limit.Count(maxItemKB) + " KB", Code: limit.Exhausted},
		{What: "Size of notes, with their tags and what is shared with the user, as DynamoDB keeps them", Of: "a user", Most: limit.Count(maxUserGB) + " GB", Code: limit.Exhausted},
		{What: "Rows that change together", Of: "a mutation", Most: limit.Count(MaxActions), Code: limit.Exhausted},
	}
}
