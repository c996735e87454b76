// Package scoretest holds a store of scores and items to its contract.
//
// It knows score.Store and score.ItemStore and what the rules rely on. It must not know how things are kept. Start reading at [Suite] and [ItemsSuite].
package scoretest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

// Suite tests the contract of score.Store, and the rules of score.Service that depend on it.
func Suite(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"a score is there as it was made":            scoreAsMade,
		"a score is changed in pieces":               scoreInPieces,
		"pages and annotations out of range":         scoreOutOfRange,
		"bad input":                                  scoreBadInput,
		"what is the same is not changed":            scoreUnchanged,
		"a conflict carries the current score":       scoreConflict,
		"access":                                     scoreAccess,
		"scores are listed":                          scoresListed,
		"a page has an item":                         scoreItems,
		"an item that is used stays":                 usedItems,
		"each mutation happens once":                 scoresOnce,
		"a snapshot keeps the score":                 snapshotKeeps,
		"names of snapshots":                         snapshotNames,
		"a snapshot is restored":                     snapshotRestored,
		"a snapshot is compared":                     snapshotCompared,
		"a snapshot whose content cannot be kept":    snapshotUnkept,
		"contents of other versions":                 contentVersions,
		"contents are bounded":                       contentsBounded,
		"a snapshot goes while it is restored":       snapshotGoneWhileRestored,
		"who may not read a score sees no snapshots": snapshotsHidden,
		"widened access shows nothing from before":   widenedAccess,
		"scores of others are kept":                  scoresKept,
		"a score is kept once per key":               keptOnce,
		"public scores are found by their titles":    publicFound,
	})
	Together(t, open)
}

// Together tests what [Suite] does at the same time: nothing else sees a transaction that is shown row by row.
func Together(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"a score is deleted with everything":          scoreDeleted,
		"many writers at once":                        scoreWriters,
		"scores are kept and dropped at once":         keptTogether,
		"many writers change much at once":            scoreLargeWriters,
		"a snapshot is renamed":                       snapshotRenamed,
		"a snapshot is deleted":                       snapshotDeleted,
		"snapshots are taken together":                snapshotsTogether,
		"snapshots are taken while access is widened": widenedMeanwhile,
		"an item is deleted or used, never both":      deleteOrUse,
		"an item is deleted or snapshotted, not both": deleteOrSnapshot,
	})
}

// ScoreLimits tests the contract of score.Store at the limits of scores, which takes hundreds of calls.
func ScoreLimits(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"a score of many pages and annotations": largeScore,
		"a score has so many snapshots":         snapshotsBounded,
		"a user keeps so many scores":           keptBounded,
	})
}

func scoreAsMade(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 2)
	s := w.Make(score.Create{Title: "  Mondschein ", Description: "für Klavier\n", Access: score.Limited,
		Pages: Pages(items[0], items[1], items[0]), Annotations: []string{"rit.", "cresc.", "rit."}})
	assert.Equal(t, "Mondschein", s.Title)
	assert.Equal(t, s, w.Seen(s.Ref))
	assert.Equal(t, []any{1, 3, 3, 0}, []any{s.Version, s.PageCount, s.AnnotationCount, s.Snapshots})
	assert.Equal(t, score.Page{Item: items[1].ID, ItemScore: score.Library, Object: "image.jpg", Label: "2"}, s.Pages[1])
	assert.Equal(t, items, s.Items(), "each once")
	assert.Equal(t, s.Annotations[0], s.Annotations[2])
	description, annotations := w.Texts(s)
	assert.Equal(t, "für Klavier\n", description)
	assert.Equal(t, []string{"rit.", "cresc.", "rit."}, annotations)
	assert.NotEmpty(t, s.Hash)

	bare := w.Make(score.Create{Title: "bare"})
	assert.Equal(t, bare, w.Seen(bare.Ref))
	_, there := bare.Description()
	assert.False(t, there)
	other := w.Make(score.Create{Title: "bare"})
	assert.Equal(t, bare.Hash, other.Hash, "the content is the same")
	n, err := w.Rules.Count(w.Hers(), w.Ada)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
}

