package projecttest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/scoretest"
	"github.com/taggie/taggie/internal/task"
)

// importFiles is all that imports ask of a store of files.
type importFiles interface {
	project.Files
	project.Uploads
	project.Presigner
}

// mortalProjects are the calls to a store of projects by a server that is killed.
type mortalProjects struct {
	project.Store
	m *mortalImport
}

func (s mortalProjects) ImportsByID(ctx context.Context, ids []project.TransferID) ([]project.Import, []error) {
	return mortalImports{s.Store, s.m}.ImportsByID(ctx, ids)
}

func (s mortalProjects) PutImport(ctx context.Context, by project.UserID, before *project.Import, after project.Import, follow []task.Task, once idempotency.Key) error {
	return mortalImports{s.Store, s.m}.PutImport(ctx, by, before, after, follow, once)
}

// mortalUploads are the questions to a store of files by a server that is killed.
type mortalUploads struct {
	project.Uploads
	m *mortalImport
}

func (f mortalUploads) Size(ctx context.Context, key string) (n int64, err error) {
	err = f.m.step(func() error { n, err = f.Uploads.Size(ctx, key); return err })
	return n, err
}

// killedImport is an import of a file, asked of a server that may die. Its client asks the next one then, with the same keys, or gives up.
type killedImport struct {
	*OriginalWorld
	files   importFiles
	mortal  *project.Service
	runner  project.Importer // of the server that may die
	dead    func() bool
	revive  func() // lets the next server reach the stores
	counted bool   // all calls to the stores count, so that the next server waits until this one is dead
	patient bool   // the client asks again
	link    project.UploadLink
	id      project.TransferID
}

const importedFile = "{\"externalId\":\"1\",\"name\":\"one\"}\n{\"externalId\":\"2\",\"name\":\"two\"}\n"

// KilledImports kills the server at each call that it makes while a file is imported, cancelled or never started, before and after the call was
// carried out. The client asks again, or gives up, and puts its file for as long as it can. In the end the import is over, no file is left, and
// as many imports can be under way as ever.
func KilledImports(t *testing.T, open OpenOriginals) {
	killedImports(t, func(t *testing.T, now func() time.Time) (scoretest.ItemStores, Stores, KillAfter) {
		i, p := open(t, now)
		return i, p, nil
	})
}

// KillAfter lets the server die when its stores have carried out n calls. All calls fail then, until there is another server.
type KillAfter func(n int) (dead func() bool, revive func())

// OpenKilled opens stores that can be out of reach.
type OpenKilled func(t *testing.T, now func() time.Time) (scoretest.ItemStores, Stores, KillAfter)

// KilledImportCalls is like [KilledImports], where the server dies between two calls of its stores to their engine, those about tasks included.
func KilledImportCalls(t *testing.T, open OpenKilled) { killedImports(t, open) }

func killedImports(t *testing.T, open OpenKilled) {
	for name, flow := range map[string]struct {
		do    func(*killedImport) error
		state project.TransferState // in the end, when the client asks again
		steps int                   // there are at least
	}{
		"a file":                     {(*killedImport).started, project.Done, 8},
		"a file that is cancelled":   {(*killedImport).cancelled, project.Cancelled, 8},
		"a file that nobody starts":  {(*killedImport).created, project.Failed, 4},
		"a file that is never there": {(*killedImport).announced, project.Failed, 4},
	} {
		for _, again := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, asked again: %t", name, again), func(t *testing.T) {
				t.Parallel()
				clock := storetest.NewClock()
				i, p, kill := open(t, clock.Now)
				w := NewOriginalWorld(t, i, p, clock)
				files, ok := w.Library.Files.(importFiles)
				require.True(t, ok)
				seen := map[string]bool{}
				for range project.MaxTransfers - 1 { // a place that is not given back is missed by the next import
					seen[w.Import().ID] = true
				}
				for step, after := 1, false; ; step, after = step+scoretest.B2i(after), !after {
					k := w.killed(files, step, after)
					if kill != nil {
						k = w.killedAfter(files, kill, 2*(step-1)+scoretest.B2i(after))
					}
					k.patient = again
					err := flow.do(k)
					k.untilNothingCanBePut()
					states := k.ended(seen)
					if again || !k.dead() {
						require.Equal(t, []project.TransferState{flow.state}, states, "killed at call %d, after it: %t", step, after)
					} else {
						require.LessOrEqual(t, len(states), 1)
					}
					if !k.dead() {
						require.NoError(t, err)
						require.Greater(t, step, flow.steps, "there are steps")
						k = w.killed(files, 100, false)
						require.NoError(t, k.announced())
						storetest.IsFault(t, k.announced(), fault.Exhausted) // no place was given back twice
						return
					}
				}
			})
		}
	}
}

func (w *OriginalWorld) killed(files importFiles, step int, after bool) *killedImport {
	m := &mortalImport{Mortal: scoretest.Mortal{Left: step, After: after}}
	k := &killedImport{OriginalWorld: w, files: files, dead: func() bool { return m.Dead }, revive: func() {}}
	k.mortal = w.serving(mortalProjects{w.Projects, m}, mortalUploads{files, m})
	k.runner = w.Importer()
	k.runner.Store, k.runner.Files = mortalImports{w.Projects, m}, mortalTransfers{files, m}
	return k
}

