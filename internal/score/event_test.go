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
