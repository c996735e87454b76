package scoretest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/viewer"
)

// found returns the titles of the scores that a text finds, read two at a time, there and back.
func (w *World) found(t *testing.T, prefix string) []string {
	t.Helper()
	anonymous := viewer.With(storetest.Patient(t), viewer.Viewer{})
	titles := map[string]string{}
	places := storetest.Pages(t, 2, func(win page.Window) (page.Slice[score.Score], error) {
		s, err := w.Rules.FindPublic(anonymous, prefix, win)
		for i, one := range s.Items {
			titles[s.Positions[i]] = one.Title
		}
		return s, err
	})
	all := []string{}
	for _, place := range places {
		all = append(all, titles[place])
	}
	return all
}

func publicFound(t *testing.T, w *World) {
	long := strings.Repeat("\U0001D160", score.MaxTitle) // whose folded form does not fit into a key
	for _, title := range []string{"Sonata in G", "sonata", "SONATINE", "Étude", "E\u0301tude 2", "Zwei", long} {
		w.Make(score.Create{Title: title, Access: score.Public})
	}
	w.Make(score.Create{Title: "Sonata, hidden"})
	w.Make(score.Create{Title: "Sonata, limited", Access: score.Limited})
	for prefix, want := range map[string][]string{
		"son":                                 {"sonata", "Sonata in G", "SONATINE"},
		" SONATA":                             {"sonata", "Sonata in G"},
		"sonata ":                             {"Sonata in G"},
		"\u00c9t":                             {"Étude", "E\u0301tude 2"},
		"e":                                   {},
		"onata":                               {},
		"z":                                   {"Zwei"},
		"\U0001D160":                          {long},
		strings.Repeat("\U0001D160", 75):      {long}, // as much as a key has
		"s" + strings.Repeat("\U0010FFFF", 3): {},
	} {
		assert.Equal(t, want, w.found(t, prefix), "%q", prefix)
	}
	for _, nothing := range []string{"", " \u00a0", "sonata\t", "\x00", long, strings.Repeat("a", score.MaxTitle+1)} {
		_, err := w.Rules.FindPublic(w.Hers(), nothing, page.Window{Limit: 2})
		storetest.IsFault(t, err, fault.Invalid)
	}

	s := w.Make(score.Create{Title: "Fugue"})
	assert.Empty(t, w.found(t, "f"))
	change := func(title string, access score.Access) {
		t.Helper()
		w.Update(score.Update{Score: s.Ref, Title: &title, Access: &access})
	}
	change("Fugue", score.Public)
	assert.Equal(t, []string{"Fugue"}, w.found(t, "f"))
	w.Update(score.Update{Score: s.Ref, Annotations: []score.AnnotationsChange{{Insert: &score.InsertAnnotations{Texts: []string{"a"}}}}})
	assert.Equal(t, []string{"Fugue"}, w.found(t, "fugue"))
	change("Gigue", score.Public)
	assert.Empty(t, w.found(t, "f"))
	assert.Equal(t, []string{"Gigue"}, w.found(t, "g"))
	snapshot := w.Snap(s.Ref, "as Gigue")
	change("Hymn", score.Limited)
	assert.Empty(t, w.found(t, "h"))
	change("Hymn", score.Public)
	assert.Equal(t, []string{"Hymn"}, w.found(t, "h"))
	_, err := w.Rules.Restore(w.Hers(), score.Restore{Snapshot: snapshot.SnapshotID})
	require.NoError(t, err)
	assert.Empty(t, w.found(t, "h"))
	assert.Equal(t, []string{"Gigue"}, w.found(t, "g"))
	require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: s.Ref}))
	assert.Empty(t, w.found(t, "g"))
	w.Settled()
}
