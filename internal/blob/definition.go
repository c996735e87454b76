package blob

import "github.com/aws/aws-sdk-go-v2/aws"

// Definition is what [Bucket.Apply] sets of a bucket, for other tools that make buckets.
type Definition struct {
	CORS      CORSDefinition                 `json:"cors"` // for the pages of TAGGIE_ALLOWED_ORIGINS, if there are any
	Lifecycle map[string]LifecycleDefinition `json:"lifecycle"`
}

// CORSDefinition is the CORS rule of a bucket, without the origins.
type CORSDefinition struct {
	ID            string   `json:"id"`
	Methods       []string `json:"methods"`
	Headers       []string `json:"headers"`
	Exposed       []string `json:"exposed"`
	MaxAgeSeconds int32    `json:"max_age_seconds"`
}

// LifecycleDefinition is a lifecycle rule for the objects with a prefix; 0 days are none.
type LifecycleDefinition struct {
	Prefix           string `json:"prefix"`
	ExpiresAfterDays int32  `json:"expires_after_days"`
	AbortsAfterDays  int32  `json:"aborts_after_days"` // uploads in parts that nobody completes
}

// Rules returns the rules of each bucket, the lifecycle rules by their ids.
func Rules() Definition {
	b := &Bucket{}
	cors := b.cors().ours[0]
	d := Definition{
		CORS: CORSDefinition{
			ID: *cors.ID, Methods: cors.AllowedMethods, Headers: cors.AllowedHeaders, Exposed: cors.ExposeHeaders, MaxAgeSeconds: *cors.MaxAgeSeconds,
		},
		Lifecycle: map[string]LifecycleDefinition{},
	}
	for _, r := range b.lifecycle().ours {
		d.Lifecycle[*r.ID] = LifecycleDefinition{Prefix: aws.ToString(r.Filter.Prefix), ExpiresAfterDays: expireAfter(r), AbortsAfterDays: abortAfter(r)}
	}
	return d
}
