package capacity_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/capacity"
)

func TestKeysAreClassifiedByWhatThereIsMoreOf(t *testing.T) {
	t.Parallel()
	const id = "33333333-3333-4333-8333-333333333333"
	for _, one := range []struct {
		table, index, partition, sort string
		want                          capacity.Class
	}{
		{"notes", "", "USER#" + id, "PROFILE", capacity.Class{Name: "notes USER#<id>", Spread: capacity.ByLabeller}},
		{"notes", "LSI1", "USER#" + id, "", capacity.Class{Name: "notes USER#<id>", Spread: capacity.ByLabeller}},
		{"notes", "GSI2", "USERS", "", capacity.Class{Name: "notes/GSI2 USERS", Spread: capacity.Fixed}},
		{"notes", "", "OUTBOX#07", "", capacity.Class{Name: "notes OUTBOX#<shard>", Spread: capacity.Fixed, Timed: true}},
		{"notes", "", "CLEANUP#2026-11-28#07", "", capacity.Class{Name: "notes CLEANUP#<day>#<shard>", Spread: capacity.Fixed, Timed: true}},
		{"notes", "", "PROJECT_HISTORY#84fbe82e-c0ce-4c9a-be70-939246286ded#2026-4", "", capacity.Class{Name: "notes PROJECT_HISTORY#<id>#<quarter>", Spread: capacity.ByProject}},
		{"notes", "", "COUNT#items#" + project, "COUNT", capacity.Class{Name: "notes COUNT#…", Spread: capacity.ByProject, Timed: true}},
		{"entities_master", "", project, project + ":CategoryList", capacity.Class{Name: "entities_master <project>", Spread: capacity.ByProject}},
		{"entities_master", "", id, project + ":ProjectItem~03", capacity.Class{Name: "entities_master <id> of <id>:ProjectItem~<shard>", Spread: capacity.ByItemInHand}},
		{"entities_master", "", id, project + ":Category", capacity.Class{Name: "entities_master <id> of <id>:Category", Spread: capacity.ByProject}},
		{"entities_master", "entities_by_type", project + ":ProjectItem~03", "", capacity.Class{Name: "entities_master/entities_by_type <id>:ProjectItem~<shard>", Spread: capacity.ByProject}},
		{"entities_master", "items_by_name", project + ":b", "", capacity.Class{Name: "entities_master/items_by_name <id>:b", Spread: capacity.ByProject}},
		{"relationship_entries", "", "taggie:Outbox:15", "", capacity.Class{Name: "relationship_entries taggie:Outbox:<shard>", Spread: capacity.Fixed}},
		{"relationship_entries", "", project + ":User:" + id, "", capacity.Class{Name: "relationship_entries <id>:User:<id>", Spread: capacity.ByLabeller}},
		{"relationship_entries", "reverse_relationships", project + ":Category:" + id, "", capacity.Class{Name: "relationship_entries/reverse_relationships <id>:Category:<id>", Spread: capacity.ByProject}},
		{"index_entries", "", project + ":ProjectItem:" + id, "", capacity.Class{Name: "index_entries <id>:ProjectItem:<id>", Spread: capacity.ByItemInHand}},
		{"scores", "scores_by_title", "PUBLIC:s", "", capacity.Class{Name: "scores/scores_by_title PUBLIC:s", Spread: capacity.Fixed}},
		{"scores", "", "it:68yjpWHe5EOEnN6vv3UL1w==", "summary", capacity.Class{Name: "scores it:<id>", Spread: capacity.ByLabeller}},
		{"tags", "tags_by_value", "bi", "", capacity.Class{Name: "tags/tags_by_value <prefix>", Spread: capacity.Fixed}},
		{"tags", "tags_by_value", "bi#" + id, "", capacity.Class{Name: "tags/tags_by_value <prefix>#<id>", Spread: capacity.ByLabeller}},
		{"notes", "", "", "", capacity.Class{Name: "notes (all)", Spread: capacity.Fixed, Timed: true}},
		{"notes", "", "SOMETHING#new", "", capacity.Class{Name: "notes SOMETHING#new", Spread: capacity.Unknown}},
	} {
		assert.Equal(t, one.want, capacity.Classify(capacity.Key{Table: one.table, Index: one.index, Partition: one.partition}, one.sort))
	}
}
