package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBadInputChangesNoScore(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	music := vars{"type": "text/plain"}
	item := ada.uploads([]byte("music"), music)
	id := ada.score("Hers", []string{"a", "b"}, item)
	snapshot := ada.snapshot(id, "first")
	his := bob.score("His", nil)
	hisItem := bob.uploads([]byte("music"), music)
	note := ada.notes(1)[0]
	sum := sha256Of([]byte("music"))

	var cases []bad
	update := func(reason string, change vars, code, field string) {
		cases = append(cases, bad{reason, "updateScore", changed(vars{"scoreId": id}, change), code, field})
	}
	pages := func(reason string, step vars, code, field string) {
		update(reason, vars{"pages": []vars{step}}, code, "input.pages.0"+field)
	}
	annotations := func(reason string, step vars, code, field string) {
		update(reason, vars{"annotations": []vars{step}}, code, "input.annotations.0"+field)
	}
	update("an empty title", vars{"title": " "}, invalid, "input.title")
	update("a title of 201 characters", vars{"title": strings.Repeat("é", 201)}, invalid, "input.title")
	update("a title of two lines", vars{"title": "a\nb"}, invalid, "input.title")
	update("null for a title", vars{"title": nil}, invalid, "input.title")
	update("null for access", vars{"access": nil}, invalid, "input.access")
	update("an unknown access", vars{"access": "SECRET"}, unfit, "input.access")
	update("a description of 100,001 bytes", vars{"description": strings.Repeat("x", 100_001)}, invalid, "input.description")
	update("a description with NUL", vars{"description": "\x00"}, invalid, "input.description")
	pages("a note for an item", vars{"insert": vars{"at": 0, "pages": []vars{{"itemId": note}}}}, invalid, ".insert.pages.0.itemId")
	pages("nowhere", vars{"insert": vars{"at": 2, "pages": []vars{{"itemId": item}}}}, invalid, ".insert.at")
	pages("a name of 101 characters", vars{"insert": vars{"at": 0, "pages": []vars{{"itemId": item, "name": strings.Repeat("é", 101)}}}}, invalid, ".insert.pages.0.name")
	pages("a label of 21 characters", vars{"insert": vars{"at": 0, "pages": []vars{{"itemId": item, "label": strings.Repeat("é", 21)}}}}, invalid, ".insert.pages.0.label")
	pages("from nowhere", vars{"move": vars{"from": 1, "to": 0}}, invalid, ".move.from")
	pages("to nowhere", vars{"move": vars{"from": 0, "to": -1}}, invalid, ".move.to")
	pages("what is not there", vars{"remove": vars{"at": 0, "count": 2}}, invalid, ".remove.count")
	annotations("an empty text", vars{"edit": vars{"at": 0, "text": " "}}, invalid, ".edit.text")
	annotations("nothing there", vars{"edit": vars{"at": 2, "text": "x"}}, invalid, ".edit.at")
	annotations("a text of 10,001 bytes", vars{"insert": vars{"at": 0, "texts": []string{strings.Repeat("x", 10_001)}}}, invalid, ".insert.texts.0")
	for _, m := range []string{"deleteScore", "updateScore"} {
		cases = append(cases, bad{"another's score", m, vars{"scoreId": his}, "NOT_FOUND", ""}, bad{"a note for a score", m, vars{"scoreId": note}, invalid, "input.scoreId"},
			bad{"a score that is not there", m, vars{"scoreId": gidOf("Score", globalKey(t, id)[1], "none")}, "NOT_FOUND", ""})
	}
	for reason, name := range map[string]string{"an empty name": "", "65 characters": strings.Repeat("é", 65), "two lines": "a\nb"} {
		cases = append(cases, bad{reason, "createSnapshot", vars{"scoreId": id, "name": name}, invalid, "input.name"},
			bad{reason, "renameSnapshot", vars{"snapshotId": snapshot, "name": name}, invalid, "input.name"})
	}
	request := func(reason string, change vars, code, field string) {
		cases = append(cases, bad{reason, "requestUpload", changed(vars{"name": "n", "type": "text/plain", "size": 5, "sha256": sum}, change), code, field})
	}
	request("no bytes", vars{"size": 0}, invalid, "input.size")
	request("a byte too many", vars{"size": 5<<30 + 1}, invalid, "input.size")
	request("a large image", vars{"size": 100<<20 + 1, "type": "image/png"}, invalid, "input.size")
	request("an empty name", vars{"name": ""}, invalid, "input.name")
	request("a name of 256 characters", vars{"name": strings.Repeat("é", 256)}, invalid, "input.name")
	request("the name of a set of 65 characters", vars{"setName": strings.Repeat("é", 65)}, invalid, "input.setName")
	request("no checksum", vars{"sha256": nil}, invalid, "input.sha256")
	request("a checksum that is none", vars{"sha256": "music"}, invalid, "input.sha256")
	request("no type", vars{"type": "music"}, invalid, "input.type")
	request("another's score", vars{"scoreId": his}, "NOT_FOUND", "")
	cases = append(cases,
		bad{"another's item", "deleteItem", vars{"itemId": hisItem}, "NOT_FOUND", ""},
		bad{"a note for an item", "deleteItem", vars{"itemId": note}, invalid, "input.itemId"},
		bad{"another's item", "setItemSetName", vars{"itemId": hisItem, "setName": "x"}, "NOT_FOUND", ""},
		bad{"65 characters", "setItemSetName", vars{"itemId": item, "setName": strings.Repeat("é", 65)}, invalid, "input.setName"},
		bad{"a completed upload", "abortUpload", vars{"itemId": item}, "NOT_FOUND", ""},
		bad{"no upload", "completeUpload", vars{"itemId": gidOf("Item", globalKey(t, id)[1], "none", "none")}, "NOT_FOUND", ""},
	)
	ada.tags(item, vars{"value": "kept"})
	tags := func(reason string, value any, code, field string) {
		cases = append(cases, bad{reason, "setItemTags", vars{"itemId": item, "tags": value}, code, field})
	}
	tags("an empty tag", []vars{{"value": "new"}, {"value": " "}}, invalid, "input.tags.1.value")
	tags("a tag of 300 characters", []vars{{"value": strings.Repeat("x", 300)}}, invalid, "input.tags.0.value")
	tags("a tag with a control character", []vars{{"value": "a\x07b"}}, invalid, "input.tags.0.value")
	tags("an unknown visibility", []vars{{"value": "x", "visibility": "SOME"}}, unfit, "input.tags.0.visibility")
	tags("null for a tag", []any{nil}, unfit, "input.tags.0")
	many := make([]vars, 21)
	for i := range many {
		many[i] = vars{"value": strings.Repeat("x", i+1)}
	}
	tags("21 tags", many, invalid, "input.tags")
	for _, m := range []string{"setItemTags", "removeItemTags"} {
		var some any = []string{"kept"}
		if m == "setItemTags" {
			some = []vars{}
		}
		cases = append(cases, bad{"another's item", m, vars{"itemId": hisItem, "tags": some}, "NOT_FOUND", ""}, bad{"a note for an item", m, vars{"itemId": note, "tags": some}, invalid, "input.itemId"},
			bad{"an item that is not there", m, vars{"itemId": gidOf("Item", globalKey(t, id)[1], "none", "none"), "tags": some}, "NOT_FOUND", ""})
	}
	ada.refuses(func() string { return ada.scoresState() + bob.scoresState() }, cases)

	for _, unknown := range []string{hisItem, gidOf("Item", globalKey(t, id)[1], "none", "none")} {
		a := ada.must(updateScore, vars{"input": vars{"scoreId": id, "pages": []vars{{"insert": vars{"at": 0, "pages": []vars{{"itemId": unknown}}}}}}})
		assert.Equal(t, unknown, a.str("updateScore.problem.itemId"), "%s", a.body)
	}
	a := ada.must(`mutation($s: ID!, $n: String!) { createSnapshot(input: {scoreId: $s, name: $n}) { snapshot { name } problem { __typename } } }`, vars{"s": id, "n": strings.Repeat("🎵", 64)})
	require.Nil(t, a.at("createSnapshot.problem"))
	a = ada.must(`mutation($s: ID!) { createSnapshot(input: {scoreId: $s, name: "first"}) { problem { __typename ... on SnapshotNameTaken { field } } } }`, vars{"s": id})
	assert.Equal(t, map[string]any{"__typename": "SnapshotNameTaken", "field": "input.name"}, a.at("createSnapshot.problem"))
	a = ada.must(updateScore, vars{"input": vars{"scoreId": id, "title": "x", "expectedVersion": 7}})
	assert.Equal(t, "Hers", ada.must(`query($id: ID!) { score(id: $id) { title } }`, vars{"id": id}).str("score.title"))
	assert.Equal(t, "ScoreConflict", a.str("updateScore.problem.__typename"))
	assert.Len(t, a.at("updateScore.problem.current.pages"), 1)
	// One of the fields of a step, whether written into the document or in variables.
	ada.do(`mutation($id: ID!) { updateScore(input: {scoreId: $id, pages: [{move: {from: 0, to: 0}, remove: {at: 0}}]}) { score { id } } }`, vars{"id": id}).fails(unfit, "")
}
