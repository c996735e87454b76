package capacity

import (
	"regexp"
	"strings"
)

// Class is partition keys that differ only in ids, shards and days. All of them grow in the same way.
type Class struct {
	Name   string // "relationship_entries taggie:Outbox:<shard>"
	Spread Spread
	Timed  bool // servers look there by time, whatever people do
}

// Spread is what there are more partition keys of a class with.
type Spread string

// What there is more of as Taggie grows.
const (
	Fixed        Spread = "fixed"           // there are always as many
	ByProject    Spread = "by project"      // as many for each project, or scope
	ByLabeller   Spread = "by labeller"     // as many for each user
	ByItemInHand Spread = "by item"         // each is of one thing, at which one person works at a time
	Unknown      Spread = "of no known key" // Classify does not know the key
)

// masks replace what differs between the keys of a class.
var masks = []struct {
	of *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`r[0-9a-f]{32}_`), ""}, // the prefix of tables, by which budgets are named
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`[A-Za-z0-9+/]{22}==`), "<id>"},
	{regexp.MustCompile(`\}:[A-Z2-7]{10,}.*$`), "}:<operation>"},
	{regexp.MustCompile(`~\d\d\b`), "~<shard>"},
	{regexp.MustCompile(`^(taggie:[A-Za-z]+:)\d\d$`), "$1<shard>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "<day>"},
	{regexp.MustCompile(`#\d\d$`), "#<shard>"},
	{regexp.MustCompile(`#\d{4}-\d$`), "#<quarter>"},
	{regexp.MustCompile(`^(EMAIL|SUBJECT|IDEM|COUNT)#.*`), "$1#…"},
}

func mask(text string) string {
	for _, m := range masks {
		text = m.of.ReplaceAllString(text, m.by)
	}
	return text
}

// rules say how the classes grow whose name matches: the first one that does.
var rules = []struct {
	name   *regexp.Regexp
	spread Spread
	timed  bool
}{
	{regexp.MustCompile(`^notes (OUTBOX#<shard>|CLEANUP#<day>#<shard>|REVOCATIONS#<day>)$`), Fixed, true},
	{regexp.MustCompile(`^notes COUNT#…$`), ByProject, true},
	{regexp.MustCompile(`^notes PROJECT_HISTORY#<id>#<quarter>$`), ByProject, false},
	{regexp.MustCompile(`^relationship_entries taggie:(Tasks|Projects):<shard>$`), Fixed, true},
	{regexp.MustCompile(`^relationship_entries taggie:QueueMark:<id>$`), ByProject, true},
	{regexp.MustCompile(`^notes/GSI[12] USERS$`), Fixed, false},
	{regexp.MustCompile(`^notes(/GSI[12])? (USER#<id>|EMAIL#…|SUBJECT#…|IDEM#…|OWNER#<id>)$`), ByLabeller, false},
	{regexp.MustCompile(`^notes(/GSI2)? (NOTE#<id>|NOTE_HISTORY#<id>)$`), ByItemInHand, false},
	{regexp.MustCompile(`taggie:(Outbox|Projects):<shard>$`), Fixed, false},
	{regexp.MustCompile(`^entities_master <id> of <id>:(ProjectItem|ProjectItemEffort)~<shard>$`), ByItemInHand, false},
	{regexp.MustCompile(`^entities_master `), ByProject, false},
	{regexp.MustCompile(`^entities_master/(entities_by_type|entities_by_scope|items_by_name) `), ByProject, false},
	{regexp.MustCompile(`^(relationship_entries(/reverse_relationships)?|index_entries) (<id>|taggie):User:<id>$`), ByLabeller, false},
	{regexp.MustCompile(`^(relationship_entries(/reverse_relationships)?|index_entries) <id>:(ProjectItem|ProjectItemEffort):`), ByItemInHand, false},
	{regexp.MustCompile(`^(relationship_entries(/reverse_relationships)?|index_entries(/index_lookup)?) `), ByProject, false},
	{regexp.MustCompile(`^scores/scores_by_title `), Fixed, false},
	{regexp.MustCompile(`^scores `), ByLabeller, false},
	{regexp.MustCompile(`^tags(/[a-z_]+)? (<prefix>|~layout.*)$`), Fixed, false},
	{regexp.MustCompile(`^tags(/[a-z_]+)? `), ByLabeller, false},
}

// Classify returns the class of a key. The sort key of one of its rows, "" where none is known, tells what is kept under an id.
func Classify(key Key, sort string) Class {
	name := key.Table
	if key.Index != "" && key.Index != localIndex {
		name += "/" + key.Index
	}
	name += " " + mask(key.Partition)
	switch {
	case key.Partition == "":
		return Class{Name: name + "(all)", Spread: Fixed, Timed: true}
	case key.Table == "entities_master" && key.Index == "" && strings.HasPrefix(sort, key.Partition+":"):
		name = "entities_master <project>" // with its lists of categories and teams
	case key.Table == "entities_master" && key.Index == "":
		name = "entities_master <id> of " + mask(sort)
	case key.Table == "tags":
		name, _, _ = strings.Cut(name, " ")
		name += " " + tagKey(key.Partition)
	}
	for _, r := range rules {
		if r.name.MatchString(name) {
			return Class{name, r.spread, r.timed}
		}
	}
	return Class{Name: name, Spread: Unknown}
}

// localIndex is the one whose entries are in the partitions of their table.
const localIndex = "LSI1"

// tagKey spells the partition keys of the table of tags, most of which begin with a tag.
func tagKey(partition string) string {
	switch masked := mask(partition); {
	case strings.HasPrefix(masked, "~"):
		kind, _, _ := strings.Cut(masked, "#")
		return kind + "#…"
	case strings.HasPrefix(masked, "#"), strings.HasPrefix(masked, "<id>"):
		return masked
	case strings.Contains(masked, "#<id>"):
		return "<prefix>#<id>"
	default:
		return "<prefix>"
	}
}
