// Package blob keeps bytes in S3.
//
// It knows the bucket, how it is set up, and how objects get in and out of it. It must not know DynamoDB or the
// graph. Start reading at [Bucket]; objects are in objects.go, uploads in upload.go.
package blob

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// Bucket is the one bucket of a server.
type Bucket struct {
	client  *s3.Client
	signer  *s3.PresignClient
	name    string
	region  string
	origins []string
}

// NewBucket returns the bucket of the given name. Pages of the given origins may upload to it.
func NewBucket(client *s3.Client, name, region string, origins []string) *Bucket {
	return &Bucket{client: client, signer: s3.NewPresignClient(client), name: name, region: region, origins: origins}
}

// Step is something that [Bucket.Apply] did or [Bucket.Check] found.
type Step struct {
	Text string
	OK   bool // false: something is missing
}

// abandonedAfter is how many days the parts of an upload that was never completed are kept.
const abandonedAfter = 7

// transfersKept is how many days the files of imports and exports are kept.
const transfersKept = 30

// uploadsKept is how many days what clients uploaded is kept where they put it. What becomes an item is copied from there, and
// the sweep removes the rest within two days: this is for what comes after the sweep.
const uploadsKept = 7

// archivesKept is how many days the archives of users are kept.
const archivesKept = 7

// The prefixes of what expires; the domain spells the keys.
const (
	uploadsPrefix  = "uploads/"
	importsPrefix  = "imports/"
	exportsPrefix  = "exports/"
	archivesPrefix = "archives/"
)

// Apply creates the bucket if it is missing and adds its CORS and lifecycle rules to those that are there. It can be run
// again.
func (b *Bucket) Apply(ctx context.Context, report func(Step)) error {
	there, err := b.exists(ctx)
	if err != nil {
		return err
	}
	text := "exists"
	if !there {
		if text, err = b.create(ctx); err != nil {
			return err
		}
	}
	report(Step{text, true})
	if len(b.origins) > 0 {
		if err := b.cors().apply(ctx, report); err != nil {
			return fmt.Errorf("bucket %s: %w", b.name, err)
		}
	}
	if err := b.lifecycle().apply(ctx, report); err != nil {
		return fmt.Errorf("bucket %s: %w", b.name, err)
	}
	return nil
}

// exists asks first, because in one region creating a bucket of one's own succeeds also when it is there.
func (b *Bucket) exists(ctx context.Context) (bool, error) {
	_, err := b.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.name})
	if is(err, "NotFound") || is(err, "NoSuchBucket") {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at bucket %s: %w", b.name, err)
	}
	return true, nil
}

// create makes the bucket and says what happened: another server may have been faster.
func (b *Bucket) create(ctx context.Context) (string, error) {
	in := &s3.CreateBucketInput{Bucket: &b.name}
	if b.region != "us-east-1" { // the one region that must not be named
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(b.region)}
	}
	switch _, err := b.client.CreateBucket(ctx, in); {
	case err == nil:
		return "created", nil
	case is(err, "BucketAlreadyOwnedByYou"):
		return "exists", nil
	default:
		return "", fmt.Errorf("create bucket %s: %w", b.name, err)
	}
}

// Check reports whether the bucket is as [Bucket.Apply] would make it, and changes nothing.
func (b *Bucket) Check(ctx context.Context, report func(Step)) error {
	there, err := b.exists(ctx)
	if err != nil {
		return err
	}
	if !there {
		report(Step{"does not exist; run `taggie tables apply`", false})
		return nil
	}
	report(Step{"exists", true})
	if len(b.origins) > 0 {
		b.cors().check(ctx, report)
	}
	b.lifecycle().check(ctx, report)
	return nil
}

// Ready returns nil when the bucket can be reached.
func (b *Bucket) Ready(ctx context.Context) error {
	_, err := b.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.name})
	if err != nil {
		return fmt.Errorf("look at bucket %s: %w", b.name, err)
	}
	return nil
}

// Name returns the name of the bucket.
func (b *Bucket) Name() string { return b.name }

func is(err error, code string) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorCode() == code
}
