package entity

import (
	"fmt"

	"github.com/taggie/taggie/internal/limit"
)

// Limits are those of scopes, entities, relations and indexes.
func Limits() []limit.Limit {
	const leftOut = "left out of the index, and counted in `EntityIndex.leftOut`"
	return []limit.Limit{
		{What: "Scopes created", Of: "a user", Most: limit.Count(MaxScopes), Code: limit.Exhausted},
		{What: "Characters of the name", Of: "a scope", Most: limit.Count(MaxScopeNameRunes), Code: limit.Invalid},
		{What: "Members", Of: "a scope", Most: limit.Count(MaxMembers), Code: limit.Exhausted},
		{What: "Entities", Of: "a scope", Most: limit.About(MaxEntities), Code: limit.Exhausted, Set: "TAGGIE_ALLOWANCES"},
		{What: "Relations", Of: "a scope", Most: limit.About(MaxScopeRelations), Code: limit.Exhausted, Set: "TAGGIE_ALLOWANCES"},
		{What: "Relations", Of: "an entity and predicate", Most: limit.Count(MaxRelations), Code: limit.Exhausted},
		{What: "Objects of relations", Of: "a mutation", Most: limit.Count(MaxRelationsAdded), Code: limit.Invalid},
		{What: "Other scopes of objects", Of: "a mutation", Most: limit.Count(MaxOtherScopes), Code: limit.Invalid},
		{What: "Size of a name", Of: "a type, a predicate or an index", Most: limit.Bytes(MaxNameBytes), Code: limit.Invalid},
		{What: "Size of the key", Of: "an entity", Most: limit.Bytes(MaxIDBytes), Code: limit.Invalid},
		{What: "Size of attributes and `meta` as JSON", Of: "an entity", Most: limit.Bytes(MaxAttributeBytes), Code: limit.Invalid},
		{What: "Size of attributes and `meta` as stored in DynamoDB", Of: "an entity", Most: limit.Bytes(MaxStoredBytes), Code: limit.Invalid},
		{What: "Size of the attributes as JSON", Of: "a relation", Most: limit.Bytes(MaxRelationAttributeBytes), Code: limit.Invalid},
		{What: "Levels of nested attributes, or of `meta`", Of: "an entity", Most: limit.Count(MaxDepth), Code: limit.Invalid},
		{What: "Size of a name in attributes and `meta`", Of: "an entity", Most: limit.Bytes(MaxAttributeNameBytes), Code: limit.Invalid},
		{What: "Digits of a number", Of: "an entity", Most: limit.Count(maxDigits), Code: limit.Invalid},
		{What: "Range of a number, except 0", Of: "an entity", Most: fmt.Sprintf("1e-%d to 1e%d", maxExponent, maxExponent+1), Code: limit.Invalid},
		{What: "Indexes", Of: "a scope", Most: limit.Count(MaxIndexes), Code: limit.Exhausted},
		{What: "Names in the path", Of: "an index", Most: limit.Count(MaxPath), Code: limit.Invalid},
		{What: "Parts of a key", Of: "an index", Most: limit.Count(1 + MaxThenBy), Code: limit.Invalid},
		{What: "Conditions in `where`", Of: "an index", Most: limit.Count(MaxWhere), Code: limit.Invalid},
		{What: "Attributes carried", Of: "an index", Most: limit.Count(MaxCarries), Code: limit.Invalid},
		{What: "Size of the attributes carried as JSON", Of: "an index entry", Most: limit.Bytes(MaxCarriedBytes), Then: "those beyond are not carried"},
		{What: "Entries in all indexes", Of: "an entity", Most: limit.Count(MaxIndexEntries), Then: leftOut},
		{What: "Size of a text, at least 1 byte", Of: "an index", Most: limit.Bytes(MaxIndexKeyBytes), Then: leftOut},
		{What: "Entities counted in `leftOut`", Of: "a scope", Most: limit.Count(MaxLeftOutCounted), Then: "not counted"},
		{What: "Examples in `leftOut`", Of: "an index", Most: limit.Count(MaxLeftOutExamples), Then: "others are only counted"},
	}
}
