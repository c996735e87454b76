package blob

import (
	"context"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/taggie/taggie/internal/score"
)

var _ score.Files = (*Bucket)(nil)

// What S3 calls the SHA-256 of what is put, and the condition that nothing is there.
const (
	checksumHeader = "x-amz-checksum-sha256"
	anything       = "*"
)

// unsummed keeps the SDK from signing a checksum of the body, which only the client has.
func unsummed(o *s3.PresignOptions) {
	o.ClientOptions = append(o.ClientOptions, func(c *s3.Options) {
		c.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	})
}

// signed returns the request with the headers that have to come with it.
func signed(r *v4.PresignedHTTPRequest) score.Request {
	headers := map[string]string{}
	for name, values := range r.SignedHeader {
		if name != "Host" { // every client sends that by itself
			headers[name] = strings.Join(values, ",")
		}
	}
	return score.Request{Method: r.Method, URL: r.URL, Headers: headers}
}

// PresignPut returns a URL to which exactly so many bytes of that type can be put until the time is up, once, and the
// headers that have to come with them. Without a signed length a client could put any amount there.
func (b *Bucket) PresignPut(ctx context.Context, key string, size int64, contentType string, ttl time.Duration) (url string, headers map[string]string, err error) {
	r, err := b.PresignUpload(ctx, score.Put{Key: key, Size: size, Type: contentType}, ttl)
	return r.URL, r.Headers, err
}

// PresignUpload returns the request with which exactly these bytes can be put until the time is up, where nothing is: their
// length, type and SHA-256 are signed, and what is being read must not be replaced. The SHA-256 may be "".
func (b *Bucket) PresignUpload(ctx context.Context, p score.Put, ttl time.Duration) (score.Request, error) {
	in := &s3.PutObjectInput{Bucket: &b.name, Key: &p.Key, ContentLength: &p.Size, ContentType: &p.Type, IfNoneMatch: aws.String(anything)}
	if p.SHA256 != "" {
		in.ChecksumSHA256 = &p.SHA256 // the value: with the algorithm only, any bytes would do
	}
	request, err := b.signer.PresignPutObject(ctx, in, s3.WithPresignExpires(ttl), unsummed)
	if err != nil {
		return score.Request{}, fmt.Errorf("presign an upload: %w", err)
	}
	return signed(request), nil
}

// PresignForm returns a form with which a browser can post exactly these bytes until the time is up. A policy has no condition
// that nothing is there: whoever has the form can post the same bytes again.
func (b *Bucket) PresignForm(ctx context.Context, p score.Put, ttl time.Duration) (score.Form, error) {
	fields := map[string]string{"Content-Type": p.Type, checksumHeader: p.SHA256, "x-amz-checksum-algorithm": "SHA256"}
	// PresignPostObject takes nothing but bucket and key from its input.
	request, err := b.signer.PresignPostObject(ctx, &s3.PutObjectInput{Bucket: &b.name, Key: &p.Key}, func(o *s3.PresignPostOptions) {
		o.Expires = ttl
		o.Conditions = []any{[]any{"content-length-range", p.Size, p.Size}}
		for name, value := range fields {
			o.Conditions = append(o.Conditions, map[string]string{name: value})
		}
	})
	if err != nil {
		return score.Form{}, fmt.Errorf("presign a form: %w", err)
	}
	for name, value := range request.Values {
		fields[name] = value
	}
	return score.Form{URL: request.URL, Fields: fields}, nil
}

// PresignPart returns the request with which exactly the bytes of one part can be put until the time is up: length and SHA-256
// are signed. A part that comes again replaces the one before.
func (b *Bucket) PresignPart(ctx context.Context, m score.Multipart, p score.Part, ttl time.Duration) (score.Request, error) {
	request, err := b.signer.PresignUploadPart(ctx, &s3.UploadPartInput{
		Bucket: &b.name, Key: &m.Key, UploadId: &m.ID, PartNumber: aws.Int32(int32(p.Number)), ContentLength: &p.Size, ChecksumSHA256: &p.SHA256,
	}, s3.WithPresignExpires(ttl), unsummed)
	if err != nil {
		return score.Request{}, fmt.Errorf("presign a part: %w", err)
	}
	return signed(request), nil
}

// Origin returns where what is presigned is found: scheme and host, as a Content-Security-Policy names them. It asks nobody:
// any credentials do, for the signature is thrown away.
func (b *Bucket) Origin(ctx context.Context) (string, error) {
	anybody := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "anybody", SecretAccessKey: "anything"}, nil
	})
	unsigned := func(o *s3.PresignOptions) {
		o.ClientOptions = append(o.ClientOptions, func(c *s3.Options) { c.Credentials = anybody })
	}
	r, err := b.signer.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: aws.String("any")}, unsigned)
	if err != nil {
		return "", fmt.Errorf("find the origin of the bucket: %w", err)
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return "", fmt.Errorf("find the origin of the bucket: %w", err)
	}
	return u.Scheme + "://" + u.Host, nil
}

// PresignGet returns a URL from which the object can be downloaded until the time is up. A browser saves it under the name
// and never shows it.
func (b *Bucket) PresignGet(ctx context.Context, key, filename, contentType string, ttl time.Duration) (string, error) {
	return b.presignGet(ctx, key, "attachment", filename, contentType, ttl)
}

// PresignInline returns a URL from which the object can be downloaded until the time is up, and which a browser shows. It is for
// types only that nothing can be executed in.
func (b *Bucket) PresignInline(ctx context.Context, key, filename, contentType string, ttl time.Duration) (string, error) {
	return b.presignGet(ctx, key, "inline", filename, contentType, ttl)
}

// presignGet spells the name as RFC 5987 has it where it is not plain ASCII.
func (b *Bucket) presignGet(ctx context.Context, key, disposition, filename, contentType string, ttl time.Duration) (string, error) {
	request, err := b.signer.PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket: &b.name, Key: &key, ResponseContentType: &contentType,
		ResponseContentDisposition: aws.String(mime.FormatMediaType(disposition, map[string]string{"filename": filename})),
	}, s3.WithPresignExpires(ttl))
	if err != nil {
		return "", fmt.Errorf("presign a download: %w", err)
	}
	return request.URL, nil
}
