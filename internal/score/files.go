package score

import (
	"context"
	"io"
	"time"
)

// Files keeps the bytes of items. All of it may fail with Unavailable besides the faults that are named. Signing asks
// nobody, and costs no request.
type Files interface {
	Signer
	Objects
	Multiparts
}

// Put is what a client may put: these bytes, there, and no others.
type Put struct {
	Key    string
	Size   int64  // bytes
	Type   string // a media type
	SHA256 string // of the bytes, in base64; see [ParseSHA256]
}

// Request is a request that a client sends to the storage by itself. All headers have to be sent as they are.
type Request struct {
	Method  string
	URL     string
	Headers map[string]string
}

// Form is a form that a browser posts to the storage by itself: the fields first, the file last, as "file".
type Form struct {
	URL    string
	Fields map[string]string
}

// Signer makes requests that clients send to the storage by themselves, until their time is up.
type Signer interface {
	// PresignUpload lets a client put the bytes where nothing is.
	PresignUpload(ctx context.Context, p Put, ttl time.Duration) (Request, error)
	// PresignForm lets a browser post the bytes. What is at the key may be replaced by the same bytes.
	PresignForm(ctx context.Context, p Put, ttl time.Duration) (Form, error)
	// PresignPart lets a client put one part of an upload in parts. Its ETag is not used.
	PresignPart(ctx context.Context, m Multipart, p Part, ttl time.Duration) (Request, error)
	// PresignGet lets a client download what is there, to be saved under the name and never shown.
	PresignGet(ctx context.Context, key, name, contentType string, ttl time.Duration) (string, error)
	// PresignInline lets a client download what is there and a browser show it.
	PresignInline(ctx context.Context, key, name, contentType string, ttl time.Duration) (string, error)
}

// Object is what the storage knows about bytes.
type Object struct {
	Size   int64
	Type   string // as it was put
	SHA256 string // in base64; of an object in parts that of its parts' checksums, see [Composite]; "" when it has none
	ETag   string // changes with the bytes
}

// Objects keeps bytes under keys.
type Objects interface {
	// Stat returns what is known about the object. NotFound when there is none.
	Stat(ctx context.Context, key string) (Object, error)
	// Open reads the object from the offset on. NotFound when there is none.
	Open(ctx context.Context, key string, offset int64) (io.ReadCloser, error)
	// Copy copies an object of at most 5 GiB that still has the ETag. NotFound when there is none; Invalid when it is another one.
	Copy(ctx context.Context, from, to, etag string) error
	// Upload keeps what write writes, all at once when it has returned nil, and returns how many bytes that is.
	Upload(ctx context.Context, key, contentType string, write func(io.Writer) error) (int64, error)
	// Delete removes an object, if there.
	Delete(ctx context.Context, key string) error
}

// Multipart names an upload in parts that is under way.
type Multipart struct {
	Key string
	ID  string // the storage's
}

// Part is a part of an upload in parts.
type Part struct {
	Number int // from 1
	Size   int64
	ETag   string
	SHA256 string // in base64
}

// Multiparts keeps bytes that come in parts.
type Multiparts interface {
	// BeginParts begins an upload in parts, each of which has its SHA-256.
	BeginParts(ctx context.Context, key, contentType string) (Multipart, error)
	// ListParts returns the parts that have come, by number. NotFound when no such upload is under way.
	ListParts(ctx context.Context, m Multipart) ([]Part, error)
	// CompleteParts makes an object of the parts, where nothing is. NotFound when no such upload is under way, Conflict when there is
	// an object.
	CompleteParts(ctx context.Context, m Multipart, parts []Part) error
	// AbortParts ends all uploads in parts that are under way at the key, and removes their parts.
	AbortParts(ctx context.Context, key string) error
}