func scoreInPieces(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 5)
	s := w.Make(score.Create{Pages: Pages(items[0], items[1]), Annotations: []string{"a", "b", "c"}, Description: "d"})
	hash := s.Hash
	change := func(in score.Update) score.Score {
		t.Helper()
		w.Clock.Advance(time.Second)
		in.Score = s.Ref
		before := s
		s = w.Update(in)
		assert.Equal(t, s, w.Seen(s.Ref))
		assert.Equal(t, before.Version+1, s.Version)
		assert.True(t, s.UpdatedAt.After(before.UpdatedAt))
		return s
	}
	assert.Equal(t, "new", change(score.Update{Title: storetest.Ptr("new")}).Title)
	assert.NotEqual(t, hash, s.Hash)
	change(score.Update{Title: storetest.Ptr("Sonata")})
	assert.Equal(t, hash, s.Hash)
	change(score.Update{Access: storetest.Ptr(score.Public)})
	assert.Equal(t, hash, s.Hash, "access is no content")
	change(score.Update{Description: storetest.Ptr("")})
	assert.Empty(t, s.DescriptionHash)
	change(score.Update{Description: storetest.Ptr("e")})
	change(score.Update{Pages: []score.PagesChange{
		{Insert: &score.InsertPages{At: 1, Pages: Pages(items[2], items[3])}}, // 0 2 3 1
		{Move: &score.Move{From: 3, To: 0}},                                   // 1 0 2 3
		{Remove: &score.Range{At: 1, Count: 2}},                               // 1 3
		{Insert: &score.InsertPages{At: 2, Pages: Pages(items[4])}},           // 1 3 4
	}, Annotations: []score.AnnotationsChange{
		{Edit: &score.EditAnnotation{At: 0, Text: "z"}},                                        // z b c
		{Insert: &score.InsertAnnotations{At: 3, Texts: []string{"z", "y"}}},                   // z b c z y
		{Move: &score.Move{From: 1, To: 4}},                                                    // z c z y b
		{Remove: &score.Range{At: 1, Count: 1}},                                                // z z y b
		{Edit: &score.EditAnnotation{At: 2, Text: strings.Repeat("€", score.MaxAnnotation/3)}}, // z z € b
	}})
	assert.Equal(t, []score.ItemRef{items[1], items[3], items[4]}, s.Items())
	description, annotations := w.Texts(s)
	assert.Equal(t, "e", description)
	assert.Equal(t, []string{"z", "z", strings.Repeat("€", score.MaxAnnotation/3), "b"}, annotations)
	change(score.Update{Annotations: []score.AnnotationsChange{{Remove: &score.Range{At: 0, Count: 1}}}})
	_, annotations = w.Texts(s)
	assert.Equal(t, []string{"z", strings.Repeat("€", score.MaxAnnotation/3), "b"}, annotations, "what others use stays")
	change(score.Update{Annotations: []score.AnnotationsChange{{Remove: &score.Range{At: 0, Count: 3}}}, Pages: []score.PagesChange{{Remove: &score.Range{At: 0, Count: 3}}}})
	assert.Empty(t, s.Pages)
	change(score.Update{Annotations: []score.AnnotationsChange{{Insert: &score.InsertAnnotations{Texts: []string{"z"}}}}, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: Pages(items[0])}}}})
	_, annotations = w.Texts(s)
	assert.Equal(t, []string{"z"}, annotations)
}

