package score

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// CompleteUpload is the input of [Items.Complete].
type CompleteUpload struct {
	Upload ItemRef
	// Parts are those that the client put, with number and ETag, as it learned them; nil for those that have come.
	Parts          []Part
	IdempotencyKey *string `json:"-"`
}

// Complete makes an item of the bytes that the viewer uploaded, when they are those that were announced: size, checksum, and type
// of an image. Images get a thumbnail. It can be called again: what is an item already is returned. ErrNotUploaded when the bytes
// are not there, *[QuotaReached], Exhausted when others of the owner's are completed for too long; all can be completed later. *[UploadRefused] when the bytes are not what was announced, and
// [ErrUploadOver]: of these nothing is left.
func (s *Items) Complete(ctx context.Context, in CompleteUpload) (Item, error) {
	reread := func(ctx context.Context, _ []string) (Item, error) { return domain.Gone(s.get(ctx, in.Upload)) }
	return onceItem(ctx, s, "completeUpload", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Item, error) {
		u, err := s.open(ctx, in.Upload)
		if err == nil {
			var i Item
			if i, err = s.complete(ctx, u, in.Parts, key.With(string(u.ID))); err == nil {
				return i, nil
			}
		}
		// Somebody may have completed it before, or is just doing so: then its bytes are no longer where they were put.
		i, there := s.get(idempotency.Serializable(ctx), in.Upload)
		switch {
		case there == nil:
			return i, nil
		case (fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict)) && !fault.Is(there, fault.NotFound): // nobody knows whether there is an item
			return Item{}, there
		}
		if why, ok := errors.AsType[*fault.Error](err); ok && why.Kind == fault.Invalid { // the bytes will never be what they were to be
			if _, err = s.open(ctx, in.Upload); err != nil { // it was ended meanwhile, and what is there is ours
				return Item{}, err
			}
			if err = s.close(ctx, u, idempotency.Key{}); err == nil {
				err = &UploadRefused{why}
			}
		}
		return Item{}, err
	}, reread)
}

// UploadRefused is the outcome of completing an upload whose bytes are not what was announced.
type UploadRefused struct{ Why *fault.Error }

// Error says what is wrong with the bytes.
func (r *UploadRefused) Error() string { return r.Why.Message }

// Unwrap returns the fault.
func (r *UploadRefused) Unwrap() error { return r.Why }

// complete verifies the bytes and makes the item, when it is the turn of its owner. Everything before its last step can be done again.
func (s *Items) complete(ctx context.Context, u Upload, parts []Part, once idempotency.Key) (Item, error) {
	var leave func()
	err := waitTurn(ctx, func(ctx context.Context) (err error) {
		leave, err = s.turns.acquire(ctx, u.Owner, 1)
		return err
	})
	if err != nil {
		return Item{}, err
	}
	defer leave()
	quota, err := s.room(ctx, u.Owner)
	if err != nil {
		return Item{}, err
	}
	i := Item{ItemRef: u.ItemRef, Name: u.Name, SetName: u.SetName, Size: u.Size, Object: u.objectKey(), CreatedAt: s.instant()}
	stat, err := s.arrived(ctx, u, parts)
	if err != nil {
		return Item{}, err
	}
	if i.SHA256, err = s.verify(ctx, u, stat); err != nil {
		return Item{}, err
	}
	if err := s.look(ctx, u, &i); err != nil {
		return Item{}, err
	}
	if !u.InParts() {
		// What is read is nowhere that a client can put anything.
		if err := s.files.Copy(ctx, u.key(), i.Object, stat.ETag); err != nil {
			return Item{}, arriving(err)
		}
	}
	i.Total = i.Size + i.Thumbnail.Size
	writable := u.writable(s.now())
	if writable {
		i.Signed = u.Signed
	}
	if err := s.store.CompleteUpload(ctx, u, i, quota, once); err != nil {
		return Item{}, err
	}
	switch { // or the sweep does
	case writable:
		_ = s.occupy(ctx, u.ItemRef)
	case !u.InParts():
		_ = s.files.Delete(ctx, u.key())
	}
	i.shown = true
	return i, nil
}

// arriving says of bytes that are not there that they have not come yet.
func arriving(err error) error {
	if fault.Is(err, fault.NotFound) {
		return ErrNotUploaded
	}
	return err
}

