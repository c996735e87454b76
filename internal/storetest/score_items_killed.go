package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// KilledItems kills the server at each call that it makes while it uploads, completes, aborts, sweeps and deletes, before and after
// the call was carried out: the client goes on, or nobody does, and in the end nothing is left that belongs to no item.
func KilledItems(t *testing.T, open OpenItems) {
	for name, flow := range map[string]func(*ItemWorld, *score.Items) error{
		"an image":          func(w *ItemWorld, s *score.Items) error { return w.throughout(s, "image/png", pngOf(picture(50, 50))) },
		"a file in parts":   func(w *ItemWorld, s *score.Items) error { return w.throughout(s, "video/mp4", large()) },
		"an aborted upload": abortedThroughout,
		"a lying image":     lyingThroughout,
		"a deleted item":    deletedThroughout,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for step, after := 1, false; ; step, after = step+b2i(after), !after {
				clock := NewClock()
				w := NewItemWorld(t, open(t, clock.Now), clock)
				m := &mortal{left: step, after: after}
				err := flow(w, w.Over(mortalItems{w.Items, m}, mortalFiles{w.Files, m}))
				if !m.dead {
					require.NoError(t, err)
					require.Greater(t, step, 3, "there are steps")
					w.settle()
					return
				}
				w.settle()
				if t.Failed() {
					t.Fatalf("killed at call %d, after it: %t", step, after)
				}
			}
		})
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// throughout uploads a file with a server that may die; then the client tries again with another one, as far as it got.
func (w *ItemWorld) throughout(s *score.Items, mediaType string, content []byte) error {
	ctx := w.As(w.Ada)
	in := announce("file", mediaType, content)
	in.IdempotencyKey = ptr("request")
	ticket, err := s.RequestUpload(ctx, w.Ada, in)
	if err != nil {
		ticket, again := w.Rules.RequestUpload(ctx, w.Ada, in)
		require.NoError(w.t, again)
		w.Put(ticket, content)
		return errors.Join(err, w.completed(ticket.ItemRef))
	}
	w.Put(ticket, content)
	complete := score.CompleteUpload{Upload: ticket.ItemRef, IdempotencyKey: ptr("complete")}
	if _, err = s.Complete(ctx, complete); err != nil {
		return errors.Join(err, w.completed(ticket.ItemRef))
	}
	return nil
}

// completed completes an upload that somebody may have begun to complete.
func (w *ItemWorld) completed(ref score.ItemRef) error {
	i, err := w.Rules.Complete(w.As(w.Ada), score.CompleteUpload{Upload: ref, IdempotencyKey: ptr("complete")})
	require.NoError(w.t, err)
	assert.Len(w.t, w.download(w.Rules.Download(w.As(w.Ada), i)), int(i.Size))
	return nil
}

func abortedThroughout(w *ItemWorld, s *score.Items) error {
	ctx := w.As(w.Ada)
	ticket, err := s.RequestUpload(ctx, w.Ada, announce("file", "video/mp4", large()))
	if err != nil {
		return err // nobody comes back
	}
	w.Put(ticket, large())
	err = s.Abort(ctx, score.AbortUpload{Upload: ticket.ItemRef})
	return errors.Join(err, w.dying(s))
}

func lyingThroughout(w *ItemWorld, s *score.Items) error {
	ctx, content := w.As(w.Ada), pngOf(picture(50, 50))
	content = content[:len(content)-15]
	ticket, err := s.RequestUpload(ctx, w.Ada, announce("file", "image/png", content))
	if err != nil {
		return err
	}
	w.Put(ticket, content)
	if _, err = s.Complete(ctx, score.CompleteUpload{Upload: ticket.ItemRef}); errors.Is(err, errKilled) {
		return err
	}
	require.Error(w.t, err)
	return w.dying(s)
}

func deletedThroughout(w *ItemWorld, s *score.Items) error {
	i := w.upload("file", "image/png", pngOf(picture(50, 50)))
	if err := s.Delete(w.As(w.Ada), score.DeleteItem{Item: i.ItemRef}); err != nil {
		return err
	}
	return w.dying(s)
}

// dying carries out the tasks that are due, with a server that may die: then it does not finish its task.
func (w *ItemWorld) dying(s *score.Items) error {
	due, err := w.Tasks.ListDueTasks(w.t.Context(), w.Clock.Now(), 100)
	require.NoError(w.t, err)
	for _, one := range due {
		claimed, ok, err := w.Tasks.ClaimTask(w.t.Context(), one, fmt.Sprint("token", one.ID, one.Tries), w.Clock.Now().Add(task.Lease))
		require.NoError(w.t, err)
		require.True(w.t, ok)
		again, err := handled(w.t.Context(), s, claimed)
		if err != nil {
			return err
		}
		require.NoError(w.t, w.Tasks.FinishTask(w.t.Context(), claimed, again))
	}
	return nil
}

// errKilled is what a server that was killed gets from every call.
var errKilled = errors.New("killed")

// mortal counts calls, and kills at one of them.
type mortal struct {
	left  int
	after bool // the call is still carried out
	dead  bool
}

func (m *mortal) step(do func() error) error {
	if m.dead {
		return errKilled
	}
	if m.left--; m.left > 0 {
		return do()
	}
	m.dead = true
	if m.after {
		_ = do()
	}
	return errKilled
}

