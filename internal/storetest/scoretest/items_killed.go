package scoretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
)

// killedFlow is what a server does that may die. It returns an error when it has.
type killedFlow struct {
	do func(*ItemWorld, *score.Items) error
	// items is how many there are in the end, whenever the server died; -1 where that depends on how far it came.
	items int
}

// KilledItems kills the server at each call that it makes while it uploads, signs again, completes, aborts, sweeps and deletes, before and
// after the call was carried out: the client goes on, or nobody does. In the end nothing is left that belongs to no item, and until then
// what can still be put is counted.
func KilledItems(t *testing.T, open OpenItems) {
	for name, flow := range map[string]killedFlow{
		"an image":                       {func(w *ItemWorld, s *score.Items) error { return w.throughout(s, "image/png", pngOf(picture(50, 50))) }, 1},
		"a file in parts":                {func(w *ItemWorld, s *score.Items) error { return w.throughout(s, "video/mp4", large()) }, 1},
		"an aborted upload":              {abortedThroughout, 0},
		"a lying image":                  {lyingThroughout, 0},
		"a deleted item":                 {deletedThroughout, -1},
		"an upload that is signed again": {signedThroughout, 0},
		"an upload that is completed and put again":    {completedUntilForgotten, 1},
		"an upload that is aborted and put again":      {abortedUntilForgotten, 0},
		"an upload of which nobody heard again":        {expiredUntilForgotten, 0},
		"an item that is deleted and put again":        {deletedUntilForgotten, -1},
		"an item that is deleted behind its signature": {deletedLater, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			stores := open(t, clock.Now) // for all steps: each has a user of its own, and leaves nothing
			for step, after := 1, false; ; step, after = step+B2i(after), !after {
				w := NewItemWorld(t, stores, clock)
				m := &Mortal{Left: step, After: after}
				err := flow.do(w, w.Over(mortalItems{w.Items, m}, mortalFiles{w.Files, m}))
				items := w.settle()
				for _, i := range items {
					assert.Equal(t, i.Size, w.downloaded(w.Files.PresignGet(t.Context(), i.Object, i.Name, i.Type, time.Minute)))
				}
				if flow.items >= 0 {
					assert.Len(t, items, flow.items)
				}
				if !m.Dead {
					require.NoError(t, err)
					require.Greater(t, step, 3, "there are steps")
					return
				}
				for _, i := range items {
					require.NoError(t, w.Rules.Delete(w.As(w.Ada), score.DeleteItem{Item: i.ItemRef}))
				}
				assert.Empty(t, w.settle())
				if t.Failed() {
					t.Fatalf("killed at call %d, after it: %t", step, after)
				}
			}
		})
	}
}

// B2i is 1 for true.
func B2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// throughout uploads a file with a server that may die; then the client tries again with another one, as far as it got.
func (w *ItemWorld) throughout(s *score.Items, mediaType string, content []byte) error {
	ctx := w.As(w.Ada)
	in := announce("file", mediaType, content)
	in.IdempotencyKey = storetest.Ptr("request")
	ticket, err := s.RequestUpload(ctx, w.Ada, in)
	if err != nil {
		ticket, again := w.Rules.RequestUpload(ctx, w.Ada, in)
		require.NoError(w.t, again)
		w.Put(ticket, content)
		return errors.Join(err, w.completed(ticket.ItemRef))
	}
	w.Put(ticket, content)
	complete := score.CompleteUpload{Upload: ticket.ItemRef, IdempotencyKey: storetest.Ptr("complete")}
	if _, err = s.Complete(ctx, complete); err != nil {
		if !ticket.InParts() {
			w.covered(ticket, content)
		}
		return errors.Join(err, w.completed(ticket.ItemRef))
	}
	return nil
}

