package score

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"mime"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/task"
)

// The bounds of uploads. S3 takes parts of 5 MiB and more, and 10,000 of them.
const (
	MaxSingle  = 100 << 20 // bytes that are put at once; more come in parts
	PartSize   = 16 << 20  // bytes of each part but the last, which may be shorter
	MaxUploads = 1_000     // of an owner, that may still be completed, or ended and are not forgotten yet: some hours after they ended
	// UploadsEvery is after how long an owner with [MaxUploads] may ask for another one.
	UploadsEvery = time.Minute
	// MaxCompleting is how many files of an owner a server looks at together, when their uploads are completed.
	MaxCompleting = 2
)

// The times of uploads.
const (
	// URLTime is how long a client may begin to get a file, or to put a part of one, with what was signed.
	URLTime = time.Hour
	// PutTime is the same for a file that is put at once. What was signed cannot be taken back, so its bytes stay claimed for as
	// long, whatever becomes of the upload.
	PutTime = 15 * time.Minute
	// signAgain is how much of PutTime has to be left for who asks again and gets what ends when the first ends.
	signAgain = 5 * time.Minute
	// clockMargin is how much later than we think the storage may take a signature for ended.
	clockMargin = time.Minute
	// UploadTime is how long an upload may be completed. What was not is swept then.
	UploadTime = 24 * time.Hour
	// sweepAgain is how long after that, or after an end before that, it is swept once more: what was under way then has arrived.
	sweepAgain = 2 * time.Hour
)

// UploadState is where an upload stands.
type UploadState string

// The states. Of an upload that was completed nothing is told any more: its item is.
const (
	UploadOpen   UploadState = "open"
	UploadClosed UploadState = "closed" // its bytes are being removed
	UploadDone   UploadState = "done"   // its item is there, and what was signed could still put its bytes once more
)

// Upload is a file that a client was allowed to put into the storage, and an item when it is completed. It has the id of that
// item.
type Upload struct {
	ItemRef
	Name      string
	SetName   string
	Type      string // as the client has it
	Size      int64
	SHA256    string // in base64; of what comes in parts see [Composite], or ""
	PartSize  int64  // bytes of each part but the last; 0 for a file that is put at once
	Multipart string // the storage's id of an upload in parts; "" before it has begun, and for what is put at once
	State     UploadState
	CreatedAt time.Time
	ExpiresAt time.Time // after which it cannot be completed; of one that is closed, when it was
	Signed    time.Time // until when its file can be put with what was signed; zero for a file in parts
	Claim     int64     // bytes of one that is closed that still count, since they may still be put
}

// writable reports whether somebody may still put the file with what was signed. Parts are no file until we join them.
func (u Upload) writable(now time.Time) bool { return writable(u.Signed, now) }

// writable reports whether somebody may still put the item's file once more, where it was put.
func (i Item) writable(now time.Time) bool { return writable(i.Signed, now) }

func writable(until, now time.Time) bool { return now.Before(until.Add(clockMargin)) }

// forgotten returns when nothing that was under way at the end of the upload can arrive any more.
func (u Upload) forgotten() time.Time {
	end := u.ExpiresAt
	if u.State == UploadDone || end.Before(u.Signed) {
		end = u.Signed
	}
	return end.Add(sweepAgain)
}

// InParts reports whether the file comes in parts.
func (u Upload) InParts() bool { return u.PartSize > 0 }

// Parts returns how many parts the file comes in; 1 when it is put at once.
func (u Upload) Parts() int {
	if !u.InParts() {
		return 1
	}
	return int((u.Size + u.PartSize - 1) / u.PartSize)
}

// partBytes returns how many bytes a part has, from 1 on.
func (u Upload) partBytes(number int) int64 {
	if number == u.Parts() {
		return u.Size - int64(number-1)*u.PartSize
	}
	return u.PartSize
}

// key is where the client puts the file. Parts become an object when the server completes them, so they need not be copied.
func (u Upload) key() string {
	if u.InParts() {
		return u.objectKey()
	}
	return u.uploadKey()
}

func (u Upload) multipart() Multipart { return Multipart{Key: u.key(), ID: u.Multipart} }

// Ticket lets a client upload a file by itself. A file of up to [MaxSingle] bytes is put or posted at once, a larger one in
// parts that are signed one by one: [Items.SignPart].
type Ticket struct {
	Upload
	Put  Request // zero for an upload in parts
	Form Form    // the same for a browser's form
}

// SweepItem is the kind of the tasks that remove bytes that belong to no item.
const SweepItem task.Kind = "item-sweep"

// sweepTask returns the task that removes what belongs to no item of the id.
func sweepTask(ref ItemRef, due time.Time) task.Task {
	return task.Task{Kind: SweepItem, ID: string(ref.ID), Scope: string(ref.Owner) + "/" + string(ref.Score), Due: due}
}

// swept returns the item that a task is about.
func swept(t task.Task) ItemRef {
	owner, score, _ := strings.Cut(t.Scope, "/")
	return ItemRef{Owner: UserID(owner), Score: ID(score), ID: ItemID(t.ID)}
}

// ParseSHA256 reads the SHA-256 of bytes as S3 spells it: 44 characters of base64.
func ParseSHA256(field, sum string) (string, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(sum)
	if err != nil || len(raw) != sha256.Size || strings.ContainsAny(sum, "\r\n") {
		return "", fault.Invalidf(field, "give the SHA-256 of the bytes in Base64, which has 44 characters")
	}
	return sum, nil
}

// Composite returns the checksum of a file that came in parts, as S3 keeps it: the SHA-256 of the SHA-256 of each part one
// after another, in base64, and the number of parts behind a hyphen. Parts whose checksum cannot be read count as none.
func Composite(parts []Part) string {
	all := sha256.New()
	for _, p := range parts {
		raw, _ := base64.StdEncoding.DecodeString(p.SHA256) // the storage's own spelling
		_, _ = all.Write(raw)                               // never fails
	}
	return fmt.Sprintf("%s-%d", base64.StdEncoding.EncodeToString(all.Sum(nil)), len(parts))
}

// parseComposite reads a checksum with or without the number of parts.
func parseComposite(field, sum string, parts int) (string, error) {
	if sum == "" {
		return "", nil
	}
	sum, err := ParseSHA256(field, strings.TrimSuffix(sum, fmt.Sprintf("-%d", parts)))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s-%d", sum, parts), nil
}

// parseType reads a media type, and leaves its parameters out.
func parseType(text string) (string, error) {
	mediaType, _, err := mime.ParseMediaType(text)
	if err != nil || !strings.Contains(mediaType, "/") || len(mediaType) > MaxType {
		return "", fault.Invalidf("input.type", "this is not a media type such as image/png")
	}
	return mediaType, nil
}
