package scores_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

// scoreStage is a score with a snapshot, on which something is done.
type scoreStage struct {
	*scoretest.World
	items    []score.ItemRef
	score    score.Score
	snapshot score.Snapshot
}

// shows spells everything that readers see of the owner.
func (s scoreStage) shows(t testing.TB) string {
	t.Helper()
	var shown []string
	list, err := s.Rules.List(s.Hers(), s.Ada, dynamotest.WholeList)
	require.NoError(t, err)
	for _, one := range list.Items {
		description, annotations := s.Texts(one)
		labels := ""
		for _, p := range one.Pages {
			for n, item := range s.items {
				if item.ID == p.Item {
					labels += fmt.Sprint(n, " ")
				}
			}
		}
		parts := []string{}
		lists, errs := s.Rules.ListSnapshots(s.Hers(), []score.SnapshotsRequest{one.ListSnapshots()})
		require.NoError(t, errs[0])
		assert.Len(t, lists[0], one.Snapshots)
		for _, snapshot := range lists[0] {
			_, content, err := scoretest.ScoreAt(s.Hers(), s.Rules, snapshot.SnapshotID)
			require.NoError(t, err, "a snapshot without its content")
			parts = append(parts, fmt.Sprintf("%s: %d %d", snapshot.Name, len(content.Pages), len(content.Annotations)))
		}
		slices.Sort(parts)
		shown = append(shown, fmt.Sprintf("%s: %s; %s; %v; %v", one.Title, description, labels, annotations, parts))
	}
	everybody, err := s.Rules.ListPublic(s.Hers(), s.Ada, dynamotest.WholeList)
	require.NoError(t, err)
	for _, one := range everybody.Items {
		shown = append(shown, "public: "+one.Title)
	}
	slices.Sort(shown)
	return strings.Join(shown, "\n")
}

// scoreDeeds is what is killed at each of its calls.
var scoreDeeds = map[string]func(scoreStage) error{
	"create": func(s scoreStage) error {
		_, err := s.Rules.Create(s.Hers(), score.Create{Title: "new", Description: "d", Pages: scoretest.Pages(s.items...), Annotations: []string{"x", "y", "z"}})
		return err
	},
	"create a small one": func(s scoreStage) error {
		_, err := s.Rules.Create(s.Hers(), score.Create{Title: "new", Access: score.Public, Pages: scoretest.Pages(s.items[0])})
		return err
	},
	"add": func(s scoreStage) error {
		_, err := s.Rules.Update(s.Hers(), score.Update{Score: s.score.Ref, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: scoretest.Pages(s.items[4:]...)}}},
			Annotations: []score.AnnotationsChange{{Insert: &score.InsertAnnotations{Texts: []string{"x", "y", "z", "x"}}}}})
		return err
	},
	"remove": func(s scoreStage) error {
		none := ""
		_, err := s.Rules.Update(s.Hers(), score.Update{Score: s.score.Ref, Description: &none, Pages: []score.PagesChange{{Remove: &score.Range{Count: 4}}},
			Annotations: []score.AnnotationsChange{{Remove: &score.Range{Count: 3}}}})
		return err
	},
	"hide": func(s scoreStage) error {
		private := score.Private
		_, err := s.Rules.Update(s.Hers(), score.Update{Score: s.score.Ref, Access: &private, Pages: []score.PagesChange{{Remove: &score.Range{Count: 4}}}})
		return err
	},
	"replace": func(s scoreStage) error {
		_, err := s.Rules.Update(s.Hers(), score.Update{Score: s.score.Ref, Pages: []score.PagesChange{{Remove: &score.Range{Count: 3}}, {Insert: &score.InsertPages{Pages: scoretest.Pages(s.items[4:]...)}}},
			Annotations: []score.AnnotationsChange{{Remove: &score.Range{Count: 2}}, {Insert: &score.InsertAnnotations{Texts: []string{"x", "y", "z", "a"}}}}})
		return err
	},
	"a small change": func(s scoreStage) error {
		_, err := s.Rules.Update(s.Hers(), score.Update{Score: s.score.Ref, Annotations: []score.AnnotationsChange{{Edit: &score.EditAnnotation{Text: "x"}}}})
		return err
	},
	"delete": func(s scoreStage) error { return s.Rules.Delete(s.Hers(), score.Delete{Score: s.score.Ref}) },
	"take a snapshot": func(s scoreStage) error {
		_, err := s.Rules.CreateSnapshot(s.Hers(), score.CreateSnapshot{Score: s.score.Ref, Name: "two"})
		return err
	},
	"rename a snapshot": func(s scoreStage) error {
		_, err := s.Rules.RenameSnapshot(s.Hers(), score.RenameSnapshot{Snapshot: s.snapshot.SnapshotID, Name: "two"})
		return err
	},
	"delete a snapshot": func(s scoreStage) error {
		return s.Rules.DeleteSnapshot(s.Hers(), score.DeleteSnapshot{Snapshot: s.snapshot.SnapshotID})
	},
	"restore": func(s scoreStage) error {
		_, err := s.Rules.Restore(s.Hers(), score.Restore{Snapshot: s.snapshot.SnapshotID})
		return err
	},
}

