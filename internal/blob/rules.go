package blob

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// The ids of our rules. A bucket may have others, which are none of our business.
const (
	corsRule     = "taggie"
	abortRule    = "taggie-abort-incomplete-uploads"
	uploadsRule  = "taggie-expire-uploads"
	importsRule  = "taggie-expire-imports"
	exportsRule  = "taggie-expire-exports"
	archivesRule = "taggie-expire-archives"
)

// rules are the CORS or the lifecycle rules of a bucket.
type rules[R any] struct {
	kind string // "CORS" or "lifecycle"
	none string // what S3 answers when there are no rules at all
	ours []R
	id   func(R) string
	same func(R, R) bool
	get  func(context.Context) ([]R, error)
	put  func(context.Context, []R) error
}

// read returns the rules of the bucket. It reports false for an engine that has no such rules.
func (r rules[R]) read(ctx context.Context) (have []R, supported bool, err error) {
	have, err = r.get(ctx)
	switch {
	case is(err, r.none):
		return nil, true, nil
	case is(err, "NotImplemented"):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read the %s rules: %w", r.kind, err)
	}
	return have, true, nil
}

// place returns the index of one of our rules, -1 when it is missing, and whether it says what it should.
func (r rules[R]) place(have []R, our R) (at int, right bool) {
	at = slices.IndexFunc(have, func(h R) bool { return r.id(h) == r.id(our) })
	if at < 0 { // an engine may keep no ids
		at = slices.IndexFunc(have, func(h R) bool { return r.id(h) == "" && r.same(h, our) })
	}
	return at, at >= 0 && r.same(have[at], our)
}

// apply adds our rules or corrects them, and leaves all others as they are.
func (r rules[R]) apply(ctx context.Context, report func(Step)) error {
	have, supported, err := r.read(ctx)
	if err != nil {
		return err
	}
	changed := false
	for _, our := range r.ours {
		at, right := r.place(have, our)
		switch {
		case right:
			continue
		case at < 0:
			have = append(have, our)
		default:
			have[at] = our
		}
		changed = true
	}
	if supported && changed {
		err = r.put(ctx, have)
		supported = !is(err, "NotImplemented")
	}
	switch {
	case !supported:
		report(Step{"this engine has no " + r.kind + " rules", true})
	case err != nil:
		return fmt.Errorf("set the %s rules: %w", r.kind, err)
	case !changed:
		report(Step{r.kind + " rules are right", true})
	default:
		report(Step{r.kind + " rules set", true})
	}
	return nil
}

// check reports whether our rules are there. A server may have no permission to look: it works without.
func (r rules[R]) check(ctx context.Context, report func(Step)) {
	have, supported, err := r.read(ctx)
	if err != nil {
		report(Step{err.Error(), false})
		return
	}
	if !supported {
		report(Step{"this engine has no " + r.kind + " rules", true})
		return
	}
	all := true
	for _, our := range r.ours {
		at, right := r.place(have, our)
		switch {
		case at < 0:
			report(Step{"lacks the " + r.kind + " rule " + r.id(our) + "; run `taggie tables apply`", false})
		case !right:
			report(Step{"has another " + r.kind + " rule " + r.id(our) + "; run `taggie tables apply`", false})
		}
		all = all && right
	}
	if all {
		report(Step{r.kind + " rules are right", true})
	}
}

