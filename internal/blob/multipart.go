package blob

import (
	"context"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

// Stat returns size, type and checksum of the object. NotFound when it does not exist. Cost: 1 HeadObject.
func (b *Bucket) Stat(ctx context.Context, key string) (score.Object, error) {
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return score.Object{}, failed("look at", err)
	}
	return score.Object{
		Size: aws.ToInt64(out.ContentLength), Type: aws.ToString(out.ContentType), SHA256: aws.ToString(out.ChecksumSHA256), ETag: aws.ToString(out.ETag),
	}, nil
}

// Copy copies an object of at most 5 GiB, with its type, if it still has the ETag. NotFound when it does not exist, Invalid when
// it is another one. Cost: 1 CopyObject.
func (b *Bucket) Copy(ctx context.Context, from, to, etag string) error {
	_, err := b.client.CopyObject(ctx, &s3.CopyObjectInput{
		Bucket: &b.name, Key: &to, CopySource: aws.String(url.PathEscape(b.name + "/" + from)), CopySourceIfMatch: &etag,
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
	})
	if err != nil {
		return failed("copy", err)
	}
	return nil
}

// BeginParts begins an upload in parts, each of which has to come with its SHA-256. Cost: 1 CreateMultipartUpload.
func (b *Bucket) BeginParts(ctx context.Context, key, contentType string) (score.Multipart, error) {
	out, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &b.name, Key: &key, ContentType: &contentType, ChecksumAlgorithm: types.ChecksumAlgorithmSha256, ChecksumType: types.ChecksumTypeComposite,
	})
	if err != nil {
		return score.Multipart{}, failed("begin to upload", err)
	}
	return score.Multipart{Key: key, ID: aws.ToString(out.UploadId)}, nil
}

// ListParts returns the parts that have come, by number. NotFound when no such upload is under way. Cost: 1 ListParts per
// started 1,000 parts.
func (b *Bucket) ListParts(ctx context.Context, m score.Multipart) ([]score.Part, error) {
	var parts []score.Part
	pages := s3.NewListPartsPaginator(b.client, &s3.ListPartsInput{Bucket: &b.name, Key: &m.Key, UploadId: &m.ID})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, failed("list the parts of", err)
		}
		for _, p := range out.Parts {
			parts = append(parts, score.Part{
				Number: int(aws.ToInt32(p.PartNumber)), Size: aws.ToInt64(p.Size), ETag: aws.ToString(p.ETag), SHA256: aws.ToString(p.ChecksumSHA256),
			})
		}
	}
	return parts, nil
}

// CompleteParts makes an object of the parts, which have to be those that came, where nothing is. NotFound when no such upload
// is under way, Conflict when something is there. Cost: 1 CompleteMultipartUpload.
func (b *Bucket) CompleteParts(ctx context.Context, m score.Multipart, parts []score.Part) error {
	completed := make([]types.CompletedPart, len(parts))
	for i, p := range parts {
		completed[i] = types.CompletedPart{PartNumber: aws.Int32(int32(p.Number)), ETag: &p.ETag, ChecksumSHA256: &p.SHA256}
	}
	_, err := b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &b.name, Key: &m.Key, UploadId: &m.ID, IfNoneMatch: aws.String(anything), MultipartUpload: &types.CompletedMultipartUpload{Parts: completed},
	})
	if is(err, "PreconditionFailed") {
		return fault.Wrap(fault.Conflict, err, "there is a file already")
	}
	if err != nil {
		return failed("complete", err)
	}
	return nil
}

// AbortParts ends all uploads in parts that are under way at the key, also those whose id nobody kept, and removes their parts.
// Cost: 1 ListMultipartUploads per started 1,000 uploads whose key begins so, and 1 AbortMultipartUpload for each of the key.
func (b *Bucket) AbortParts(ctx context.Context, key string) error {
	pages := s3.NewListMultipartUploadsPaginator(b.client, &s3.ListMultipartUploadsInput{Bucket: &b.name, Prefix: &key})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return failed("list the uploads of", err)
		}
		for _, u := range out.Uploads {
			if aws.ToString(u.Key) != key {
				continue
			}
			_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: &key, UploadId: u.UploadId})
			if err != nil && !is(err, "NoSuchUpload") {
				return failed("abort", err)
			}
		}
	}
	return nil
}