// newScoreStage makes a score that differs from its snapshot. Most of what is done with it takes steps.
func newScoreStage(t testing.TB) (scoreStage, *dynamo.DB, *faultinject.Injector) {
	w, db, inj := openWorldOfScores(t)
	db.Prepared = 9
	s := scoreStage{World: w, items: w.NewItems(w.Ada, 8)}
	s.score = w.Make(score.Create{Title: "old", Access: score.Public, Pages: scoretest.Pages(s.items[5:]...), Annotations: []string{"s", "t"}})
	s.snapshot = w.Snap(s.score.Ref, "one")
	d := "described"
	s.score = w.Update(score.Update{Score: s.score.Ref, Description: &d, Pages: []score.PagesChange{{Remove: &score.Range{Count: 3}}, {Insert: &score.InsertPages{Pages: scoretest.Pages(s.items[:4]...)}}},
		Annotations: []score.AnnotationsChange{{Remove: &score.Range{Count: 2}}, {Insert: &score.InsertAnnotations{Texts: []string{"a", "b", "c"}}}}})
	inj.Recorder().Reset()
	return s, db, inj
}

// dying lets the server die when it writes more than n times, to its rows or to the contents of snapshots, until the end.
func (s scoreStage) dying(inj *faultinject.Injector, n int64) (written *atomic.Int64, end func()) {
	written = new(atomic.Int64)
	dead := inj.KillAfter(0, func(c *faultinject.Call) bool {
		if faultinject.Writes(c) {
			written.Add(1)
		}
		return written.Load() > n
	})
	s.Contents.Fail = func(verb string) error {
		if verb != "open" {
			written.Add(1)
		}
		if written.Load() > n {
			return errors.New("the process is dead")
		}
		return nil
	}
	return written, func() {
		dead.Stop()
		s.Contents.Fail = nil
	}
}

// A server dies before each write of what it does, and before the answer to the last one. Readers see the old state or the new one at once,
// and the same when the task has settled what was left, of which nothing stays; or when somebody changed the score before.
func TestScoresKilledAtEachWrite(t *testing.T) {
	t.Parallel()
	for name, do := range scoreDeeds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, inj := newScoreStage(t)
			before := s.shows(t)
			inj.Recorder().Reset()
			written, end := s.dying(inj, math.MaxInt64)
			require.NoError(t, do(s))
			end()
			last, all := inj.Recorder().Count(faultinject.Writes), written.Load()
			after := s.shows(t)
			s.Settled()
			require.NotEqual(t, before, after)
			for n := range all + 1 {
				name := fmt.Sprintf("%s, dead after %d of %d writes", name, n, all)
				killedOnce(t, name, do, n, last, false, before, after)
				if 0 < n && n < all { // something may be left
					killedOnce(t, name+", then others", do, n, last, true, before, after)
				}
			}
		})
	}
}

// killedOnce does something with a server that dies after n writes to rows and contents, or without the answer to the last one to rows.
func killedOnce(t *testing.T, name string, do func(scoreStage) error, n int64, last int, others bool, before, after string) {
	t.Helper()
	s, _, inj := newScoreStage(t)
	_, end := s.dying(inj, n)
	answer := inj.ResetAfter(faultinject.Nth(last), faultinject.Writes)
	err := do(s)
	end()
	answer.Stop()
	now := s.shows(t)
	if err == nil {
		require.Equal(t, after, now, name)
	} else {
		require.Contains(t, []string{before, after}, now, name)
	}
	if others { // before the task
		title := "others"
		_, err := s.Rules.Update(s.Hers(), score.Update{Score: s.score.Ref, Title: &title, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: scoretest.Pages(s.items[7])}}}})
		if !fault.Is(err, fault.NotFound) { // deleted
			require.NoError(t, err, name)
		}
		now = s.shows(t)
	}
	s.Settled()
	require.Equal(t, now, s.shows(t), name)
	if t.Failed() {
		t.Fatal(name)
	}
}

// A change that sleeps while its intent is settled is too late.
func TestALostChangeOfAScoreThatComesBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"create", "add", "replace", "take a snapshot", "restore"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for nth := 2; nth <= 5; nth++ {
				s, _, inj := newScoreStage(t)
				inj.Sleep = func(context.Context, time.Duration) error {
					s.Clock.Advance(time.Hour)
					s.Work()
					return nil
				}
				calls, awake := 0, false
				rule := inj.Delay(0, func(int) bool {
					if awake {
						return false
					}
					calls++
					awake = calls == nth
					return awake
				}, faultinject.Operation("TransactWriteItems", "BatchWriteItem"))
				err := scoreDeeds[name](s)
				rule.Stop()
				if err != nil {
					assert.True(t, fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Conflict), "%s, %d: %v", name, nth, err)
				}
				shown := s.shows(t)
				s.Settled()
				require.Equal(t, shown, s.shows(t))
				require.False(t, t.Failed(), "%s, %d", name, nth)
			}
		})
	}
}

// An item is deleted while it is made a page, and while it is snapshotted and removed: never a page without its item.
func TestItemsAreDeletedOrUsed(t *testing.T) {
	t.Parallel()
	w, _, _ := openWorldOfScores(t)
	s := w.Make(score.Create{})
	deleted := 0
	for range 1_000 {
		item := w.NewItems(w.Ada, 1)[0]
		done := make(chan error)
		go func() {
			_, err := w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: scoretest.Pages(item)}}}})
			done <- err
		}()
		w.Seen(s.Ref) // the other one reads it, too
		gone, err := w.DeleteItem(t.Context(), item)
		require.NoError(t, err)
		err = <-done
		if _, unknown := errors.AsType[*score.UnknownItem](err); gone {
			require.True(t, unknown, "got %v", err)
			deleted++
			continue
		}
		require.NoError(t, err)
		w.Update(score.Update{Score: s.Ref, Pages: []score.PagesChange{{Remove: &score.Range{Count: 1}}}})
	}
	t.Logf("%d of 1,000 were deleted", deleted)
	w.Settled()
}
