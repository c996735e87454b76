package demo

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/tag"
)

func TestNotesOfTheFullSet(t *testing.T) {
	var own, shared, versions, dated, hash, emoji, kana, accessLists, deleted int
	owners, years := map[int]bool{}, map[int]bool{}
	notes := plan(noon.Truncate(24*time.Hour), full)
	for _, n := range notes {
		if n.deleted {
			deleted++
			continue
		}
		if n.owner == 0 {
			own++
			if len(n.shares) > 0 {
				accessLists++
			}
		}
		if slices.ContainsFunc(n.shares, func(s plannedShare) bool { return s.with == 0 }) {
			shared++
			owners[n.owner] = true
		}
		versions += len(n.updates)
		if !n.deadline.IsZero() {
			dated++
			years[n.deadline.Year()] = true
		}
		for _, value := range n.tags {
			hash += strings.Count(value, "#")
			emoji += strings.Count(value, "🎻")
			kana += strings.Count(value, "買い物")
		}
	}
	assert.Equal(t, 1, deleted)
	assert.Equal(t, 1999, own) // and the marker
	assert.Equal(t, sharedWithAda, shared)
	assert.Len(t, owners, 8)
	assert.Greater(t, len(years), 5)
	assert.Greater(t, len(notes)-dated, 100, "notes without a deadline")
	assert.Greater(t, versions, 150)
	assert.Greater(t, accessLists, 200)
	assert.Greater(t, min(hash, emoji, kana), 10)
}

func TestNotesFollowTheRules(t *testing.T) {
	type key struct {
		owner int
		title string
	}
	titles := map[key]bool{}
	for _, n := range plan(noon, full) {
		assert.LessOrEqual(t, len([]rune(n.title)), note.MaxTitle)
		assert.NotEmpty(t, n.content)
		assert.LessOrEqual(t, len(n.tags), note.MaxTags)
		folded := map[string]bool{}
		for _, value := range n.tags {
			word, err := tag.Parse("tags", value)
			require.NoError(t, err)
			assert.False(t, folded[word.Key], "%s twice on %s", value, n.title)
			folded[word.Key] = true
		}
		assert.False(t, titles[key{n.owner, n.title}], "%s twice", n.title)
		titles[key{n.owner, n.title}] = true
	}
}

func TestItemsOfTheFullSet(t *testing.T) {
	items := planItems(full.items)
	require.Len(t, items, 2000)
	ids, kinds, found := map[string]bool{}, map[string]int{}, map[string]bool{}
	for _, item := range items {
		assert.False(t, ids[item.ExternalID], "%s twice", item.ExternalID)
		ids[item.ExternalID] = true
		kinds[item.Type]++
		address, err := url.Parse(item.URL)
		require.NoError(t, err)
		assert.Equal(t, "archive.example.com", address.Host)
		assert.NotEmpty(t, item.Metadata)
		f := findingOf(item.ExternalID)
		assert.Equal(t, f, findingOf(item.ExternalID))
		found[f.category] = true
		assert.True(t, f.subcategory == "" || slices.Contains(subcategories, f.subcategory), f.subcategory)
		assert.Contains(t, item.Name, " ")
		assert.NotEqual(t, f.category, mistakeOf(item.ExternalID).category)
	}
	assert.Len(t, kinds, 3)
	assert.Len(t, found, len(subjects))
	assert.Len(t, subjects, 12)
	assert.Len(t, subcategories, 20)
	assert.Equal(t, items[:small.items], planItems(small.items), "a smaller set is the beginning of a larger one")
}

func TestWorkOnTheFullSet(t *testing.T) {
	finished, mistaken, skipped, by := 0, 0, 0, map[int]plannedWork{}
	for _, w := range planWork(full) {
		by[w.by] = w
		finished += len(w.finishes)
		skipped += w.skips
		assert.LessOrEqual(t, w.steps(), 100, "what one request tells of a person's work")
		assert.NotEqual(t, w.by, w.reviewer)
		assert.Contains(t, membersOf("REVIEWER"), w.reviewer)
		for _, f := range w.finishes {
			assert.True(t, f.reviewed || !f.mistaken, "a mistake that stays")
			if f.mistaken {
				mistaken++
			}
		}
	}
	assert.Equal(t, 125, finished)
	assert.Equal(t, 11, mistaken)
	assert.Equal(t, 40, skipped)
	assert.Len(t, by, len(people)-1, "everybody but the manager finished some")
	for _, w := range planWork(small) {
		assert.Less(t, w.by, small.people)
		assert.Less(t, w.reviewer, small.people)
		assert.Equal(t, by[w.by].finishes[:len(w.finishes)], w.finishes, "a smaller set is the beginning of a larger one")
	}
}

func TestScopeOfTheFullSet(t *testing.T) {
	entities, relations := planScope(full.scope)
	assert.Len(t, entities, 60)
	kinds, next := map[string]int{}, map[string][]string{}
	for _, e := range entities {
		kinds[e.kind]++
	}
	assert.Equal(t, map[string]int{"person": 18, "work": 30, "ensemble": 12}, kinds)
	attributes := 0
	for _, r := range relations {
		for _, o := range r.objects {
			next[r.subject+" "+r.predicate] = append(next[r.subject+" "+r.predicate], o.key)
			if o.attributes != nil {
				attributes++
			}
		}
	}
	assert.Greater(t, attributes, 30)
	at, seen := personKey(0), map[string]bool{}
	for !seen[at] {
		seen[at] = true
		at = next[at+" wrote-to"][0]
	}
	assert.Len(t, seen, len(musicians), "the letters go round in a circle")

	few, within := planScope(small.scope)
	assert.Len(t, few, 12)
	assert.Greater(t, len(within), 8)
	for _, e := range few {
		assert.Contains(t, entities, e, "a smaller set is a part of a larger one")
	}
}
