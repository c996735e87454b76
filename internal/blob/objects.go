package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/taggie/taggie/internal/fault"
)

// Size returns how many bytes the object has. NotFound when it does not exist.
func (b *Bucket) Size(ctx context.Context, key string) (int64, error) {
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: &key})
	if err != nil {
		return 0, failed("look at", err)
	}
	return aws.ToInt64(out.ContentLength), nil
}

// Delete removes the object, if there.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if _, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key}); err != nil {
		return failed("delete", err)
	}
	return nil
}

// List lists the keys that have a prefix. Cost: 1 ListObjectsV2 per 1,000 of them.
func (b *Bucket) List(ctx context.Context, prefix string) ([]string, error) {
	var found []string
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, failed("list", err)
		}
		for _, o := range page.Contents {
			found = append(found, aws.ToString(o.Key))
		}
	}
	return found, nil
}

// Listed is an object as a list tells it.
type Listed struct {
	Key      string
	Size     int64 // bytes
	Modified time.Time
}

// Walk lists all objects in the order of their keys, page by page. Cost: 1 ListObjectsV2 per 1,000 of them.
func (b *Bucket) Walk(ctx context.Context, page func([]Listed) error) error {
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name})
	for pages.HasMorePages() {
		found, err := pages.NextPage(ctx)
		if err != nil {
			return failed("list", err)
		}
		all := make([]Listed, len(found.Contents))
		for i, o := range found.Contents {
			all[i] = Listed{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)}
		}
		if err := page(all); err != nil {
			return err
		}
	}
	return nil
}

// Open reads the object from the offset on; behind its end there is nothing. NotFound when it does not exist. A reader that is
// slow loses its connection sooner or later: reading goes on over another one, as long as the object is still the same.
func (b *Bucket) Open(ctx context.Context, key string, offset int64) (io.ReadCloser, error) {
	o := &object{bucket: b, ctx: ctx, key: key, offset: offset}
	if err := o.open(); err != nil {
		return nil, err
	}
	return o, nil
}

// object is an object that is being read. It keeps the context, because io.Reader has none.
type object struct {
	bucket *Bucket
	ctx    context.Context
	key    string
	offset int64 // of the next byte
	end    int64 // the size of the object
	etag   *string
	body   io.ReadCloser // nil behind the end
	broken int           // how often the connection broke without a byte in between
}

// reopens is how often in a row a connection may break before it is an error.
const reopens = 3

func (o *object) open() error {
	in := &s3.GetObjectInput{Bucket: &o.bucket.name, Key: &o.key, IfMatch: o.etag}
	if o.offset > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", o.offset))
	}
	out, err := o.bucket.client.GetObject(o.ctx, in, func(c *s3.Options) {
		c.DisableLogOutputChecksumValidationSkipped = true // a range has no checksum; that is no news
	})
	if is(err, "InvalidRange") {
		o.body = nil
		return nil
	}
	if err != nil {
		return failed("read", err)
	}
	if o.body, o.etag, o.end = out.Body, out.ETag, o.offset+aws.ToInt64(out.ContentLength); o.body == nil {
		o.body = io.NopCloser(strings.NewReader(""))
	}
	return nil
}

// Read reads on.
func (o *object) Read(p []byte) (int, error) {
	for {
		if o.body == nil {
			return 0, io.EOF
		}
		n, err := o.body.Read(p)
		o.offset += int64(n)
		if n > 0 {
			o.broken = 0
			return n, nil // an error comes again
		}
		if err == nil || errors.Is(err, io.EOF) && o.offset >= o.end || o.ctx.Err() != nil {
			return 0, err
		}
		if o.broken++; o.broken > reopens {
			return 0, failed("read", err)
		}
		_ = o.body.Close()
		if err := o.open(); err != nil {
			return 0, err
		}
	}
}

// Close ends reading.
func (o *object) Close() error {
	if o.body == nil {
		return nil
	}
	return o.body.Close()
}

// failed says what could not be done with an object: Unavailable when the storage did not answer, Internal when it refused what we
// asked, which asking again would not mend.
func failed(verb string, err error) error {
	switch {
	case is(err, "NotFound"), is(err, "NoSuchKey"), is(err, "NoSuchUpload"):
		return fault.Wrap(fault.NotFound, err, "the file does not exist")
	case is(err, "PreconditionFailed"):
		return fault.Wrap(fault.Invalid, err, "the file was replaced while it was read")
	}
	if refused(err) {
		return fault.Wrap(fault.Internal, fmt.Errorf("%s an object: %w", verb, err), "the file storage refused this")
	}
	return fault.Wrap(fault.Unavailable, fmt.Errorf("%s an object: %w", verb, err), "the file storage did not answer")
}

// refused reports whether the storage has understood what we asked, and will answer the same again.
func refused(err error) bool {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	const conditional = 409 // "conflicting conditional operation", which others cause
	if !ok || answer.HTTPStatusCode()/100 != 4 || answer.HTTPStatusCode() == conditional {
		return false
	}
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) != aws.TrueTernary
}