// mortalItems are the calls to a store of items by a server that is killed.
type mortalItems struct {
	score.ItemStore
	m *mortal
}

func (s mortalItems) FindIdempotencyKey(ctx context.Context, k idempotency.Key) error {
	return s.m.step(func() error { return s.ItemStore.FindIdempotencyKey(ctx, k) })
}

func (s mortalItems) Usages(ctx context.Context, owners []score.UserID) (usages []score.Usage, errs []error) {
	if err := s.m.step(func() error { usages, errs = s.ItemStore.Usages(ctx, owners); return nil }); err != nil {
		return make([]score.Usage, len(owners)), []error{err}
	}
	return usages, errs
}

func (s mortalItems) ItemsByID(ctx context.Context, refs []score.ItemRef) (items []score.Item, errs []error) {
	if err := s.m.step(func() error { items, errs = s.ItemStore.ItemsByID(ctx, refs); return nil }); err != nil {
		return make([]score.Item, len(refs)), []error{err}
	}
	return items, errs
}

func (s mortalItems) FindUpload(ctx context.Context, ref score.ItemRef) (u score.Upload, found bool, err error) {
	err = s.m.step(func() (err error) { u, found, err = s.ItemStore.FindUpload(ctx, ref); return err })
	return u, found, err
}

func (s mortalItems) OpenUpload(ctx context.Context, u score.Upload, quota int64, follow []task.Task, once idempotency.Key) error {
	return s.m.step(func() error { return s.ItemStore.OpenUpload(ctx, u, quota, follow, once) })
}

func (s mortalItems) BeginUpload(ctx context.Context, ref score.ItemRef, multipart string) error {
	return s.m.step(func() error { return s.ItemStore.BeginUpload(ctx, ref, multipart) })
}

func (s mortalItems) CompleteUpload(ctx context.Context, u score.Upload, i score.Item, quota int64, once idempotency.Key) error {
	return s.m.step(func() error { return s.ItemStore.CompleteUpload(ctx, u, i, quota, once) })
}

func (s mortalItems) CloseUpload(ctx context.Context, u score.Upload, follow []task.Task, once idempotency.Key) error {
	return s.m.step(func() error { return s.ItemStore.CloseUpload(ctx, u, follow, once) })
}

func (s mortalItems) SignUpload(ctx context.Context, ref score.ItemRef, until time.Time, follow []task.Task) error {
	return s.m.step(func() error { return s.ItemStore.SignUpload(ctx, ref, until, follow) })
}

func (s mortalItems) ReleaseUpload(ctx context.Context, u score.Upload) error {
	return s.m.step(func() error { return s.ItemStore.ReleaseUpload(ctx, u) })
}

func (s mortalItems) ForgetUpload(ctx context.Context, ref score.ItemRef) error {
	return s.m.step(func() error { return s.ItemStore.ForgetUpload(ctx, ref) })
}

func (s mortalItems) DeleteItem(ctx context.Context, i score.Item, closed score.Upload, follow []task.Task, once idempotency.Key) error {
	return s.m.step(func() error { return s.ItemStore.DeleteItem(ctx, i, closed, follow, once) })
}

// mortalFiles are the calls to the storage by a server that is killed. Signing is no call.
type mortalFiles struct {
	score.Files
	m *mortal
}

func (f mortalFiles) Stat(ctx context.Context, key string) (o score.Object, err error) {
	err = f.m.step(func() (err error) { o, err = f.Files.Stat(ctx, key); return err })
	return o, err
}

func (f mortalFiles) Open(ctx context.Context, key string, offset int64) (r io.ReadCloser, err error) {
	err = f.m.step(func() (err error) {
		if r, err = f.Files.Open(ctx, key, offset); err == nil && f.m.dead {
			_ = r.Close()
		}
		return err
	})
	return r, err
}

func (f mortalFiles) Copy(ctx context.Context, from, to, etag string) error {
	return f.m.step(func() error { return f.Files.Copy(ctx, from, to, etag) })
}

func (f mortalFiles) Upload(ctx context.Context, key, contentType string, write func(io.Writer) error) (n int64, err error) {
	err = f.m.step(func() (err error) { n, err = f.Files.Upload(ctx, key, contentType, write); return err })
	return n, err
}

func (f mortalFiles) Delete(ctx context.Context, key string) error {
	return f.m.step(func() error { return f.Files.Delete(ctx, key) })
}

func (f mortalFiles) BeginParts(ctx context.Context, key, contentType string) (m score.Multipart, err error) {
	err = f.m.step(func() (err error) { m, err = f.Files.BeginParts(ctx, key, contentType); return err })
	return m, err
}

func (f mortalFiles) ListParts(ctx context.Context, m score.Multipart) (parts []score.Part, err error) {
	err = f.m.step(func() (err error) { parts, err = f.Files.ListParts(ctx, m); return err })
	return parts, err
}

func (f mortalFiles) CompleteParts(ctx context.Context, m score.Multipart, parts []score.Part) error {
	return f.m.step(func() error { return f.Files.CompleteParts(ctx, m, parts) })
}

func (f mortalFiles) AbortParts(ctx context.Context, key string) error {
	return f.m.step(func() error { return f.Files.AbortParts(ctx, key) })
}