// completed completes an upload that somebody may have begun to complete.
func (w *ItemWorld) completed(ref score.ItemRef) error {
	i, err := w.Rules.Complete(w.As(w.Ada), score.CompleteUpload{Upload: ref, IdempotencyKey: storetest.Ptr("complete")})
	require.NoError(w.t, err)
	assert.Equal(w.t, i.Size, w.downloaded(w.Rules.Download(w.As(w.Ada), i)))
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
	if _, err = s.Complete(ctx, score.CompleteUpload{Upload: ticket.ItemRef}); errors.Is(err, ErrKilled) {
		w.covered(ticket, content)
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

// signedThroughout has the requests of an upload signed once more, shortly before the first end, by a server that may die. Then it is
// aborted, and put with what was signed last.
func signedThroughout(w *ItemWorld, s *score.Items) error {
	content := []byte("small")
	in := announce("file", "text/plain", content)
	in.IdempotencyKey = storetest.Ptr("request")
	first := w.ask(in)
	w.Clock.Advance(score.PutTime - time.Minute)
	second, err := s.RequestUpload(w.As(w.Ada), w.Ada, in)
	if err != nil {
		second = w.ask(in)
	}
	aborted := s.Abort(w.As(w.Ada), score.AbortUpload{Upload: first.ItemRef})
	w.Clock.Advance(2 * time.Minute)
	require.True(w.t, first.Signed.Before(w.Clock.Now()))
	w.work()
	w.covered(second, content)
	if err = errors.Join(err, aborted); err != nil {
		return err
	}
	return w.untilForgotten(s, second, content)
}

// covered puts the file, if nothing is there, and checks that what is kept of it is counted, wherever it is.
func (w *ItemWorld) covered(ticket score.Ticket, content []byte) {
	w.t.Helper()
	_, _ = Send(w.t, ticket.Put, content)
	assert.GreaterOrEqual(w.t, w.usage().Claimed, int64(len(content)), "what can be put is counted")
}

// untilForgotten has the file be put once more by its form, which works until the signature has ended, and then lets the time pass by
// steps until the upload is forgotten, with a server that may die. Until the signature has ended, the file is counted.
func (w *ItemWorld) untilForgotten(s *score.Items, ticket score.Ticket, content []byte) error {
	w.t.Helper()
	put := func() {
		status, text := sendForm(w.t, ticket.Form, content)
		require.Equal(w.t, http.StatusNoContent, status, text)
	}
	for w.Clock.Now().Before(ticket.Signed) {
		put()
		err := w.dying(s)
		assert.GreaterOrEqual(w.t, w.usage().Claimed, int64(len(content)), "what can still be put is counted")
		if err != nil {
			return err
		}
		put() // until the last moment
		w.Clock.Advance(score.PutTime)
	}
	for range 2 {
		w.Clock.Advance(2 * time.Hour)
		err := w.dying(s)
		if kept, _ := w.bytes(); kept > 0 {
			assert.Positive(w.t, w.usage().Claimed, "what is kept is counted")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func completedUntilForgotten(w *ItemWorld, s *score.Items) error {
	content := pngOf(picture(30, 30))
	ticket := w.ask(announce("page", "image/png", content))
	w.Put(ticket, content)
	_, err := w.Complete(ticket.ItemRef)
	require.NoError(w.t, err)
	return w.untilForgotten(s, ticket, content)
}

func abortedUntilForgotten(w *ItemWorld, s *score.Items) error {
	content := []byte("small")
	ticket := w.ask(announce("file", "text/plain", content))
	w.Put(ticket, content)
	if err := s.Abort(w.As(w.Ada), score.AbortUpload{Upload: ticket.ItemRef}); err != nil {
		w.covered(ticket, content)
		return err
	}
	return w.untilForgotten(s, ticket, content)
}

func expiredUntilForgotten(w *ItemWorld, s *score.Items) error {
	content := []byte("small")
	ticket := w.ask(announce("file", "text/plain", content))
	w.Put(ticket, content)
	w.Clock.Advance(score.UploadTime)
	return w.untilForgotten(s, ticket, content)
}

func deletedUntilForgotten(w *ItemWorld, s *score.Items) error {
	content := pngOf(picture(30, 30))
	ticket := w.ask(announce("page", "image/png", content))
	w.Put(ticket, content)
	i, err := w.Complete(ticket.ItemRef)
	require.NoError(w.t, err)
	if err := s.Delete(w.As(w.Ada), score.DeleteItem{Item: i.ItemRef}); err != nil {
		w.covered(ticket, content)
		return err
	}
	return w.untilForgotten(s, ticket, content)
}

func deletedLater(w *ItemWorld, s *score.Items) error {
	i := w.upload("page", "image/png", pngOf(picture(30, 30)))
	w.Clock.Advance(signatureOver)
	w.work()
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

// ErrKilled is what a server that was killed gets from every call.
var ErrKilled = errors.New("killed")

// Mortal counts calls, and kills at one of them.
type Mortal struct {
	Left  int
	After bool // the call is still carried out
	Dead  bool
}

// Step carries a call out, or dies before or after it.
func (m *Mortal) Step(do func() error) error {
	if m.Dead {
		return ErrKilled
	}
	if m.Left--; m.Left > 0 {
		return do()
	}
	m.Dead = true
	if m.After {
		_ = do()
	}
	return ErrKilled
}

// mortalItems are the calls to a store of items by a server that is killed.
type mortalItems struct {
	score.ItemStore
	m *Mortal
}

func (s mortalItems) FindIdempotencyKey(ctx context.Context, k idempotency.Key) error {
	return s.m.Step(func() error { return s.ItemStore.FindIdempotencyKey(ctx, k) })
}

func (s mortalItems) Usages(ctx context.Context, owners []score.UserID) (usages []score.Usage, errs []error) {
	if err := s.m.Step(func() error { usages, errs = s.ItemStore.Usages(ctx, owners); return nil }); err != nil {
		return make([]score.Usage, len(owners)), []error{err}
	}
	return usages, errs
}

func (s mortalItems) ItemsByID(ctx context.Context, refs []score.ItemRef) (items []score.Item, errs []error) {
	if err := s.m.Step(func() error { items, errs = s.ItemStore.ItemsByID(ctx, refs); return nil }); err != nil {
		return make([]score.Item, len(refs)), []error{err}
	}
	return items, errs
}

func (s mortalItems) FindUpload(ctx context.Context, ref score.ItemRef) (u score.Upload, found bool, err error) {
	err = s.m.Step(func() (err error) { u, found, err = s.ItemStore.FindUpload(ctx, ref); return err })
	return u, found, err
}

func (s mortalItems) OpenUpload(ctx context.Context, u score.Upload, quota int64, follow []task.Task, once idempotency.Key) error {
	return s.m.Step(func() error { return s.ItemStore.OpenUpload(ctx, u, quota, follow, once) })
}

func (s mortalItems) BeginUpload(ctx context.Context, ref score.ItemRef, multipart string) error {
	return s.m.Step(func() error { return s.ItemStore.BeginUpload(ctx, ref, multipart) })
}

func (s mortalItems) CompleteUpload(ctx context.Context, u score.Upload, i score.Item, quota int64, once idempotency.Key) error {
	return s.m.Step(func() error { return s.ItemStore.CompleteUpload(ctx, u, i, quota, once) })
}

func (s mortalItems) CloseUpload(ctx context.Context, u score.Upload, follow []task.Task, once idempotency.Key) error {
	return s.m.Step(func() error { return s.ItemStore.CloseUpload(ctx, u, follow, once) })
}

func (s mortalItems) SignUpload(ctx context.Context, ref score.ItemRef, until time.Time, follow []task.Task) error {
	return s.m.Step(func() error { return s.ItemStore.SignUpload(ctx, ref, until, follow) })
}

func (s mortalItems) ReleaseUpload(ctx context.Context, u score.Upload) error {
	return s.m.Step(func() error { return s.ItemStore.ReleaseUpload(ctx, u) })
}

func (s mortalItems) ForgetUpload(ctx context.Context, ref score.ItemRef) error {
	return s.m.Step(func() error { return s.ItemStore.ForgetUpload(ctx, ref) })
}

func (s mortalItems) DeleteItem(ctx context.Context, i score.Item, closed score.Upload, follow []task.Task, once idempotency.Key) error {
	return s.m.Step(func() error { return s.ItemStore.DeleteItem(ctx, i, closed, follow, once) })
}

// mortalFiles are the calls to the storage by a server that is killed. Signing is no call.
type mortalFiles struct {
	score.Files
	m *Mortal
}

func (f mortalFiles) Stat(ctx context.Context, key string) (o score.Object, err error) {
	err = f.m.Step(func() (err error) { o, err = f.Files.Stat(ctx, key); return err })
	return o, err
}

func (f mortalFiles) Open(ctx context.Context, key string, offset int64) (r io.ReadCloser, err error) {
	err = f.m.Step(func() (err error) {
		if r, err = f.Files.Open(ctx, key, offset); err == nil && f.m.Dead {
			_ = r.Close()
		}
		return err
	})
	return r, err
}

func (f mortalFiles) Copy(ctx context.Context, from, to, etag string) error {
	return f.m.Step(func() error { return f.Files.Copy(ctx, from, to, etag) })
}

func (f mortalFiles) Upload(ctx context.Context, key, contentType string, write func(io.Writer) error) (n int64, err error) {
	err = f.m.Step(func() (err error) { n, err = f.Files.Upload(ctx, key, contentType, write); return err })
	return n, err
}

func (f mortalFiles) Delete(ctx context.Context, key string) error {
	return f.m.Step(func() error { return f.Files.Delete(ctx, key) })
}

func (f mortalFiles) BeginParts(ctx context.Context, key, contentType string) (m score.Multipart, err error) {
	err = f.m.Step(func() (err error) { m, err = f.Files.BeginParts(ctx, key, contentType); return err })
	return m, err
}

func (f mortalFiles) ListParts(ctx context.Context, m score.Multipart) (parts []score.Part, err error) {
	err = f.m.Step(func() (err error) { parts, err = f.Files.ListParts(ctx, m); return err })
	return parts, err
}

func (f mortalFiles) CompleteParts(ctx context.Context, m score.Multipart, parts []score.Part) error {
	return f.m.Step(func() error { return f.Files.CompleteParts(ctx, m, parts) })
}

func (f mortalFiles) AbortParts(ctx context.Context, key string) error {
	return f.m.Step(func() error { return f.Files.AbortParts(ctx, key) })
}
