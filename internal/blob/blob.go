// Package blob keeps bytes in S3.
//
// It knows the bucket and how it is set up. It must not know DynamoDB or the
// graph. Start reading at [Bucket].
package blob

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// Bucket is the one bucket of a server.
type Bucket struct {
	client  *s3.Client
	name    string
	region  string
	origins []string
}

// NewBucket returns the bucket of the given name. Pages of the given origins may upload to it.
func NewBucket(client *s3.Client, name, region string, origins []string) *Bucket {
	return &Bucket{client: client, name: name, region: region, origins: origins}
}

// Step is something that [Bucket.Apply] did or [Bucket.Check] found.
type Step struct {
	Text string
	OK   bool // false: something is missing
}

// abandonedAfter is how many days the parts of an upload that was never completed are kept.
const abandonedAfter = 7

// Apply creates the bucket if it is missing and sets its CORS and lifecycle rules. It can be run again.
func (b *Bucket) Apply(ctx context.Context, report func(Step)) error {
	in := &s3.CreateBucketInput{Bucket: &b.name}
	if b.region != "us-east-1" { // the one region that must not be named
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(b.region)}
	}
	switch _, err := b.client.CreateBucket(ctx, in); {
	case err == nil:
		report(Step{"created", true})
	case is(err, "BucketAlreadyOwnedByYou"):
		report(Step{"exists", true})
	default:
		return fmt.Errorf("create bucket %s: %w", b.name, err)
	}
	if len(b.origins) > 0 {
		_, err := b.client.PutBucketCors(ctx, &s3.PutBucketCorsInput{Bucket: &b.name, CORSConfiguration: &types.CORSConfiguration{CORSRules: []types.CORSRule{{
			AllowedOrigins: b.origins,
			AllowedMethods: []string{"GET", "HEAD", "PUT", "POST"},
			AllowedHeaders: []string{"*"},
			ExposeHeaders:  []string{"ETag"}, // a browser needs it to complete a multipart upload
			MaxAgeSeconds:  aws.Int32(3600),
		}}}})
		if err != nil {
			return fmt.Errorf("set the CORS rules of bucket %s: %w", b.name, err)
		}
		report(Step{"CORS rules set", true})
	}
	_, err := b.client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{Bucket: &b.name,
		LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
			ID: aws.String("abort-incomplete-uploads"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("")},
			AbortIncompleteMultipartUpload: &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.Int32(abandonedAfter)},
		}}}})
	switch {
	case err == nil:
		report(Step{"lifecycle rules set", true})
	case is(err, "NotImplemented"):
		report(Step{"this engine has no lifecycle rules", true})
	default:
		return fmt.Errorf("set the lifecycle rules of bucket %s: %w", b.name, err)
	}
	return nil
}

// Check reports whether the bucket is as [Bucket.Apply] would make it, and changes nothing.
func (b *Bucket) Check(ctx context.Context, report func(Step)) error {
	_, err := b.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.name})
	if is(err, "NotFound") || is(err, "NoSuchBucket") {
		report(Step{"does not exist; run `taggie tables apply`", false})
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at bucket %s: %w", b.name, err)
	}
	report(Step{"exists", true})
	switch _, err := b.client.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &b.name}); {
	case is(err, "NotImplemented"):
		report(Step{"this engine has no lifecycle rules", true})
	case err != nil:
		report(Step{"has no lifecycle rules; run `taggie tables apply`", false})
	default:
		report(Step{"has lifecycle rules", true})
	}
	if len(b.origins) == 0 {
		return nil
	}
	if _, err := b.client.GetBucketCors(ctx, &s3.GetBucketCorsInput{Bucket: &b.name}); err != nil {
		report(Step{"has no CORS rules; run `taggie tables apply`", false})
		return nil
	}
	report(Step{"has CORS rules", true})
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