// cors lets pages of our origins upload.
func (b *Bucket) cors() rules[types.CORSRule] {
	return rules[types.CORSRule]{
		kind: "CORS", none: "NoSuchCORSConfiguration",
		ours: []types.CORSRule{{
			ID:             aws.String(corsRule),
			AllowedOrigins: b.origins,
			AllowedMethods: []string{"GET", "HEAD", "PUT", "POST"},
			AllowedHeaders: []string{"*"},
			ExposeHeaders:  []string{"ETag"}, // a browser needs it to complete a multipart upload
			MaxAgeSeconds:  aws.Int32(3600),
		}},
		id: func(r types.CORSRule) string { return aws.ToString(r.ID) },
		same: func(a, b types.CORSRule) bool {
			return sameSet(a.AllowedOrigins, b.AllowedOrigins) && sameSet(a.AllowedMethods, b.AllowedMethods) &&
				sameSet(a.AllowedHeaders, b.AllowedHeaders) && sameSet(a.ExposeHeaders, b.ExposeHeaders) &&
				aws.ToInt32(a.MaxAgeSeconds) == aws.ToInt32(b.MaxAgeSeconds)
		},
		get: func(ctx context.Context) ([]types.CORSRule, error) {
			out, err := b.client.GetBucketCors(ctx, &s3.GetBucketCorsInput{Bucket: &b.name})
			if err != nil {
				return nil, err
			}
			return out.CORSRules, nil
		},
		put: func(ctx context.Context, all []types.CORSRule) error {
			_, err := b.client.PutBucketCors(ctx, &s3.PutBucketCorsInput{Bucket: &b.name, CORSConfiguration: &types.CORSConfiguration{CORSRules: all}})
			return err
		},
	}
}

// expiring is a rule that removes what has the prefix after so many days.
func expiring(id, prefix string, days int32) types.LifecycleRule {
	return types.LifecycleRule{
		ID: &id, Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: &prefix},
		Expiration: &types.LifecycleExpiration{Days: &days},
	}
}

// lifecycle ends uploads that nobody completes, and removes the files of imports and exports when they are old.
func (b *Bucket) lifecycle() rules[types.LifecycleRule] {
	var transitions types.TransitionDefaultMinimumObjectSize // a setting beside the rules, which setting them would reset
	return rules[types.LifecycleRule]{
		kind: "lifecycle", none: "NoSuchLifecycleConfiguration",
		ours: []types.LifecycleRule{
			{
				ID: aws.String(abortRule), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("")},
				AbortIncompleteMultipartUpload: &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.Int32(abandonedAfter)},
			},
			expiring(uploadsRule, uploadsPrefix, uploadsKept),
			expiring(importsRule, importsPrefix, transfersKept),
			expiring(exportsRule, exportsPrefix, transfersKept),
			expiring(archivesRule, archivesPrefix, archivesKept),
		},
		id: func(r types.LifecycleRule) string { return aws.ToString(r.ID) },
		same: func(a, b types.LifecycleRule) bool {
			return a.Status == b.Status && sameObjects(a.Filter, b.Filter) && abortAfter(a) == abortAfter(b) && expireAfter(a) == expireAfter(b)
		},
		get: func(ctx context.Context) ([]types.LifecycleRule, error) {
			out, err := b.client.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &b.name})
			if err != nil {
				return nil, err
			}
			transitions = out.TransitionDefaultMinimumObjectSize
			return out.Rules, nil
		},
		put: func(ctx context.Context, all []types.LifecycleRule) error {
			_, err := b.client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{Bucket: &b.name,
				LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: all}, TransitionDefaultMinimumObjectSize: transitions})
			return err
		},
	}
}

// sameObjects reports whether rules are about the same objects, which ours choose by a prefix only.
func sameObjects(a, b *types.LifecycleRuleFilter) bool {
	prefix := func(f *types.LifecycleRuleFilter) (string, bool) {
		if f == nil {
			return "", true
		}
		return aws.ToString(f.Prefix), f.And == nil && f.Tag == nil && f.ObjectSizeGreaterThan == nil && f.ObjectSizeLessThan == nil
	}
	as, simpleA := prefix(a)
	bs, simpleB := prefix(b)
	return simpleA && simpleB && as == bs
}

func expireAfter(r types.LifecycleRule) int32 {
	if r.Expiration == nil {
		return 0
	}
	return aws.ToInt32(r.Expiration.Days)
}

func abortAfter(r types.LifecycleRule) int32 {
	if r.AbortIncompleteMultipartUpload == nil {
		return 0
	}
	return aws.ToInt32(r.AbortIncompleteMultipartUpload.DaysAfterInitiation)
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
