package entity

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
)

// checkName says what is wrong with the name of a type, a predicate or an index.
func checkName(field, what, name string) error {
	if name == "" || len(name) > MaxNameBytes || !letter(name[0]) || strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || (!letter(byte(r)) && (r < '0' || r > '9') && r != '_' && r != '-')
	}) {
		return fault.Invalidf(field, "%s is a letter followed by letters, digits, _ and -, %d at most", what, MaxNameBytes)
	}
	return nil
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// checkID says what is wrong with the last part of an entity's id. Everything else, ":" and "#" too, is left to keys.
func checkID(field, id string) error {
	switch {
	case id == "" || len(id) > MaxIDBytes:
		return fault.Invalidf(field, "an id has 1 to %d bytes", MaxIDBytes)
	case !utf8.ValidString(id):
		return fault.Invalidf(field, "an id must be valid UTF-8")
	case strings.ContainsFunc(id, unicode.IsControl):
		return fault.Invalidf(field, "an id may not contain control characters")
	}
	return nil
}

// mayExist reports whether an entity can have this id: stores are not asked for others.
func mayExist(id ID) bool {
	return checkID("", id.Scope) == nil && checkName("", "", id.Type) == nil && checkID("", id.ID) == nil
}

func parseScopeName(name string) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", fault.Invalidf("input.name", "a name may not be empty")
	case !utf8.ValidString(name):
		return "", fault.Invalidf("input.name", "a name must be valid UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", fault.Invalidf("input.name", "a name may not contain control characters")
	case utf8.RuneCountInString(name) > MaxScopeNameRunes:
		return "", fault.Invalidf("input.name", "a name has at most %d characters", MaxScopeNameRunes)
	}
	return name, nil
}