// arrived returns what the storage has; of parts it makes an object first.
func (s *Items) arrived(ctx context.Context, u Upload, told []Part) (Object, error) {
	if u.InParts() {
		if err := s.join(ctx, u, told); err != nil {
			return Object{}, err
		}
	}
	stat, err := s.files.Stat(ctx, u.key())
	return stat, arriving(err)
}

// join makes an object of the parts, unless somebody did before.
func (s *Items) join(ctx context.Context, u Upload, told []Part) error {
	if u.Multipart == "" {
		return ErrNotUploaded
	}
	parts, err := s.files.ListParts(ctx, u.multipart())
	if fault.Is(err, fault.NotFound) {
		return nil // there is an object, or there is nothing
	}
	if err != nil {
		return err
	}
	if len(parts) < u.Parts() {
		return ErrNotUploaded
	}
	for n, p := range parts {
		if p.Number != n+1 || p.Number > u.Parts() || p.Size != u.partBytes(p.Number) {
			return fault.Invalidf("input.itemId", "part %d is not one of the %d parts that the file was to have", p.Number, u.Parts())
		}
	}
	for _, p := range told {
		if p.Number < 1 || p.Number > len(parts) || p.ETag != "" && p.ETag != parts[p.Number-1].ETag {
			return fault.New(fault.Conflict, "part %d is not the one that was put last; list the parts", p.Number)
		}
	}
	if sum := Composite(parts); u.SHA256 != "" && sum != u.SHA256 {
		return fault.Invalidf("input.itemId", "the file is not the one that was announced: its parts have the checksum %s", sum)
	}
	err = s.files.CompleteParts(ctx, u.multipart(), parts)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) { // somebody was faster
		return nil
	}
	return err
}

// verify returns the checksum of bytes that are those that were announced.
func (s *Items) verify(ctx context.Context, u Upload, stat Object) (string, error) {
	if stat.Size != u.Size {
		return "", fault.Invalidf("input.itemId", "the file has %d bytes, and %d were announced", stat.Size, u.Size)
	}
	sum := stat.SHA256
	if sum == "" && !u.InParts() { // a storage that keeps none
		var err error
		if sum, err = s.sum(ctx, u.key()); err != nil {
			return "", err
		}
	}
	if u.SHA256 != "" && sum != u.SHA256 {
		return "", fault.Invalidf("input.itemId", "the file is not the one that was announced: its checksum is %s", sum)
	}
	return sum, nil
}

// sum reads an object and returns its SHA-256.
func (s *Items) sum(ctx context.Context, key string) (string, error) {
	r, err := s.files.Open(ctx, key, 0)
	if err != nil {
		return "", arriving(err)
	}
	defer func() { _ = r.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}

// look finds the type of the file in its bytes, and makes the thumbnail of an image, if it can be made.
func (s *Items) look(ctx context.Context, u Upload, i *Item) error {
	head, err := s.head(ctx, u.key())
	if err != nil {
		return err
	}
	if i.Type, err = typeOf(u.Type, head); err != nil {
		return err
	}
	if u.InParts() && i.Class() == "image" { // it was not said to be one
		return fault.Invalidf("input.itemId", "an image has at most %d bytes", s.single)
	}
	if !Thumbs(i.Type) {
		return nil
	}
	r, err := s.files.Open(ctx, u.key(), 0)
	if err != nil {
		return arriving(err)
	}
	defer func() { _ = r.Close() }()
	thumb, err := s.thumbs.Make(ctx, Picture{Owner: u.Owner, Type: i.Type, Size: u.Size}, r)
	if err != nil {
		return err
	}
	i.Width, i.Height = thumb.Of.X, thumb.Of.Y
	if thumb.Bytes == nil {
		return nil
	}
	i.Thumbnail = Thumbnail{Object: u.thumbnailKey(), Type: thumb.Type, Size: int64(len(thumb.Bytes)), Width: thumb.Width, Height: thumb.Height}
	_, err = s.files.Upload(ctx, i.Thumbnail.Object, thumb.Type, func(w io.Writer) error {
		_, err := w.Write(thumb.Bytes)
		return err
	})
	return err
}

// head returns the first bytes of an object.
func (s *Items) head(ctx context.Context, key string) ([]byte, error) {
	r, err := s.files.Open(ctx, key, 0)
	if err != nil {
		return nil, arriving(err)
	}
	defer func() { _ = r.Close() }()
	head, err := io.ReadAll(io.LimitReader(r, sniffed))
	return head, err
}