// killedAfter is an import by a server that dies when its stores have carried out n calls.
func (w *OriginalWorld) killedAfter(files importFiles, kill KillAfter, n int) *killedImport {
	k := &killedImport{OriginalWorld: w, files: files, mortal: w.serving(w.Projects, files), runner: w.Importer(), counted: true}
	k.dead, k.revive = kill(n)
	return k
}

// asks asks the server that may die, and the next one when it has died and the client asks again.
func (k *killedImport) asks(what func(*project.Service, context.Context) (project.Import, error)) (project.Import, error) {
	i, err := what(k.mortal, k.Library.As(k.Ada))
	if !k.dead() {
		return i, err
	}
	k.revive()
	if k.patient {
		i, err = what(k.serving(k.Projects, k.files), k.Library.As(k.Ada))
		require.NoError(k.t, err)
	}
	return i, err
}

func (k *killedImport) announced() error {
	in := project.CreateImport{Project: k.Project.ID, Format: project.JSONLines, Bytes: int64(len(importedFile)), IdempotencyKey: new(uuid.NewString())}
	i, err := k.asks(func(s *project.Service, ctx context.Context) (project.Import, error) { return s.CreateImport(ctx, in) })
	if err != nil {
		return err
	}
	k.id = i.TransferID
	var awaits bool
	k.link, awaits, err = k.Service.UploadLink(k.t.Context(), k.files, i)
	require.NoError(k.t, err)
	require.True(k.t, awaits)
	return nil
}

func (k *killedImport) created() error {
	err := k.announced()
	if err == nil {
		require.Equal(k.t, http.StatusOK, k.put())
	}
	return err
}

func (k *killedImport) started() error {
	if err := k.created(); err != nil {
		return err
	}
	in := project.ChangeImport{Import: k.id, IdempotencyKey: new(uuid.NewString())}
	_, err := k.asks(func(s *project.Service, ctx context.Context) (project.Import, error) { return s.StartImport(ctx, in) })
	return err
}

func (k *killedImport) cancelled() error {
	if err := k.started(); err != nil {
		return err
	}
	in := project.ChangeImport{Import: k.id, IdempotencyKey: new(uuid.NewString())}
	_, err := k.asks(func(s *project.Service, ctx context.Context) (project.Import, error) { return s.CancelImport(ctx, in) })
	return err
}

// put puts the file, as far as the address lets it, and returns the status.
func (k *killedImport) put() int {
	k.t.Helper()
	status, _ := scoretest.Send(k.t, score.Request{Method: http.MethodPut, URL: k.link.URL, Headers: k.link.Headers}, []byte(importedFile))
	return status
}

// untilNothingCanBePut lets the time pass by steps, in which due tasks are worked on, first by the server that may die. Until its address
// ends, the file is put again and again: it may not take the place of one that was there.
func (k *killedImport) untilNothingCanBePut() {
	k.t.Helper()
	for range 6 {
		if k.link.URL != "" && k.Clock.Now().Before(k.link.ExpiresAt) {
			k.put()
		}
		if !k.dead() {
			k.works(k.runner, k.dead)
		}
		if k.dead() {
			k.revive()
		}
		if k.dead() || !k.counted {
			k.works(k.Importer(), func() bool { return false })
		}
		k.Clock.Advance(project.UploadTime / 2)
	}
	k.revive()
	due, err := k.Tasks.ListDueTasks(k.t.Context(), k.Clock.Now().AddDate(1, 0, 0), 100)
	require.NoError(k.t, err)
	require.Empty(k.t, due, "nothing is left to be done")
	sizes, _ := k.Library.Kept()
	left := slices.DeleteFunc(slices.Collect(maps.Keys(sizes)), func(key string) bool { return !strings.HasPrefix(key, "imports/") })
	require.Empty(k.t, left, "no file is left of %+v", k.id)
}

// works has the due tasks of imports worked on; those of a server that dies are the next one's when its lease is over.
func (k *killedImport) works(im project.Importer, dead func() bool) {
	k.t.Helper()
	defer k.Clock.Advance(2 * task.Lease)
	due, err := k.Tasks.ListDueTasks(storetest.Patient(k.t), k.Clock.Now(), 100)
	for _, one := range due {
		if dead() {
			return
		}
		var claimed task.Task
		var ok bool
		if claimed, ok, err = k.Tasks.ClaimTask(storetest.Patient(k.t), one, uuid.NewString(), k.Clock.Now().Add(task.Lease)); err != nil {
			break
		}
		require.True(k.t, ok)
		var again time.Time
		if again, err = im.Run(storetest.Patient(k.t), claimed); err == nil && !dead() {
			err = k.Tasks.FinishTask(storetest.Patient(k.t), claimed, again)
		}
		if err != nil {
			break
		}
	}
	if !dead() {
		require.NoError(k.t, err)
	}
}

// ended returns how the imports of the project ended that were not seen before, and takes note of them.
func (k *killedImport) ended(seen map[string]bool) (states []project.TransferState) {
	k.t.Helper()
	all, err := k.Projects.ListImports(k.t.Context(), k.Project.ID, page.Window{Limit: page.Max})
	require.NoError(k.t, err)
	require.False(k.t, all.More)
	for _, i := range all.Items {
		if seen[i.ID] {
			continue
		}
		seen[i.ID] = true
		states = append(states, i.State)
		assert.True(k.t, i.State.Ended(), "%+v", i)
		if i.State == project.Done {
			assert.Equal(k.t, []int{2, 2}, []int{i.Imported + i.Duplicates, i.Lines})
		}
	}
	return states
}
