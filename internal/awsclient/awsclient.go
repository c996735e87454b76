// Package awsclient sets up the clients of DynamoDB and S3, for AWS and for the embedded engines alike.
//
// It knows the SDK's options: endpoints, credentials, retries, connections and how a request's body is sent.
// It must not know tables, buckets or anything of the domain. Start reading at [DynamoDB]; the three choices
// that another engineer would question are explained at httpClient, staticEndpoint and newRetryer.
package awsclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
)

// Options says which service a client speaks to and what watches it. The zero value is AWS as the environment describes it.
type Options struct {
	Endpoint    string                                                               // base URL of the service; "" lets the SDK resolve it (AWS_ENDPOINT_URL_…, the shared configuration, the region)
	Region      string                                                               // "" lets the SDK resolve it (AWS_REGION, the shared configuration)
	Credentials Credentials                                                          // the zero value is the SDK's default chain
	Timeouts    Timeouts                                                             // zero fields take the defaults
	Middleware  []func(*middleware.Stack) error                                      // added to every operation, for telemetry
	Wrap        func(next http.RoundTripper) http.RoundTripper                       // put between the SDK and the connections, for fault injection
	Dial        func(ctx context.Context, network, address string) (net.Conn, error) // makes connections; nil for TCP
	OnDial      func()                                                               // called for each new connection; must be safe for concurrent use
	Time        Time                                                                 // is told the time that answers say it is; nil: nobody
}

// Time hears what time a service says it is, and must be safe for concurrent use. It is asked for the local time before each request.
type Time interface {
	Local() time.Time
	HeardDate(date string, asked time.Time)
}

// Credentials is a fixed pair of keys, as the embedded engines take it.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
}

// Timeouts bounds one attempt; the caller's context bounds the call with all its retries.
type Timeouts struct {
	Dial     time.Duration // until the connection stands; 3 s by default
	Response time.Duration // until the answer's header is there; 5 s by default for DynamoDB, 60 s for S3 (it answers a large copy late)
}

func (t Timeouts) orElse(dial, response time.Duration) Timeouts {
	if t.Dial == 0 {
		t.Dial = dial
	}
	if t.Response == 0 {
		t.Response = response
	}
	return t
}

// DynamoDB returns a client of DynamoDB.
//
// Its endpoint is resolved once, here. Answers are not compressed, and are checked against X-Amz-Crc32; a
// damaged one is asked for again. AWS_MAX_ATTEMPTS changes the number of attempts.
func DynamoDB(ctx context.Context, o Options) (*dynamodb.Client, error) {
	cfg, err := load(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("set up the DynamoDB client: %w", err)
	}
	o.Timeouts = o.Timeouts.orElse(3*time.Second, 5*time.Second)
	cfg.HTTPClient = newHTTPClient(o, largestDynamoDBBody)

	var failed error
	client := dynamodb.NewFromConfig(cfg, func(d *dynamodb.Options) {
		if o.Endpoint != "" {
			d.BaseEndpoint = &o.Endpoint
		}
		// An endpoint per account would have to be resolved anew with each set of credentials.
		d.AccountIDEndpointMode = aws.AccountIDEndpointModeDisabled
		d.EndpointDiscovery.EnableEndpointDiscovery = aws.EndpointDiscoveryDisabled
		d.DisableValidateResponseChecksum = true // checkedBody does it
		d.EndpointResolverV2, failed = resolveOnce(ctx, *d)
	})
	if failed != nil {
		return nil, fmt.Errorf("set up the DynamoDB client: resolve the endpoint: %w", failed)
	}
	return client, nil
}

// S3 returns a client of S3. With an endpoint it addresses buckets by path, because a bucket's name in front of a
// loopback address or a private host resolves nowhere.
//
// The endpoint depends on the bucket and stays with the SDK's rules: S3 is not on the path of a query.
func S3(ctx context.Context, o Options) (*s3.Client, error) {
	cfg, err := load(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("set up the S3 client: %w", err)
	}
	o.Timeouts = o.Timeouts.orElse(3*time.Second, 60*time.Second)
	cfg.HTTPClient = newHTTPClient(o, largestS3Body)

	return s3.NewFromConfig(cfg, func(s *s3.Options) {
		if o.Endpoint != "" {
			s.BaseEndpoint = &o.Endpoint
		}
		s.UsePathStyle = s.BaseEndpoint != nil
	}), nil
}

func load(ctx context.Context, o Options) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{config.WithRetryer(newRetryer), config.WithAPIOptions(o.Middleware)}
	if o.Region != "" {
		options = append(options, config.WithRegion(o.Region))
	}
	if o.Credentials != (Credentials{}) {
		options = append(options, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(o.Credentials.AccessKeyID, o.Credentials.SecretAccessKey, "")))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, err
	}
	if cfg.Region == "" {
		return aws.Config{}, errors.New("no region is set")
	}
	return cfg, nil
}