func scoreOutOfRange(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, 1)[0]
	s := w.Make(score.Create{Pages: Pages(item, item), Annotations: []string{"a"}})
	for _, step := range []score.PagesChange{
		{}, {Insert: &score.InsertPages{At: 3, Pages: Pages(item)}}, {Insert: &score.InsertPages{At: -1, Pages: Pages(item)}},
		{Move: &score.Move{From: 2}}, {Move: &score.Move{From: -1}}, {Move: &score.Move{To: 2}}, {Move: &score.Move{To: -1}},
		{Remove: &score.Range{At: 2, Count: 1}}, {Remove: &score.Range{At: -1, Count: 1}}, {Remove: &score.Range{At: 1, Count: 2}}, {Remove: &score.Range{At: 0}},
		{Remove: &score.Range{At: 1, Count: 1 << 62}}, {Remove: &score.Range{Count: 1}, Move: &score.Move{}},
	} {
		_, err := w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Title: storetest.Ptr("no"), Pages: []score.PagesChange{step}})
		storetest.IsFault(t, err, fault.Invalid)
	}
	for _, step := range []score.AnnotationsChange{
		{}, {Insert: &score.InsertAnnotations{At: 2, Texts: []string{"b"}}}, {Edit: &score.EditAnnotation{At: 1, Text: "b"}}, {Edit: &score.EditAnnotation{At: -1, Text: "b"}},
		{Edit: &score.EditAnnotation{}}, {Move: &score.Move{To: 1}}, {Remove: &score.Range{At: 1, Count: 1}}, {Insert: &score.InsertAnnotations{Texts: []string{""}}},
	} {
		_, err := w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Title: storetest.Ptr("no"), Annotations: []score.AnnotationsChange{step}})
		storetest.IsFault(t, err, fault.Invalid)
	}
	assert.Equal(t, s, w.Seen(s.Ref), "nothing was changed")
}

func scoreBadInput(t *testing.T, w *World) {
	for _, in := range []score.Create{
		{}, {Title: " "}, {Title: strings.Repeat("x", score.MaxTitle+1)}, {Title: "a\x00"}, {Title: "a\nb"}, {Title: "\xff"},
		{Title: "t", Description: strings.Repeat("x", score.MaxDescription+1)}, {Title: "t", Description: "\x00"}, {Title: "t", Annotations: []string{"a", " "}},
		{Title: "t", Annotations: []string{strings.Repeat("x", score.MaxAnnotation+1)}}, {Title: "t", Annotations: []string{"\xff"}},
		{Title: "t", Annotations: make([]string, score.MaxAnnotations+1)}, {Title: "t", Pages: make([]score.NewPage, score.MaxPages+1)},
		{Title: "t", Pages: []score.NewPage{{Item: score.ItemRef{Owner: w.Ada}, Object: strings.Repeat("x", score.MaxObject+1)}}},
		{Title: "t", Pages: []score.NewPage{{Item: score.ItemRef{Owner: w.Ada}, Label: strings.Repeat("x", score.MaxLabel+1)}}},
	} {
		_, err := w.Rules.Create(w.Hers(), in)
		storetest.IsFault(t, err, fault.Invalid)
	}
	s := w.Make(score.Create{Title: strings.Repeat("🎼", score.MaxTitle), Description: strings.Repeat("x", score.MaxDescription), Annotations: []string{strings.Repeat("x", score.MaxAnnotation)}})
	assert.Equal(t, s, w.Seen(s.Ref))
	_, err := w.Rules.Create(w.t.Context(), score.Create{Title: "t"})
	storetest.IsFault(t, err, fault.Unauthenticated)
}

func scoreUnchanged(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, 1)[0]
	s := w.Make(score.Create{Title: "t", Description: "d", Pages: Pages(item), Annotations: []string{"a", "b"}})
	w.Clock.Advance(time.Second)
	assert.Equal(t, s, w.Update(score.Update{Score: s.Ref, Title: storetest.Ptr("t"), Description: storetest.Ptr("d"), Access: storetest.Ptr(score.Private), ExpectedVersion: storetest.Ptr(1),
		Annotations: []score.AnnotationsChange{{Move: &score.Move{From: 0, To: 1}}, {Move: &score.Move{From: 0, To: 1}}}}))
	assert.Equal(t, s, w.Seen(s.Ref))
	assert.Equal(t, s, w.Update(score.Update{Score: s.Ref, IdempotencyKey: storetest.Ptr("k")}))
	assert.Equal(t, s, w.Update(score.Update{Score: s.Ref, IdempotencyKey: storetest.Ptr("k")}))
}

