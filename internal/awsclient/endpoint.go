package awsclient

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
)

// staticEndpoint answers every call with the same endpoint. The SDK evaluates its endpoint rules once per call
// although, for one region and without endpoints per account, they always give the same answer.
type staticEndpoint struct{ endpoint smithyendpoints.Endpoint }

// ResolveEndpoint returns the endpoint.
func (s staticEndpoint) ResolveEndpoint(context.Context, dynamodb.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return s.endpoint, nil
}

// resolveOnce asks the SDK's rules for the endpoint that the options describe.
func resolveOnce(ctx context.Context, o dynamodb.Options) (dynamodb.EndpointResolverV2, error) {
	endpoint, err := dynamodb.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, dynamodb.EndpointParameters{
		Region:                &o.Region,
		Endpoint:              o.BaseEndpoint,
		UseDualStack:          aws.Bool(o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled),
		UseFIPS:               aws.Bool(o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled),
		AccountIdEndpointMode: aws.String(string(o.AccountIDEndpointMode)),
	})
	return staticEndpoint{endpoint}, err
}
