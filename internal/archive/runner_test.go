package archive_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// errKilled is what everything returns from the moment on at which a server is killed.
var errKilled = errors.New("the server was killed")

// world keeps one archive and its file, and kills who works with it.
type world struct {
	kept  archive.Archive
	file  []byte
	items map[string]string
	steps int // that are left; below zero for any number
	lost  bool
}

// step is one call; true when it is not made any more.
func (w *world) step() bool {
	if w.steps == 0 {
		return true
	}
	w.steps--
	return false
}

func (w *world) ArchivesByID(context.Context, []archive.ID) ([]archive.Archive, []error) {
	if w.step() {
		return []archive.Archive{{}}, []error{errKilled}
	}
	return []archive.Archive{w.kept}, nil
}

func (w *world) ChangeArchive(_ context.Context, before, after archive.Archive) error {
	if w.step() {
		return errKilled
	}
	if before.Version != w.kept.Version {
		return &archive.Conflict{}
	}
	w.kept = after
	if w.steps == 0 && w.lost { // it is killed before it hears of it
		return errKilled
	}
	return nil
}

func (w *world) Open(_ context.Context, key string, _ int64) (io.ReadCloser, error) {
	if w.step() {
		return nil, errKilled
	}
	text, there := w.items[key]
	if !there {
		return nil, fault.New(fault.NotFound, "there is no such file")
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (w *world) Upload(_ context.Context, _, _ string, write func(io.Writer) error) (int64, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return 0, err
	}
	if w.step() {
		return 0, errKilled
	}
	w.file = b.Bytes()
	return int64(b.Len()), nil
}

func (w *world) Delete(context.Context, string) error {
	w.file = nil
	return nil
}

// contents are two parts and two files, of which the second one is gone.
func contents(w *world) archive.Contents {
	return archive.Contents{
		Parts: []archive.Part{
			{Name: "a.jsonl", Holds: "numbers", Lines: func(ctx context.Context, user archive.UserID, emit archive.Emit) error {
				if w.step() {
					return errKilled
				}
				if !viewer.From(ctx).Is(user) || viewer.From(ctx).Admin() {
					return errors.New("another one looks")
				}
				return errors.Join(emit(1), emit(2))
			}},
			{Name: "b.jsonl", Holds: "files", Lines: func(_ context.Context, _ archive.UserID, emit archive.Emit) error {
				return errors.Join(emit("x"), emit("<gone>"))
			}},
		},
		Files: func(_ context.Context, _ archive.UserID, each func(archive.File) error) error {
			return errors.Join(each(archive.File{Key: "key of x", Path: "files/1/x"}), each(archive.File{Key: "key of gone", Path: "files/2/gone"}))
		},
	}
}

func newWorld() (*world, archive.Runner, task.Task) {
	w := &world{items: map[string]string{"key of x": "bytes"}, steps: -1}
	w.kept = archive.Archive{ID: archive.ID{User: "ada", ID: "one"}, State: archive.Queued, CreatedAt: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC), Version: 1}
	now := w.kept.CreatedAt
	tell := func() time.Time { now = now.Add(3 * time.Second); return now } // each look is worth telling
	return w, archive.Runner{Store: w, Files: w, Contents: contents(w), Now: tell}, task.Task{Kind: archive.RunArchive, ID: "one", Scope: "ada"}
}

// whole asserts that the archive is done and has everything, each thing once.
func (w *world) whole(t *testing.T) {
	t.Helper()
	require.Equal(t, archive.Done, w.kept.State)
	assert.Equal(t, 5, w.kept.Entries, "four lines and a file")
	assert.EqualValues(t, len(w.file), w.kept.Bytes)
	assert.Equal(t, []archive.Fault{{Path: "files/2/gone", Message: "the file does not exist"}}, w.kept.Faults)
	z, err := zip.NewReader(bytes.NewReader(w.file), int64(len(w.file)))
	require.NoError(t, err)
	all := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		assert.NotContains(t, all, f.Name)
		all[f.Name] = string(text)
	}
	assert.Contains(t, all["README.txt"], "a.jsonl: numbers\nb.jsonl: files\n")
	for _, lacks := range []string{"may be missing, or be in it twice", "the other members of your scopes", "deleted scopes and projects"} {
		assert.Contains(t, all["README.txt"], lacks, "it says what may not be in it")
	}
	delete(all, "README.txt")
	assert.Equal(t, map[string]string{"a.jsonl": "1\n2\n", "b.jsonl": "\"x\"\n\"<gone>\"\n", "files/1/x": "bytes"}, all)
}

