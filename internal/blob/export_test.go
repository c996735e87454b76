package blob

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// SignedBefore returns the bucket whose requests were signed so long ago.
func (b *Bucket) SignedBefore(ago time.Duration) *Bucket {
	with := *b
	with.signer = s3.NewPresignClient(b.client, func(o *s3.PresignOptions) {
		o.Presigner = backdated{v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }), ago}
	})
	return &with
}

type backdated struct {
	*v4.Signer
	ago time.Duration
}

func (b backdated) PresignHTTP(ctx context.Context, credentials aws.Credentials, r *http.Request, payloadHash, service, region string, at time.Time, options ...func(*v4.SignerOptions)) (string, http.Header, error) {
	return b.Signer.PresignHTTP(ctx, credentials, r, payloadHash, service, region, at.Add(-b.ago), options...)
}
