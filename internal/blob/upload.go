package blob

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// partSize is what is kept in memory of an upload. S3 takes parts of 5 MiB and more, and 10,000 of them.
const partSize = 8 << 20

// abortTimeout bounds the removal of an upload that failed.
const abortTimeout = 10 * time.Second

// Upload puts what write writes under the key, and returns how many bytes that is. The object appears when write has
// returned nil, all at once; after an error nothing is left of it, and what was there before stays.
func (b *Bucket) Upload(ctx context.Context, key, contentType string, write func(io.Writer) error) (int64, error) {
	u := &upload{bucket: b, ctx: ctx, key: key, contentType: contentType}
	completed := false
	defer func() {
		if !completed { // also when write panics
			u.abort()
		}
	}()
	if err := write(u); err != nil {
		return 0, err
	}
	if err := u.complete(); err != nil {
		return 0, err
	}
	completed = true
	return u.size, nil
}

// abort removes the parts that were sent, also when the context has ended. What it leaves behind, the rules of the bucket remove.
func (u *upload) abort() {
	if u.id == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), abortTimeout)
	defer cancel()
	_, _ = u.bucket.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.bucket.name, Key: &u.key, UploadId: u.id})
}

// upload is an upload under way: of one request when everything fits into a part, otherwise of parts. It keeps the context,
// because io.Writer has none.
type upload struct {
	bucket      *Bucket
	ctx         context.Context
	key         string
	contentType string
	part        []byte
	id          *string // nil before the first part
	parts       []types.CompletedPart
	size        int64
}

// Write keeps p, and sends what makes a full part.
func (u *upload) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		if len(u.part) == partSize {
			if err := u.send(); err != nil {
				return written - len(p), err
			}
		}
		n := min(len(p), partSize-len(u.part))
		u.part, p = append(u.part, p[:n]...), p[n:]
		u.size += int64(n)
	}
	return written, nil
}

// send sends the part that is in memory.
func (u *upload) send() error {
	if u.id == nil {
		out, err := u.bucket.client.CreateMultipartUpload(u.ctx, &s3.CreateMultipartUploadInput{
			Bucket: &u.bucket.name, Key: &u.key, ContentType: &u.contentType, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
		})
		if err != nil {
			return failed("begin to upload", err)
		}
		u.id = out.UploadId
	}
	number := aws.Int32(int32(len(u.parts) + 1))
	out, err := u.bucket.client.UploadPart(u.ctx, &s3.UploadPartInput{
		Bucket: &u.bucket.name, Key: &u.key, UploadId: u.id, PartNumber: number, Body: bytes.NewReader(u.part),
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
	})
	if err != nil {
		return failed("upload a part of", err)
	}
	u.parts = append(u.parts, types.CompletedPart{PartNumber: number, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32})
	u.part = u.part[:0]
	return nil
}

// complete makes the object appear.
func (u *upload) complete() error {
	if u.id == nil {
		_, err := u.bucket.client.PutObject(u.ctx, &s3.PutObjectInput{
			Bucket: &u.bucket.name, Key: &u.key, ContentType: &u.contentType, Body: bytes.NewReader(u.part),
		})
		if err != nil {
			return failed("upload", err)
		}
		return nil
	}
	if err := u.send(); err != nil {
		return err
	}
	_, err := u.bucket.client.CompleteMultipartUpload(u.ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &u.bucket.name, Key: &u.key, UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	})
	if err != nil {
		return failed("complete", err)
	}
	return nil
}
