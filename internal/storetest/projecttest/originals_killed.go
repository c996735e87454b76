package projecttest

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/scoretest"
	"github.com/taggie/taggie/internal/task"
)

func (d deleting) ListOriginals(ctx context.Context, i project.Import, each func(project.Original) error) error {
	err := d.Originals.ListOriginals(ctx, i, each)
	d.then()
	return err
}

// KilledOriginals kills the server at each call that it makes while it imports a library, before and after the call was carried out,
// and lets another one go on: each item is in the project once, is used once, and is counted once.
func KilledOriginals(t *testing.T, open OpenOriginals) {
	clock := storetest.NewClock()
	i, p := open(t, clock.Now)
	w := NewOriginalWorld(t, i, p, clock)
	items := w.Keep(score.Library, 60)
	for step, after := 1, false; ; step, after = step+scoretest.B2i(after), !after {
		w.Clock.Advance(1)
		w.Project, w.Team = w.Create(w.Ada, nil, nil)
		taken, err := w.Service.ImportItems(w.Library.As(w.Ada), project.ImportItems{Project: w.Project.ID, Library: true})
		require.NoError(t, err)
		m := &mortalImport{Mortal: scoretest.Mortal{Left: step, After: after}}
		im := w.Importer()
		im.Store, im.Files = mortalImports{w.Projects, m}, mortalTransfers{w.Library.Files, m}
		_, err = im.Run(storetest.Patient(t), task.Task{Kind: project.RunImport, ID: taken.ID, Scope: string(taken.Project)})
		dead := m.Dead
		if dead && err != nil {
			require.ErrorIs(t, err, scoretest.ErrKilled)
		}
		done := w.Run(taken)
		require.Equal(t, []any{project.Done, 60, 60, 0, 0}, []any{done.State, done.Imported, done.Lines, done.Duplicates, done.Mistakes}, "killed at call %d, after it: %t", step, after)
		require.Len(t, w.Items(project.New), 60)
		if !dead {
			require.Greater(t, step, 5, "there are steps")
			for _, n := range w.Refs(items) {
				require.Equal(t, 2*step-1, n, "one for each project")
			}
			return
		}
	}
}

// mortalImport is a server that is killed while several of its calls are under way.
type mortalImport struct {
	mu sync.Mutex
	scoretest.Mortal
}

func (m *mortalImport) step(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Mortal.Step(do)
}

type mortalImports struct {
	project.ImportStore
	m *mortalImport
}

func (s mortalImports) ImportsByID(ctx context.Context, ids []project.TransferID) (imports []project.Import, errs []error) {
	if err := s.m.step(func() error { imports, errs = s.ImportStore.ImportsByID(ctx, ids); return nil }); err != nil {
		return make([]project.Import, len(ids)), []error{err}
	}
	return imports, errs
}

func (s mortalImports) PutImport(ctx context.Context, by project.UserID, before *project.Import, after project.Import, follow []task.Task, once idempotency.Key) error {
	return s.m.step(func() error { return s.ImportStore.PutImport(ctx, by, before, after, follow, once) })
}

func (s mortalImports) ImportItems(ctx context.Context, items []project.Item) (created int, there []project.Item, err error) {
	err = s.m.step(func() (err error) { created, there, err = s.ImportStore.ImportItems(ctx, items); return err })
	return created, there, err
}

type mortalTransfers struct {
	project.Files
	m *mortalImport
}

func (f mortalTransfers) Open(ctx context.Context, key string, offset int64) (r io.ReadCloser, err error) {
	err = f.m.step(func() (err error) {
		if r, err = f.Files.Open(ctx, key, offset); err == nil && f.m.Dead {
			_ = r.Close()
		}
		return err
	})
	return r, err
}

func (f mortalTransfers) Upload(ctx context.Context, key, contentType string, write func(io.Writer) error) (n int64, err error) {
	err = f.m.step(func() (err error) { n, err = f.Files.Upload(ctx, key, contentType, write); return err })
	return n, err
}

func (f mortalTransfers) Delete(ctx context.Context, key string) error {
	return f.m.step(func() error { return f.Files.Delete(ctx, key) })
}

// RacingOriginals deletes items while they are imported: of each either happens, and never both.
func RacingOriginals(t *testing.T, open OpenOriginals, rounds int) {
	clock := storetest.NewClock()
	i, p := open(t, clock.Now)
	w := NewOriginalWorld(t, i, p, clock)
	imported := w.Import()
	deleted := 0
	for line := 1; line <= rounds; line++ {
		original := w.Keep(score.Library, 1)[0]
		item := w.Draw(imported, line, 1)[0]
		item.Original = original.Original()
		var both sync.WaitGroup
		var taken, removed error
		var created int
		both.Go(func() { created, _, taken = w.Projects.ImportItems(t.Context(), []project.Item{item}) })
		both.Go(func() { removed = w.remove(original) })
		both.Wait()
		refs := w.Refs([]score.Item{original})[0]
		_, _, errs := w.Projects.ItemsByID(t.Context(), "", []project.ItemID{item.ItemID})
		if removed == nil {
			deleted++
			require.ErrorContains(t, taken, "does not exist any more")
			require.Equal(t, -1, refs)
			require.NotNil(t, errs, "the item is not in the project")
			require.Empty(t, w.uses(original))
			continue
		}
		_, used := errors.AsType[*score.ItemInUse](removed)
		require.True(t, used, "%v", removed)
		require.NoError(t, taken)
		require.Equal(t, []int{1, 1}, []int{created, refs})
		require.Nil(t, errs)
		require.Len(t, w.uses(original), 1)
	}
	assert.Len(t, w.Items(project.New), rounds-deleted)
	t.Logf("%d of %d were deleted", deleted, rounds)
}
