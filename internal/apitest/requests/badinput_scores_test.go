package requests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

func TestBadInputChangesNoScore(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	music := apitest.Vars{"type": "text/plain"}
	item := ada.Uploads([]byte("music"), music)
	id := ada.Score("Hers", []string{"a", "b"}, item)
	snapshot := ada.Snapshot(id, "first")
	his := bob.Score("His", nil)
	hisItem := bob.Uploads([]byte("music"), music)
	note := ada.Notes(1)[0]
	sum := apitest.Sha256Of([]byte("music"))

	var cases []bad
	update := func(reason string, change apitest.Vars, code, field string) {
		cases = append(cases, bad{reason, "updateScore", apitest.Changed(apitest.Vars{"scoreId": id}, change), code, field})
	}
	pages := func(reason string, step apitest.Vars, code, field string) {
		update(reason, apitest.Vars{"pages": []apitest.Vars{step}}, code, "input.pages.0"+field)
	}
	annotations := func(reason string, step apitest.Vars, code, field string) {
		update(reason, apitest.Vars{"annotations": []apitest.Vars{step}}, code, "input.annotations.0"+field)
	}
	update("an empty title", apitest.Vars{"title": " "}, apitest.Invalid, "input.title")
	update("a title of 201 characters", apitest.Vars{"title": strings.Repeat("é", 201)}, apitest.Invalid, "input.title")
	update("a title of two lines", apitest.Vars{"title": "a\nb"}, apitest.Invalid, "input.title")
	update("null for a title", apitest.Vars{"title": nil}, apitest.Invalid, "input.title")
	update("null for access", apitest.Vars{"access": nil}, apitest.Invalid, "input.access")
	update("null for earlier snapshots", apitest.Vars{"showEarlierSnapshots": nil}, apitest.Unfit, "input.showEarlierSnapshots")
	update("earlier snapshots that are text", apitest.Vars{"showEarlierSnapshots": "yes"}, apitest.Unfit, "input.showEarlierSnapshots")
	update("an unknown access", apitest.Vars{"access": "SECRET"}, apitest.Unfit, "input.access")
	update("a description of 100,001 bytes", apitest.Vars{"description": strings.Repeat("x", 100_001)}, apitest.Invalid, "input.description")
	update("a description with NUL", apitest.Vars{"description": "\x00"}, apitest.Invalid, "input.description")
	pages("a note for an item", apitest.Vars{"insert": apitest.Vars{"at": 0, "pages": []apitest.Vars{{"itemId": note}}}}, apitest.Invalid, ".insert.pages.0.itemId")
	pages("nowhere", apitest.Vars{"insert": apitest.Vars{"at": 2, "pages": []apitest.Vars{{"itemId": item}}}}, apitest.Invalid, ".insert.at")
	pages("a name of 101 characters", apitest.Vars{"insert": apitest.Vars{"at": 0, "pages": []apitest.Vars{{"itemId": item, "name": strings.Repeat("é", 101)}}}}, apitest.Invalid, ".insert.pages.0.name")
	pages("a label of 21 characters", apitest.Vars{"insert": apitest.Vars{"at": 0, "pages": []apitest.Vars{{"itemId": item, "label": strings.Repeat("é", 21)}}}}, apitest.Invalid, ".insert.pages.0.label")
	pages("from nowhere", apitest.Vars{"move": apitest.Vars{"from": 1, "to": 0}}, apitest.Invalid, ".move.from")
	pages("to nowhere", apitest.Vars{"move": apitest.Vars{"from": 0, "to": -1}}, apitest.Invalid, ".move.to")
	pages("what is not there", apitest.Vars{"remove": apitest.Vars{"at": 0, "count": 2}}, apitest.Invalid, ".remove.count")
	annotations("an empty text", apitest.Vars{"edit": apitest.Vars{"at": 0, "text": " "}}, apitest.Invalid, ".edit.text")
	annotations("nothing there", apitest.Vars{"edit": apitest.Vars{"at": 2, "text": "x"}}, apitest.Invalid, ".edit.at")
	annotations("a text of 10,001 bytes", apitest.Vars{"insert": apitest.Vars{"at": 0, "texts": []string{strings.Repeat("x", 10_001)}}}, apitest.Invalid, ".insert.texts.0")
	for _, m := range []string{"deleteScore", "updateScore"} {
		cases = append(cases, bad{"another's score", m, apitest.Vars{"scoreId": his}, "NOT_FOUND", ""}, bad{"a note for a score", m, apitest.Vars{"scoreId": note}, apitest.Invalid, "input.scoreId"},
			bad{"a score that is not there", m, apitest.Vars{"scoreId": apitest.GIDOf("Score", apitest.GlobalKey(t, id)[1], "none")}, "NOT_FOUND", ""})
	}
	for reason, name := range map[string]string{"an empty name": "", "65 characters": strings.Repeat("é", 65), "two lines": "a\nb"} {
		cases = append(cases, bad{reason, "createSnapshot", apitest.Vars{"scoreId": id, "name": name}, apitest.Invalid, "input.name"},
			bad{reason, "renameSnapshot", apitest.Vars{"snapshotId": snapshot, "name": name}, apitest.Invalid, "input.name"})
	}
	request := func(reason string, change apitest.Vars, code, field string) {
		cases = append(cases, bad{reason, "requestUpload", apitest.Changed(apitest.Vars{"name": "n", "type": "text/plain", "size": 5, "sha256": sum}, change), code, field})
	}
	request("no bytes", apitest.Vars{"size": 0}, apitest.Invalid, "input.size")
	request("a byte too many", apitest.Vars{"size": 5<<30 + 1}, apitest.Invalid, "input.size")
	request("a large image", apitest.Vars{"size": 100<<20 + 1, "type": "image/png"}, apitest.Invalid, "input.size")
	request("an empty name", apitest.Vars{"name": ""}, apitest.Invalid, "input.name")
	request("a name of 256 characters", apitest.Vars{"name": strings.Repeat("é", 256)}, apitest.Invalid, "input.name")
	request("the name of a set of 65 characters", apitest.Vars{"setName": strings.Repeat("é", 65)}, apitest.Invalid, "input.setName")
	request("no checksum", apitest.Vars{"sha256": nil}, apitest.Invalid, "input.sha256")
	request("a checksum that is none", apitest.Vars{"sha256": "music"}, apitest.Invalid, "input.sha256")
	request("no type", apitest.Vars{"type": "music"}, apitest.Invalid, "input.type")
	request("another's score", apitest.Vars{"scoreId": his}, "NOT_FOUND", "")
	cases = append(cases,
		bad{"another's item", "withdrawItem", apitest.Vars{"itemId": hisItem}, "NOT_FOUND", ""},
		bad{"a note for an item", "withdrawItem", apitest.Vars{"itemId": note}, apitest.Invalid, "input.itemId"},
		bad{"another's item", "deleteItem", apitest.Vars{"itemId": hisItem}, "NOT_FOUND", ""},
		bad{"a note for an item", "deleteItem", apitest.Vars{"itemId": note}, apitest.Invalid, "input.itemId"},
		bad{"another's item", "renameItem", apitest.Vars{"itemId": hisItem, "name": "x"}, "NOT_FOUND", ""},
		bad{"no name", "renameItem", apitest.Vars{"itemId": item, "name": " "}, apitest.Invalid, "input.name"},
		bad{"256 characters", "renameItem", apitest.Vars{"itemId": item, "name": strings.Repeat("é", 256)}, apitest.Invalid, "input.name"},
		bad{"another's item", "setItemSetName", apitest.Vars{"itemId": hisItem, "setName": "x"}, "NOT_FOUND", ""},
		bad{"65 characters", "setItemSetName", apitest.Vars{"itemId": item, "setName": strings.Repeat("é", 65)}, apitest.Invalid, "input.setName"},
		bad{"a completed upload", "abortUpload", apitest.Vars{"itemId": item}, "NOT_FOUND", ""},
		bad{"no upload", "completeUpload", apitest.Vars{"itemId": apitest.GIDOf("Item", apitest.GlobalKey(t, id)[1], "none", "none")}, "NOT_FOUND", ""},
	)
	ada.Tags(item, apitest.Vars{"value": "kept"})
	tags := func(reason string, value any, code, field string) {
		cases = append(cases, bad{reason, "setItemTags", apitest.Vars{"itemId": item, "tags": value}, code, field})
	}
	tags("an empty tag", []apitest.Vars{{"value": "new"}, {"value": " "}}, apitest.Invalid, "input.tags.1.value")
	tags("a tag of 300 characters", []apitest.Vars{{"value": strings.Repeat("x", 300)}}, apitest.Invalid, "input.tags.0.value")
	tags("a tag with a control character", []apitest.Vars{{"value": "a\x07b"}}, apitest.Invalid, "input.tags.0.value")
	tags("an unknown visibility", []apitest.Vars{{"value": "x", "visibility": "SOME"}}, apitest.Unfit, "input.tags.0.visibility")
	tags("null for a tag", []any{nil}, apitest.Unfit, "input.tags.0")
	many := make([]apitest.Vars, 21)
	for i := range many {
		many[i] = apitest.Vars{"value": strings.Repeat("x", i+1)}
	}
	tags("21 tags", many, apitest.Invalid, "input.tags")
	theirs, mine := published(bob), published(ada)
	ada.Mutate("keepScore", "score { id }", apitest.Vars{"scoreId": theirs})
	for _, m := range []string{"keepScore", "dropScore"} {
		cases = append(cases, bad{"a note for a score", m, apitest.Vars{"scoreId": note}, apitest.Invalid, "input.scoreId"}, bad{"one's own score", m, apitest.Vars{"scoreId": mine}, apitest.Invalid, "input.scoreId"},
			bad{"a score as of a snapshot", m, apitest.Vars{"scoreId": apitest.GIDOf("Score", apitest.GlobalKey(t, snapshot)[1:]...)}, apitest.Invalid, "input.scoreId"})
	}
	cases = append(cases, bad{"a private score to keep", "keepScore", apitest.Vars{"scoreId": his}, "NOT_FOUND", ""},
		bad{"a score to keep that is not there", "keepScore", apitest.Vars{"scoreId": apitest.GIDOf("Score", apitest.GlobalKey(t, his)[1], "none")}, "NOT_FOUND", ""})
	for _, m := range []string{"setItemTags", "removeItemTags"} {
		var some any = []string{"kept"}
		if m == "setItemTags" {
			some = []apitest.Vars{}
		}
		cases = append(cases, bad{"another's item", m, apitest.Vars{"itemId": hisItem, "tags": some}, "NOT_FOUND", ""}, bad{"a note for an item", m, apitest.Vars{"itemId": note, "tags": some}, apitest.Invalid, "input.itemId"},
			bad{"an item that is not there", m, apitest.Vars{"itemId": apitest.GIDOf("Item", apitest.GlobalKey(t, id)[1], "none", "none"), "tags": some}, "NOT_FOUND", ""})
	}
	refuses(ada, func() string { return scoresState(ada) + scoresState(bob) }, cases)

	for _, unknown := range []string{hisItem, apitest.GIDOf("Item", apitest.GlobalKey(t, id)[1], "none", "none")} {
		a := ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": id, "pages": []apitest.Vars{{"insert": apitest.Vars{"at": 0, "pages": []apitest.Vars{{"itemId": unknown}}}}}}})
		assert.Equal(t, unknown, a.Str("updateScore.problem.itemId"), "%s", a.Body)
	}
	a := ada.Must(`mutation($s: ID!, $n: String!) { createSnapshot(input: {scoreId: $s, name: $n}) { snapshot { name } problem { __typename } } }`, apitest.Vars{"s": id, "n": strings.Repeat("🎵", 64)})
	require.Nil(t, a.At("createSnapshot.problem"))
	a = ada.Must(`mutation($s: ID!) { createSnapshot(input: {scoreId: $s, name: "first"}) { problem { __typename ... on SnapshotNameTaken { field } } } }`, apitest.Vars{"s": id})
	assert.Equal(t, map[string]any{"__typename": "SnapshotNameTaken", "field": "input.name"}, a.At("createSnapshot.problem"))
	a = ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": id, "title": "x", "expectedVersion": 7}})
	assert.Equal(t, "Hers", ada.Must(`query($id: ID!) { score(id: $id) { title } }`, apitest.Vars{"id": id}).Str("score.title"))
	assert.Equal(t, "ScoreConflict", a.Str("updateScore.problem.__typename"))
	assert.Len(t, a.At("updateScore.problem.current.pages"), 1)
	// One of the fields of a step, whether written into the document or in variables.
	ada.Do(`mutation($id: ID!) { updateScore(input: {scoreId: $id, pages: [{move: {from: 0, to: 0}, remove: {at: 0}}]}) { score { id } } }`, apitest.Vars{"id": id}).Fails(apitest.Unfit, "")
}
