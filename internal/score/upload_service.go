package score

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// The outcomes of uploads.
var (
	// ErrUploadOver says that an upload is open no more.
	ErrUploadOver = &fault.Error{Kind: fault.Conflict, Message: "the upload has ended; begin another one"}
	// ErrNotUploaded says that an upload cannot be completed because its bytes are not all there.
	ErrNotUploaded = &fault.Error{Kind: fault.Conflict, Message: "the file was not uploaded yet"}
)

// RequestUpload is the input of [Items.RequestUpload].
type RequestUpload struct {
	Score          ID // of the viewer, whose page the file may become; [Library] or "" for the library
	Name           string
	SetName        string
	Type           string  // a media type; application/octet-stream when nobody knows
	Size           int64   // bytes
	SHA256         string  // of the bytes, in base64; of a file that comes in parts see [Composite], or ""
	IdempotencyKey *string `json:"-"`
}

// upload checks the input, and decides how the file comes.
func (s *Items) upload(in RequestUpload) (u Upload, err error) {
	if in.Size < 1 || in.Size > MaxItem {
		return u, fault.Invalidf("input.size", "a file has 1 to %d bytes", int64(MaxItem))
	}
	u = Upload{Size: in.Size, State: UploadOpen}
	if u.Name, err = parseItemName(in.Name); err != nil {
		return u, err
	}
	if u.SetName, err = ParseSetName("input.setName", in.SetName); err != nil {
		return u, err
	}
	if u.Type, err = parseType(in.Type); err != nil {
		return u, err
	}
	if u.Size <= s.single {
		u.SHA256, err = ParseSHA256("input.sha256", in.SHA256)
		return u, err
	}
	u.PartSize = s.part
	if class(u.Type) == "image" {
		return u, fault.Invalidf("input.size", "an image has at most %d bytes", s.single)
	}
	u.SHA256, err = parseComposite("input.sha256", in.SHA256, u.Parts())
	return u, err
}

// RequestUpload lets the viewer upload a file, to a score of his or to his library, until [UploadTime] is over. NotFound when the
// score does not exist or may not be read, Forbidden when it is somebody else's. *[QuotaReached] when there is no room for the file.
func (s *Items) RequestUpload(ctx context.Context, owner UserID, in RequestUpload) (Ticket, error) {
	if _, err := domain.Self(ctx); err != nil {
		return Ticket{}, err
	}
	u, err := s.upload(in)
	if err != nil {
		return Ticket{}, err
	}
	u.Owner, u.Score = owner, cmp.Or(in.Score, Library)
	return onceItem(ctx, s, "requestUpload", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Ticket, error) {
		if u.Score != Library {
			_, err = mine(ctx, s.scores, Ref{owner, u.Score})
		} else {
			err = own(ctx, owner)
		}
		if err != nil {
			return Ticket{}, err
		}
		quota, err := s.room(ctx, owner)
		if err != nil {
			return Ticket{}, err
		}
		u.ID, u.CreatedAt = ItemID(s.newID()), s.instant()
		u.ExpiresAt = u.CreatedAt.Add(UploadTime)
		first := u.ExpiresAt
		if !u.InParts() {
			u.Signed = u.CreatedAt.Add(PutTime)
			first = u.Signed.Add(clockMargin)
		}
		sweep := sweepTask(u.ItemRef, first)
		if err := s.store.OpenUpload(ctx, u, quota, []task.Task{sweep}, key.With(string(u.ID))); err != nil {
			return Ticket{}, err
		}
		return s.ticket(ctx, u)
	}, func(ctx context.Context, result []string) (Ticket, error) {
		u, err := s.open(ctx, ItemRef{Owner: owner, Score: u.Score, ID: ItemID(result[0])})
		if fault.Is(err, fault.NotFound) { // it was completed, and what was put is its item's
			err = ErrUploadOver
		}
		if err != nil {
			return Ticket{}, err
		}
		return s.ticket(ctx, u)
	})
}

// room returns the quota of an owner.
func (s *Items) room(ctx context.Context, owner UserID) (int64, error) {
	usages, errs := s.store.Usages(ctx, []UserID{owner})
	if errs != nil && errs[0] != nil {
		return 0, errs[0]
	}
	return s.quotaOf(usages[0]), nil
}

// ticket signs what the client sends, and begins an upload in parts whose parts nobody has begun.
func (s *Items) ticket(ctx context.Context, u Upload) (Ticket, error) {
	t := Ticket{Upload: u}
	var err error
	if !u.InParts() {
		return s.sign(ctx, u)
	}
	if u.Multipart != "" {
		return t, nil
	}
	m, err := s.files.BeginParts(ctx, u.key(), u.Type)
	if err != nil {
		return Ticket{}, err
	}
	if err := s.store.BeginUpload(ctx, u.ItemRef, m.ID); err != nil { // what was begun is swept with all others of the key
		if !errors.Is(err, ErrUploadOver) {
			return Ticket{}, err
		}
		// Somebody else began it with the same idempotency key, or it was aborted.
		t.Upload, err = s.open(ctx, u.ItemRef)
		return t, err
	}
	t.Multipart = m.ID
	return t, nil
}