func scoreConflict(t *testing.T, w *World) {
	s := w.Make(score.Create{})
	now := w.Update(score.Update{Score: s.Ref, Title: storetest.Ptr("first"), ExpectedVersion: storetest.Ptr(1)})
	for _, do := range []func() error{
		func() error {
			_, err := w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Title: storetest.Ptr("second"), ExpectedVersion: storetest.Ptr(1)})
			return err
		},
		func() error {
			return w.Rules.Delete(w.Hers(), score.Delete{Score: s.Ref, ExpectedVersion: storetest.Ptr(1)})
		},
	} {
		var conflict *score.VersionConflict
		require.ErrorAs(t, do(), &conflict)
		assert.Equal(t, now, conflict.Current)
	}
	assert.Equal(t, now, w.Seen(s.Ref))
	stale := s
	stale.Version = 2
	var conflict *score.VersionConflict
	require.ErrorAs(t, w.Scores.UpdateScore(w.Hers(), s, stale, nil, noKey), &conflict)
	assert.Equal(t, "first", conflict.Current.Title)
}

func scoreAccess(t *testing.T, w *World) {
	bob := score.UserID(uuid.NewString())
	refs := map[score.Access]score.Ref{}
	for _, access := range []score.Access{score.Private, score.Limited, score.Public} {
		s := w.Make(score.Create{Title: fmt.Sprint(access), Access: access, Description: "d"})
		refs[access] = s.Ref
		w.Snap(s.Ref, "one")
		for _, ctx := range []context.Context{w.As(bob), w.t.Context()} {
			seen, err := w.Get(ctx, s.Ref)
			if access == score.Private {
				storetest.IsFault(t, err, fault.NotFound)
				assert.Zero(t, seen)
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, s.Title, seen.Title)
			of, _ := seen.Description()
			texts, errs := w.Rules.Texts(ctx, []score.TextRequest{of})
			require.NoError(t, errs[0])
			assert.Equal(t, []string{"d"}, texts)
		}
		_, err := w.Rules.Update(w.As(bob), score.Update{Score: s.Ref, Title: storetest.Ptr("mine")})
		if access == score.Private {
			storetest.IsFault(t, err, fault.NotFound)
		} else {
			storetest.IsFault(t, err, fault.Forbidden)
		}
	}
	_, err := w.Get(w.Hers(), score.Ref{Owner: bob, ID: refs[score.Public].ID})
	storetest.IsFault(t, err, fault.NotFound)
	hidden, err := w.Get(w.As(bob), score.Ref{Owner: w.Ada, ID: score.ID(uuid.NewString())})
	storetest.IsFault(t, err, fault.NotFound)
	_, errs := w.Rules.Texts(w.As(bob), []score.TextRequest{{TextID: score.TextID{Score: refs[score.Private], Kind: score.DescriptionText, Hash: score.NewText(score.DescriptionText, "d").Hash}}})
	storetest.IsFault(t, errs[0], fault.NotFound)
	assert.Zero(t, hidden)
	w.Update(score.Update{Score: refs[score.Public], Access: storetest.Ptr(score.Private)})
	_, err = w.Get(w.As(bob), refs[score.Public])
	storetest.IsFault(t, err, fault.NotFound)
}

func scoresListed(t *testing.T, w *World) {
	bob := score.UserID(uuid.NewString())
	var all, public []string
	for i := range 25 {
		s := w.Make(score.Create{Title: fmt.Sprint(i), Access: score.Access(i % 3)})
		all = append(all, s.Title)
		if s.Access == score.Public {
			public = append(public, s.Title)
		}
	}
	for _, test := range []struct {
		as   score.UserID
		want []string
	}{{w.Ada, all}, {bob, public}, {"", public}} {
		list := func(win page.Window) (page.Slice[score.Score], error) { return w.Rules.List(w.As(test.as), w.Ada, win) }
		positions := storetest.Pages(t, 4, list)
		assert.Len(t, positions, len(test.want))
		s, err := list(page.Window{Limit: page.Max})
		require.NoError(t, err)
		var titles []string
		for _, one := range s.Items {
			titles = append(titles, one.Title)
		}
		assert.ElementsMatch(t, test.want, titles)
	}
	s, err := w.Rules.ListPublic(w.Hers(), w.Ada, page.Window{Limit: page.Max})
	require.NoError(t, err)
	assert.Len(t, s.Items, len(public))
	s, err = w.Rules.List(w.Hers(), bob, page.Window{Limit: 3})
	require.NoError(t, err)
	assert.Empty(t, s.Items)
	_, err = w.Rules.Count(w.As(bob), w.Ada)
	storetest.IsFault(t, err, fault.Forbidden)
}
