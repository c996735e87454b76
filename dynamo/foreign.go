package dynamo

import (
	"maps"
	"strings"
)

// Another program may put rows as the source documents show them. These have none of the attributes that Taggie adds: no
// version, no generation, no counters, no locator, no keys of indexes of ours. Such a row is legal. A missing attribute is read,
// and compared in conditions, as what it would be in a row that was just made.

// firstVersion is the version of whatever was just made, and of a row that has none.
const firstVersion = 1

// versionOr returns the version that a row tells, the first one when it tells none.
func versionOr(version int) int { return max(version, firstVersion) }

// ifVersion makes an action conditional, besides what it is conditional on already, on the version of its row. path are the names
// of the attribute that has it, from the outside in. A row that exists and has none is at the first version.
func (a action) ifVersion(version int, path ...string) action {
	a.names, a.values = maps.Clone(a.names), maps.Clone(a.values)
	if a.names == nil {
		a.names = map[string]string{}
	}
	if a.values == nil {
		a.values = attrs{}
	}
	parts := make([]string, len(path))
	for i, name := range path {
		parts[i] = "#" + strings.TrimLeft(name, "_")
		a.names[parts[i]] = name
	}
	at := strings.Join(parts, ".")
	a.values[":is"] = number(int64(version))
	is := at + " = :is"
	if version == firstVersion {
		a.names["#row"] = a.table.pk
		is = "(" + is + " OR attribute_exists(#row) AND attribute_not_exists(" + at + "))"
	}
	if a.condition != "" {
		is = "(" + a.condition + ") AND " + is
	}
	a.condition = is
	return a
}
