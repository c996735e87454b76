// Package config reads Taggie's settings from the environment, once, and says
// everything that is wrong with them at once.
//
// It knows names, defaults, forms and which settings need one another. It must
// not know the domain, nor open a connection: engines are described here and
// reached elsewhere. Start reading at [Config] and [Load].
//
// What is set is used and what is not set is embedded, each store for itself:
// see [Config.EmbeddedDynamoDB], [Config.EmbeddedS3] and [Config.EmbeddedRedis].
// A variable that is set to the empty string counts as not set.
package config

import (
	"log/slog"
	"net/netip"
	"time"
)

// Config holds every setting; the tags are the source of the table in docs/configuration.md (see [Variables]).
type Config struct {
	Addr             string         `env:"TAGGIE_ADDR" envDefault:"127.0.0.1:8080" desc:"Address to listen on, as host:port. Only a loopback address is accepted while no issuer and no key is configured."`
	Data             string         `env:"TAGGIE_DATA" envDefault:"./data" desc:"Directory of the embedded stores and of the generated secret."`
	OIDCIssuer       string         `env:"TAGGIE_OIDC_ISSUER" desc:"OpenID Connect issuer whose tokens are accepted, spelled exactly as in their iss claim. Without it and without TAGGIE_JWT_KEY the server issues its own tokens."`
	OIDCAudience     []string       `env:"TAGGIE_OIDC_AUDIENCE" desc:"Accepted audiences, separated by commas; a token must name one of them. Required with TAGGIE_OIDC_ISSUER."`
	JWTKey           JWTKey         `env:"TAGGIE_JWT_KEY" desc:"One verification key instead of the issuer's published ones: a PEM public key (RSA, ECDSA, Ed25519), optionally after an algorithm as in PS256:, or HS256: and a base64 secret; @path reads it from a file. TAGGIE_OIDC_ISSUER and TAGGIE_OIDC_AUDIENCE, if set, are still demanded of each token."`
	Secrets          []Secret       `env:"TAGGIE_SECRET" desc:"Signs cursors; current or current,previous, each of at least 32 characters and used as it is written. All servers share it; required when DynamoDB is not embedded, otherwise generated and kept in TAGGIE_DATA."`
	AllowedOrigins   []string       `env:"TAGGIE_ALLOWED_ORIGINS" desc:"Origins of web pages that may call the server besides its own, separated by commas, compared exactly."`
	TrustedDocuments string         `env:"TAGGIE_TRUSTED_DOCUMENTS" desc:"Path of a manifest of the documents that clients' builds know: Apollo's persisted query manifest, or the JSON object that relay-compiler and GraphQL Code Generator write. Read at the start; requests may name its documents by id."`
	TrustedMode      string         `env:"TAGGIE_TRUSTED_DOCUMENTS_MODE" envDefault:"off" desc:"What becomes of documents that are not in the manifest: off carries them out, log carries them out and logs their SHA-256, enforce refuses them, those of GraphiQL and of taggie demo too. The board's own are trusted always."`
	TrustedProxies   []netip.Prefix `env:"TAGGIE_TRUSTED_PROXIES" expect:"expected networks separated by commas, such as 10.0.0.0/8,fd00::/8" desc:"Networks of the proxies in front of the server, separated by commas, such as 10.0.0.0/8. Only what they say in X-Forwarded-For, or else in Forwarded, is believed of where a request comes from; callers without a token are told apart by that."`
	PictureOrigins   []string       `env:"TAGGIE_PICTURE_ORIGINS" desc:"Origins from which the board may show pictures of items, besides the bucket's, separated by commas. Of other items it shows a link."`
	LogLevel         slog.Level     `env:"TAGGIE_LOG_LEVEL" envDefault:"info" expect:"expected debug, info, warn or error" desc:"debug, info, warn or error."`
	LogFormat        string         `env:"TAGGIE_LOG_FORMAT" envDefault:"text" desc:"text or json."`
	MetricsAddr      string         `env:"TAGGIE_METRICS_ADDR" desc:"Address of a second listener, as host:port, with /metrics and profiles, and with /healthz and /readyz, which stay at TAGGIE_ADDR too; /metrics does not. Empty means /metrics is at TAGGIE_ADDR. Whoever reaches the address reads profiles: keep it to a private network. Only a loopback address is accepted while no issuer and no key is configured."`
	Pprof            string         `env:"TAGGIE_PPROF" desc:"Loopback address of a second listener with profiles; empty means none."`

	OperationTimeout  time.Duration `env:"TAGGIE_OPERATION_TIMEOUT" envDefault:"10s" expect:"expected a duration such as 10s" desc:"Deadline of a query or mutation, at most 30s."`
	DrainDelay        time.Duration `env:"TAGGIE_DRAIN_DELAY" envDefault:"0s" expect:"expected a duration such as 5s" desc:"How long the server, told to end, goes on accepting requests while /readyz already says 503: what the load balancer needs to notice, at most 5m."`
	StreamPatience    time.Duration `env:"TAGGIE_STREAM_PATIENCE" envDefault:"30s" expect:"expected a duration such as 30s" desc:"How long subscriptions to projects and to who is online wait for a Redis that is away, at most 10m. Then their sockets are closed with 1013, and event streams end without complete, so that clients begin them again, perhaps at another server."`
	DynamoConcurrency int           `env:"TAGGIE_DYNAMO_CONCURRENCY" envDefault:"16" expect:"expected a whole number from 1 to 256" desc:"DynamoDB calls that one batch, or one group of queries, may have under way at a time, 1 to 256."`
	DynamoSDKReads    bool          `env:"TAGGIE_DYNAMO_SDK_READS" envDefault:"false" expect:"expected true or false" desc:"Whether reads from DynamoDB go through all of the AWS SDK. By default the first attempt takes a shorter path with the same signature, which needs less CPU; the SDK makes the others."`

	CostBudget     int  `env:"TAGGIE_COST_BUDGET" envDefault:"1000000" expect:"expected a whole number from 350000, or 0 for no budget" desc:"What the operations of one caller may cost at once, on all servers together, at least 350000; 0 for no budget. docs/limits.md says what costs how much."`
	CostRate       int  `env:"TAGGIE_COST_RATE" envDefault:"100000" expect:"expected a whole number from 1 to 1000000" desc:"How much of the budget of a caller comes back each second, 1 to 1000000."`
	UserOperations int  `env:"TAGGIE_USER_OPERATIONS" envDefault:"32" expect:"expected a whole number from 1 to 1000" desc:"Operations of one caller that one server carries out at a time, 1 to 1000; 64 times as many wait for their turn."`
	Introspection  bool `env:"TAGGIE_INTROSPECTION" envDefault:"true" expect:"expected true or false" desc:"Whether the server tells its schema to whoever asks."`
	Suggestions    bool `env:"TAGGIE_SUGGESTIONS" envDefault:"true" expect:"expected true or false" desc:"Whether errors say which name of the schema the client may have meant."`

	ItemQuota int64 `env:"TAGGIE_ITEM_QUOTA" envDefault:"10737418240" expect:"expected a whole number of bytes above 0" desc:"Bytes that the items of one user, their thumbnails and uploads under way may take up, unless an administrator said otherwise."`

	Allowances map[string]int `env:"TAGGIE_ALLOWANCES" envKeyValSeparator:"=" expect:"expected names and whole numbers such as notes=200000,shares=50000" desc:"Other numbers than those of docs/limits.md for what is counted in the background: notes, shares and keys of a user, entities and relations of a scope, items of a project, tags of a user on items; such as notes=200000,shares=50000. The names are notes, shares, keys, entities, relations, items and tags."`

	TagShards int `env:"TAGGIE_TAG_SHARDS" envDefault:"1" expect:"expected a whole number from 1 to 64" desc:"Partitions over which tags that everybody may see are spread, 1 to 64, for searches and counts of values; a search asks all of them. How many tags a set has is one row, whatever this is. A greater number than before spreads what is there anew in the background; a smaller one changes nothing."`

	DynamoDB       string `env:"TAGGIE_DYNAMODB" desc:"aws uses DynamoDB in AWS_REGION, embedded the one beside the server. Empty means embedded unless AWS_ENDPOINT_URL_DYNAMODB is set."`
	TablePrefix    string `env:"TAGGIE_TABLE_PREFIX" envDefault:"taggie_" desc:"Prefix of all DynamoDB table names."`
	S3Bucket       string `env:"TAGGIE_S3_BUCKET" desc:"Bucket of the cloud's S3; empty means the embedded one."`
	Redis          Redis  `env:"TAGGIE_REDIS_URL" desc:"redis://[user:password@]host[:6379][/database], redis+sentinel://[user:password@]host1[:26379],host2/master[/database] or redis+cluster://[user:password@]host1[:6379],host2; rediss in place of redis means TLS. Empty means the embedded one."`
	EngineDynamoDB string `env:"TAGGIE_ENGINE_DYNAMODB" desc:"Path of the embedded DynamoDB's program; empty means it is searched for."`
	EngineS3       string `env:"TAGGIE_ENGINE_S3" desc:"Path of the embedded S3's program; empty means it is searched for."`
	EngineRedis    string `env:"TAGGIE_ENGINE_REDIS" desc:"Path of the embedded Redis's program; empty means it is searched for."`

	AWSRegion           string `env:"AWS_REGION" desc:"Region of DynamoDB and S3; required when one of them is not embedded. It alone makes neither remote. Credentials are found as the AWS SDK finds them."`
	AWSEndpointDynamoDB string `env:"AWS_ENDPOINT_URL_DYNAMODB" desc:"URL of a DynamoDB, or of something that speaks its protocol, to use in place of the embedded one."`
	AWSEndpointS3       string `env:"AWS_ENDPOINT_URL_S3" desc:"URL of something that speaks the protocol of S3; needs TAGGIE_S3_BUCKET."`
}

// The values of Config.DynamoDB.
const (
	dynamoAWS      = "aws"
	dynamoEmbedded = "embedded"
)

// EmbeddedDynamoDB reports whether the server starts its own DynamoDB.
//
// AWS_REGION alone does not make it remote: many shells export it, and trying
// Taggie out must not write to somebody's account.
func (c Config) EmbeddedDynamoDB() bool {
	return c.DynamoDB != dynamoAWS && (c.DynamoDB == dynamoEmbedded || c.AWSEndpointDynamoDB == "")
}

// EmbeddedS3 reports whether the server starts its own S3: no bucket is named.
func (c Config) EmbeddedS3() bool { return c.S3Bucket == "" }

// EmbeddedRedis reports whether the server starts its own Redis: no URL is given.
func (c Config) EmbeddedRedis() bool { return c.Redis.Mode == RedisNone }

// LocalIssuer reports whether the server vouches for identities itself, which it does on loopback only.
func (c Config) LocalIssuer() bool { return c.OIDCIssuer == "" && c.JWTKey.Algorithm == "" }
