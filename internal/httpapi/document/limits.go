package document

import "github.com/taggie/taggie/internal/limit"

// Limits are those of documents, and of what their operations may cost.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Size", Of: "a document", Most: limit.Bytes(MaxDocument), Code: limit.BadRequest},
		{What: "Tokens", Of: "a document", Most: limit.Count(MaxTokens), Code: limit.Unparsed},
		{What: "Size of a name", Of: "a document", Most: limit.Bytes(MaxName), Code: limit.BadRequest},
		{What: "Levels of fields", Of: "a document", Most: limit.Count(MaxDepth), Code: limit.BadRequest},
		{What: "Levels of lists and objects in a value", Of: "a document", Most: limit.Count(MaxValueDepth), Code: limit.BadRequest},
		{What: "Root fields", Of: "a document", Most: limit.Count(MaxRootFields), Code: limit.BadRequest},
		{What: "Fields, those of fragments counted where they are spread", Of: "a document", Most: limit.Count(maxFields), Code: limit.BadRequest},
		{What: "Aliases", Of: "a document", Most: limit.Count(MaxAliases), Code: limit.BadRequest},
		{What: "Directives", Of: "a document", Most: limit.Count(MaxDirectives), Code: limit.BadRequest},
		{What: "Fragments", Of: "a document", Most: limit.Count(MaxFragments), Code: limit.BadRequest},
		{What: "Pairs of selections of the same field in the same place; 63 selections make 1,953 pairs", Of: "a document", Most: limit.Count(maxPairs), Code: limit.BadRequest},
		{What: "Selections that are looked at to find such pairs", Of: "a document", Most: limit.Count(maxVisits), Code: limit.BadRequest},
		{What: "Cost", Of: "an operation", Most: limit.Count(MaxCost), Code: limit.BadRequest},
		{What: "Cost of a message", Of: "a subscription", Most: limit.Count(MaxEventCost), Code: limit.BadRequest},
		{What: "Mistakes that are looked for", Of: "a document", Most: limit.Count(maxFound), Then: "not counted"},
		{What: "Mistakes with suggestions", Of: "a document", Most: limit.Count(maxSuggested), Then: "no suggestions"},
		{What: "Size with suggestions", Of: "a document with mistakes", Most: limit.Bytes(maxSuggestedDocument), Then: "no suggestions"},
		{What: "Size of a name with suggestions", Of: "a document with mistakes", Most: limit.Bytes(maxSuggestedName), Then: "no suggestions"},
	}
}
