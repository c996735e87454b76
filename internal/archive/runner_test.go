package archive_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/archives"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

// world keeps archives and the file of one of them, and kills who works with it.
type world struct {
	t     *testing.T
	store archives.Store
	users int
	id    archive.ID
	file  []byte
	items map[string]string
	steps int  // that are left: calls to the engine and to the files; below zero for any number
	lost  bool // who is killed in a call to the engine is so before it hears of what was done
}

// step is one call; true when it is not made any more.
func (w *world) step() bool {
	if w.steps == 0 {
		return true
	}
	w.steps--
	return false
}

// mortal is an engine that is asked by a server that may be killed.
type mortal struct {
	http.RoundTripper
	w *world
}

func (m mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.w.step() {
		return nil, faultinject.ErrKilled
	}
	answer, err := m.RoundTripper.RoundTrip(r)
	if err == nil && m.w.steps == 0 && m.w.lost {
		return nil, errors.Join(faultinject.ErrKilled, answer.Body.Close())
	}
	return answer, err
}

// kept is the archive, as it is stored.
func (w *world) kept() archive.Archive {
	w.t.Helper()
	defer func(left int) { w.steps = left }(w.steps)
	w.steps = -1
	a, err := domain.First(w.store.ArchivesByID(w.t.Context(), []archive.ID{w.id}))
	require.NoError(w.t, err)
	return a
}

func (w *world) Open(_ context.Context, key string, _ int64) (io.ReadCloser, error) {
	if w.step() {
		return nil, faultinject.ErrKilled
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
		return 0, faultinject.ErrKilled
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
					return faultinject.ErrKilled
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

// began is when archives are asked for.
var began = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, items: map[string]string{"key of x": "bytes"}, steps: -1}
	db, inj := dynamotest.OpenDBOn(t, func() time.Time { return began }, func(engine http.RoundTripper) http.RoundTripper { return mortal{engine, w} })
	w.store = archives.Store{DB: db}
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return w
}

// asked has another user ask for an archive, and returns who writes it.
func (w *world) asked() (archive.Runner, task.Task) {
	w.t.Helper()
	w.steps, w.lost, w.file = -1, false, nil
	w.users++
	w.id = archive.ID{User: archive.UserID(fmt.Sprint("user", w.users)), ID: "one"}
	u := user.User{ID: w.id.User, Name: "Ada", Email: string(w.id.User) + "@example.org", Version: 1, CreatedAt: began, UpdatedAt: began}
	require.NoError(w.t, users.Store{DB: w.store.DB}.CreateUser(w.t.Context(), u, "i", string(u.ID), idempotency.Key{}))
	run := task.Task{Kind: archive.RunArchive, ID: w.id.ID, Scope: string(w.id.User), Due: began}
	require.NoError(w.t, w.store.CreateArchive(w.t.Context(), archive.Archive{ID: w.id, State: archive.Queued, CreatedAt: began, Version: 1}, run, idempotency.Key{}))
	now := began
	tell := func() time.Time { now = now.Add(3 * time.Second); return now } // each look is worth telling
	return archive.Runner{Store: w.store, Files: w, Contents: contents(w), Now: tell}, run
}

// whole asserts that the archive is done and has everything, each thing once.
func (w *world) whole(t *testing.T) {
	t.Helper()
	require.Equal(t, archive.Done, w.kept().State)
	assert.Equal(t, 5, w.kept().Entries, "four lines and a file")
	assert.EqualValues(t, len(w.file), w.kept().Bytes)
	assert.Equal(t, []archive.Fault{{Path: "files/2/gone", Message: "the file does not exist"}}, w.kept().Faults)
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
	t.Parallel()
	w := newWorld(t)
	for _, lost := range []bool{false, true} {
		killed := 0
		for steps := 0; ; steps++ {
			r, run := w.asked()
			w.steps, w.lost = steps, lost
			_, err := r.Run(t.Context(), run)
			if err == nil {
				w.whole(t)
				break
			}
			killed++
			require.NotEqual(t, archive.Failed, w.kept().State)
			entries := w.kept().Entries
			w.steps = -1
			run.Tries++
			_, err = r.Run(t.Context(), run)
			require.NoError(t, err)
			w.whole(t)
			assert.GreaterOrEqual(t, w.kept().Entries, entries)
		}
		assert.Greater(t, killed, 8)
	}
}

func TestAnArchiveThatHasEndedIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, run := w.asked()
	_, err := r.Run(t.Context(), run)
	require.NoError(t, err)
	file := w.file
	again, err := r.Run(t.Context(), run)
	require.NoError(t, err)
	assert.Equal(t, file, w.file)
	assert.Equal(t, w.kept().ExpiresAt(), again)

	r.Now = w.kept().ExpiresAt
	again, err = r.Run(t.Context(), run)
	require.NoError(t, err)
	assert.Nil(t, w.file, "it is expired")
	assert.Zero(t, again)
	assert.True(t, w.kept().Removed)
	assert.False(t, w.kept().Counts())
	version := w.kept().Version
	_, err = r.Run(t.Context(), run)
	require.NoError(t, err)
	assert.Equal(t, version, w.kept().Version, "it is counted once")
}

// Whatever call a server is killed at, the user can create another archive when the file is removed, and not before.
func TestAnArchiveCountsUntilItsFileIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for steps := 0; ; steps++ {
		r, run := w.asked()
		_, err := r.Run(t.Context(), run)
		require.NoError(t, err)
		r.Now = w.kept().ExpiresAt
		w.steps = steps
		_, err = r.Run(t.Context(), run)
		if err == nil {
			assert.Positive(t, steps)
			break
		}
		assert.True(t, w.kept().Counts() || w.file == nil)
		w.steps = -1
		_, err = r.Run(t.Context(), run)
		require.NoError(t, err)
		assert.Nil(t, w.file)
		assert.False(t, w.kept().Counts())
	}
}

// An archive that was not written before it expires has ended then, so that the user can create another one.
func TestAnArchiveThatExpiresUnwrittenHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, run := w.asked()
	w.file = []byte("of a run that was killed before it said so")
	r.Now = w.kept().ExpiresAt
	again, err := r.Run(t.Context(), run)
	require.NoError(t, err)
	assert.Zero(t, again)
	assert.Equal(t, archive.Failed, w.kept().State)
	assert.Equal(t, "it could not be written in time", w.kept().Message)
	assert.Nil(t, w.file)
}

// What does not mend itself ends the archive after some tries, and says no more than that.
func TestAnArchiveThatCannotBeWrittenFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, run := w.asked()
	w.file = []byte("of a run that was killed before it said so")
	r.Contents.Parts = []archive.Part{{Name: "a.jsonl", Lines: func(context.Context, archive.UserID, archive.Emit) error { return errors.New("secret") }}}
	for w.kept().State != archive.Failed {
		_, _ = r.Run(t.Context(), run)
		run.Tries++
		require.Less(t, run.Tries, 20)
	}
	assert.Equal(t, "something went wrong on our side", w.kept().Message)
	assert.Greater(t, run.Tries, 3)
	assert.Nil(t, w.file, "it counts no longer")
}

// Stores that do not answer, and rows that only a newer server can read, are waited for.
func TestAnArchiveWaitsForStoresAndServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, kind := range []fault.Kind{fault.Unavailable, fault.Outdated} {
		r, run := w.asked()
		whole := r.Contents
		r.Contents.Parts = []archive.Part{{Name: "a.jsonl", Lines: func(context.Context, archive.UserID, archive.Emit) error { return fault.New(kind, "not now") }}}
		run.Tries = 100
		_, err := r.Run(t.Context(), run)
		require.Error(t, err)
		assert.Equal(t, archive.Running, w.kept().State)
		r.Contents = whole
		_, err = r.Run(t.Context(), run)
		require.NoError(t, err)
		w.whole(t)
	}
}