// sign signs the requests of an upload at once. What is signed ends when the row says so: until then the bytes are claimed.
func (s *Items) sign(ctx context.Context, u Upload) (Ticket, error) {
	if now := s.instant(); u.Signed.Sub(now) < signAgain { // somebody asks again, later
		u.Signed = now.Add(PutTime)
		if u.Signed.After(u.ExpiresAt) {
			u.Signed = u.ExpiresAt
		}
		if err := s.store.SignUpload(ctx, u.ItemRef, u.Signed, []task.Task{sweepTask(u.ItemRef, u.Signed.Add(clockMargin))}); err != nil {
			return Ticket{}, err
		}
	}
	ttl := max(u.Signed.Sub(s.now())+time.Second-1, time.Second).Truncate(time.Second)
	put := Put{Key: u.key(), Size: u.Size, Type: u.Type, SHA256: u.SHA256}
	t := Ticket{Upload: u}
	var err error
	if t.Put, err = s.files.PresignUpload(ctx, put, ttl); err == nil {
		t.Form, err = s.files.PresignForm(ctx, put, ttl)
	}
	return t, err
}

// open returns an upload of the viewer that is open.
func (s *Items) open(ctx context.Context, ref ItemRef) (Upload, error) {
	if err := own(ctx, ref.Owner); err != nil {
		return Upload{}, err
	}
	u, found, err := s.store.FindUpload(ctx, ref)
	switch {
	case err != nil:
		return Upload{}, err
	case !found || u.State == UploadDone:
		return Upload{}, fault.New(fault.NotFound, "there is no such upload")
	case u.State != UploadOpen || !s.now().Before(u.ExpiresAt):
		return Upload{}, ErrUploadOver
	}
	return u, nil
}

// inParts returns an open upload in parts of the viewer.
func (s *Items) inParts(ctx context.Context, ref ItemRef) (Upload, error) {
	u, err := s.open(ctx, ref)
	if err == nil && !u.InParts() {
		err = fault.New(fault.Conflict, "a file of up to %d bytes is put at once", s.single)
	}
	if err == nil && u.Multipart == "" {
		err = fault.New(fault.Conflict, "the upload was not begun; request it again with the same idempotency key")
	}
	return u, err
}

// SignPart is the input of [Items.SignPart].
type SignPart struct {
	Upload ItemRef
	Number int    // from 1
	SHA256 string // of the part's bytes, in base64
}

// SignPart returns the request with which the viewer can put one part of an upload: [PartSize] bytes, or what is left for the last
// one.
func (s *Items) SignPart(ctx context.Context, in SignPart) (Request, error) {
	sum, err := ParseSHA256("input.sha256", in.SHA256)
	if err != nil {
		return Request{}, err
	}
	u, err := s.inParts(ctx, in.Upload)
	if err != nil {
		return Request{}, err
	}
	if in.Number < 1 || in.Number > u.Parts() {
		return Request{}, fault.Invalidf("input.partNumber", "the upload has the parts 1 to %d", u.Parts())
	}
	return s.files.PresignPart(ctx, u.multipart(), Part{Number: in.Number, Size: u.partBytes(in.Number), SHA256: sum}, URLTime)
}

// ListParts returns the parts of an upload of the viewer that have come, by number, so that who was interrupted goes on where it
// stopped.
func (s *Items) ListParts(ctx context.Context, ref ItemRef) ([]Part, error) {
	u, err := s.inParts(ctx, ref)
	if err != nil {
		return nil, err
	}
	return s.files.ListParts(ctx, u.multipart())
}

// AbortUpload is the input of [Items.Abort].
type AbortUpload struct {
	Upload         ItemRef
	IdempotencyKey *string `json:"-"`
}

// Abort ends an upload of the viewer; its bytes are removed behind it. Nothing happens to one that has ended. NotFound when there
// is none, and when it was completed.
func (s *Items) Abort(ctx context.Context, in AbortUpload) error {
	_, err := onceItem(ctx, s, "abortUpload", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (struct{}, error) {
		if err := own(ctx, in.Upload.Owner); err != nil {
			return struct{}{}, err
		}
		u, found, err := s.store.FindUpload(ctx, in.Upload)
		if err == nil && (!found || u.State == UploadDone) {
			err = fault.New(fault.NotFound, "there is no such upload")
		}
		if err == nil && u.State == UploadOpen {
			err = s.close(ctx, u, key.With(string(u.ID)))
		}
		return struct{}{}, err
	}, func(context.Context, []string) (struct{}, error) { return struct{}{}, nil })
	return err
}

// close ends an upload, and has its bytes removed: at once if possible, so that what was signed is refused as soon as the caller
// knows, and otherwise by the sweep.
func (s *Items) close(ctx context.Context, u Upload, once idempotency.Key) error {
	u.ExpiresAt = s.instant()
	if err := s.store.CloseUpload(ctx, u, []task.Task{sweepTask(u.ItemRef, u.ExpiresAt)}, once); err != nil {
		return err
	}
	if u.InParts() {
		_ = s.files.AbortParts(ctx, u.key())
	} else {
		_ = s.occupy(ctx, u.ItemRef)
	}
	return nil
}

// occupy leaves an empty object where a file was put, so that it cannot be put once more with what was signed.
func (s *Items) occupy(ctx context.Context, ref ItemRef) error {
	_, err := s.files.Upload(ctx, ref.uploadKey(), emptyType, func(io.Writer) error { return nil })
	return err
}

// emptyType is the type of an empty object.
const emptyType = "application/octet-stream"
