package dynamo

import (
	"maps"
	"strings"
)

// Another program may put rows as the source documents show them. These have none of the attributes that Taggie adds: no
// version, no generation, no counters, no locator, no keys of indexes of ours. Such a row is legal. A missing attribute is read,
// and compared in conditions, as what it would be in a row that was just made.

// FirstVersion is the version of whatever was just made, and of a row that has none.
const FirstVersion = 1

// VersionOr returns the version that a row tells, the first one when it tells none.
func VersionOr(version int) int { return max(version, FirstVersion) }

// IfVersion makes an action conditional, besides what it is conditional on already, on the version of its row. path are the names
// of the attribute that has it, from the outside in. A row that exists and has none is at the first version.
func (a Action) IfVersion(version int, path ...string) Action {
	a.Names, a.Values = maps.Clone(a.Names), maps.Clone(a.Values)
	if a.Names == nil {
		a.Names = map[string]string{}
	}
	if a.Values == nil {
		a.Values = Attrs{}
	}
	parts := make([]string, len(path))
	for i, name := range path {
		parts[i] = "#" + strings.TrimLeft(name, "_")
		a.Names[parts[i]] = name
	}
	at := strings.Join(parts, ".")
	a.Values[":is"] = Number(int64(version))
	is := at + " = :is"
	if version == FirstVersion {
		a.Names["#row"] = a.Table.PK
		is = "(" + is + " OR attribute_exists(#row) AND attribute_not_exists(" + at + "))"
	}
	if a.Condition != "" {
		is = "(" + a.Condition + ") AND " + is
	}
	a.Condition = is
	return a
}