// Whatever call a server is killed at, before or after it, the next one writes the whole archive.
func TestAnArchiveIsWholeAfterAKillAtAnyStep(t *testing.T) {
	for _, lost := range []bool{false, true} {
		killed := 0
		for steps := 0; ; steps++ {
			w, r, run := newWorld()
			w.steps, w.lost = steps, lost
			_, err := r.Run(t.Context(), run)
			if err == nil {
				w.whole(t)
				break
			}
			killed++
			require.NotEqual(t, archive.Failed, w.kept.State)
			entries := w.kept.Entries
			w.steps = -1
			run.Tries++
			_, err = r.Run(t.Context(), run)
			require.NoError(t, err)
			w.whole(t)
			assert.GreaterOrEqual(t, w.kept.Entries, entries)
		}
		assert.Greater(t, killed, 8)
	}
}

func TestAnArchiveThatHasEndedIsLeftAlone(t *testing.T) {
	w, r, run := newWorld()
	_, err := r.Run(t.Context(), run)
	require.NoError(t, err)
	file := w.file
	again, err := r.Run(t.Context(), run)
	require.NoError(t, err)
	assert.Equal(t, file, w.file)
	assert.Equal(t, w.kept.ExpiresAt(), again)

	r.Now = w.kept.ExpiresAt
	again, err = r.Run(t.Context(), run)
	require.NoError(t, err)
	assert.Nil(t, w.file, "it is expired")
	assert.Zero(t, again)
	assert.True(t, w.kept.Removed)
	assert.False(t, w.kept.Counts())
	version := w.kept.Version
	_, err = r.Run(t.Context(), run)
	require.NoError(t, err)
	assert.Equal(t, version, w.kept.Version, "it is counted once")
}

// Whatever call a server is killed at, the user can create another archive when the file is removed, and not before.
func TestAnArchiveCountsUntilItsFileIsRemoved(t *testing.T) {
	for steps := 0; ; steps++ {
		w, r, run := newWorld()
		_, err := r.Run(t.Context(), run)
		require.NoError(t, err)
		r.Now = w.kept.ExpiresAt
		w.steps = steps
		_, err = r.Run(t.Context(), run)
		if err == nil {
			assert.Positive(t, steps)
			break
		}
		assert.True(t, w.kept.Counts() || w.file == nil)
		w.steps = -1
		_, err = r.Run(t.Context(), run)
		require.NoError(t, err)
		assert.Nil(t, w.file)
		assert.False(t, w.kept.Counts())
	}
}

// An archive that was not written before it expires has ended then, so that the user can create another one.
func TestAnArchiveThatExpiresUnwrittenHasEnded(t *testing.T) {
	w, r, run := newWorld()
	w.file = []byte("of a run that was killed before it said so")
	r.Now = w.kept.ExpiresAt
	again, err := r.Run(t.Context(), run)
	require.NoError(t, err)
	assert.Zero(t, again)
	assert.Equal(t, archive.Failed, w.kept.State)
	assert.Equal(t, "it could not be written in time", w.kept.Message)
	assert.Nil(t, w.file)
}

// What does not mend itself ends the archive after some tries, and says no more than that.
func TestAnArchiveThatCannotBeWrittenFails(t *testing.T) {
	w, r, run := newWorld()
	w.file = []byte("of a run that was killed before it said so")
	r.Contents.Parts = []archive.Part{{Name: "a.jsonl", Lines: func(context.Context, archive.UserID, archive.Emit) error { return errors.New("secret") }}}
	for w.kept.State != archive.Failed {
		_, _ = r.Run(t.Context(), run)
		run.Tries++
		require.Less(t, run.Tries, 20)
	}
	assert.Equal(t, "something went wrong on our side", w.kept.Message)
	assert.Greater(t, run.Tries, 3)
	assert.Nil(t, w.file, "it counts no longer")
}

// Stores that do not answer, and rows that only a newer server can read, are waited for.
func TestAnArchiveWaitsForStoresAndServers(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Unavailable, fault.Outdated} {
		w, r, run := newWorld()
		whole := r.Contents
		r.Contents.Parts = []archive.Part{{Name: "a.jsonl", Lines: func(context.Context, archive.UserID, archive.Emit) error { return fault.New(kind, "not now") }}}
		run.Tries = 100
		_, err := r.Run(t.Context(), run)
		require.Error(t, err)
		assert.Equal(t, archive.Running, w.kept.State)
		r.Contents = whole
		_, err = r.Run(t.Context(), run)
		require.NoError(t, err)
		w.whole(t)
	}
}
