package score

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/event"
)

func TestEventsSayWhatOfAScoreWasChanged(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(7)
	before := Score{Ref: Ref{"ada", "s1"}, Title: "one", DescriptionHash: "d", Access: Public, Version: 4, ShownFrom: 3, Hidden: 1,
		Pages: []Page{{Item: "a"}, {Item: "b"}, {Item: "c"}}, Annotations: []string{"x", "y"}}
	for name, one := range map[string]struct {
		change func(*Score)
		want   []ChangedPart
	}{
		"nothing":     {func(*Score) {}, []ChangedPart{}},
		"title":       {func(s *Score) { s.Title = "two" }, []ChangedPart{TitlePart}},
		"description": {func(s *Score) { s.DescriptionHash = "" }, []ChangedPart{DescriptionPart}},
		"access":      {func(s *Score) { s.Access = Limited }, []ChangedPart{AccessPart}},
		"pages":       {func(s *Score) { s.Pages = []Page{{Item: "c"}, {Item: "a"}, {Item: "n"}} }, []ChangedPart{PagesAdded, PagesMoved, PagesRemoved}},
		"a label":     {func(s *Score) { s.Pages = []Page{{Item: "a", Label: "i"}, {Item: "b"}, {Item: "c"}} }, []ChangedPart{PagesAdded, PagesRemoved}},
		"annotations": {func(s *Score) { s.Annotations = []string{"y", "x"} }, []ChangedPart{AnnotationsMoved}},
		"all of them": {func(s *Score) { s.Annotations = nil }, []ChangedPart{AnnotationsRemoved}},
		"shown":       {func(s *Score) { s.ShownFrom, s.Hidden = 0, 0 }, []ChangedPart{SnapshotsShown}},
		"hidden":      {func(s *Score) { s.ShownFrom = 5 }, []ChangedPart{}},
	} {
		after := before
		after.Version, after.UpdatedAt = 5, at
		one.change(&after)
		e := Alteration(before, after)
		assert.Equal(t, one.want, PartsOf(e), name)
		e.Parts = ""
		assert.Equal(t, event.Event{Kind: event.OfScore, Of: "s1", Type: Changed, Owner: "ada", By: "ada", Version: 5, At: at}, e, name)
		assert.False(t, MayEnd(e), name)
	}
	after := before
	after.Access = Private
	e := Alteration(before, after)
	assert.True(t, e.Private)
	assert.True(t, MayEnd(e))
	after.Access, before.Access = Private, Private
	after.Title = "two"
	e = Alteration(before, after)
	assert.True(t, e.Private)
	assert.False(t, MayEnd(e), "nobody loses it")
	assert.True(t, MayEnd(Deletion(after, at)))
}

// Others are not told later of what happened to a snapshot while it was the owner's alone.
func TestEventsOfSnapshotsSayWhoseTheyWere(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		access    Access
		shownFrom int
		want      bool
	}{
		"of a private score": {Private, 0, true},
		"hidden":             {Limited, 4, true},
		"shown":              {Limited, 3, false},
		"public":             {Public, 0, false},
	} {
		of := Score{Ref: Ref{"ada", "s1"}, Access: one.access, ShownFrom: one.shownFrom, Version: 5}
		for _, typ := range []event.Type{SnapshotCreated, SnapshotRenamed, SnapshotDeleted} {
			e := SnapshotEvent(typ, of, Snapshot{SnapshotID: SnapshotID{of.Ref, "x"}, Version: 3}, time.UnixMilli(7))
			assert.Equal(t, one.want, e.Private, name)
			e.Private = false
			assert.Equal(t, event.Event{Kind: event.OfScore, Of: "s1", Type: typ, Owner: "ada", By: "ada", Snapshot: "x", Version: 3, At: time.UnixMilli(7)}, e, name)
			assert.False(t, MayEnd(e), name)
		}
	}
}
