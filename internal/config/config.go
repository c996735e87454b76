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
	Addr             string         `env:"TAGGIE_ADDR" envDefault:"127.0.0.1:8080" desc:"Address to listen on, as host:port. It must be a loopback address while no issuer and no key is configured."`
	PathPrefix       string         `env:"TAGGIE_PATH_PREFIX" desc:"Path below which everything is served, such as /taggie, for proxies that pass on requests to it as they are. /healthz and /readyz are also there without it, /metrics only without it. Empty means that Taggie is at /."`
	TLSCert          string         `env:"TAGGIE_TLS_CERT" desc:"Path of a PEM file with the certificate of the server and those between it and its authority. With it, TAGGIE_ADDR speaks only TLS. Taggie reads it again when it changes. Empty means no TLS."`
	TLSKey           string         `env:"TAGGIE_TLS_KEY" desc:"Path of a PEM file with the private key of TAGGIE_TLS_CERT. Taggie reads it again when it changes."`
	Data             string         `env:"TAGGIE_DATA" envDefault:"./data" desc:"Directory of the embedded stores and of the generated secret."`
	OIDCIssuer       string         `env:"TAGGIE_OIDC_ISSUER" desc:"OpenID Connect issuer whose tokens are accepted, spelled exactly as in their iss claim. Without it and without TAGGIE_JWT_KEY, Taggie issues its own tokens."`
	OIDCAudience     []string       `env:"TAGGIE_OIDC_AUDIENCE" desc:"Accepted audiences, separated by commas; each token must name one of them. Required with TAGGIE_OIDC_ISSUER."`
	OIDCClientID     string         `env:"TAGGIE_OIDC_CLIENT_ID" desc:"What the issuer calls Taggie as a client. With it, people sign in to the pages at the issuer, by the authorization code flow with PKCE; docs/operating.md has the steps. Without it, the board asks for a token."`
	OIDCClientSecret ClientSecret   `env:"TAGGIE_OIDC_CLIENT_SECRET" desc:"Secret of the client, if the issuer gave it one. Only the server knows it: pages get their tokens through the server."`
	OIDCScopes       string         `env:"TAGGIE_OIDC_SCOPES" envDefault:"openid profile email" desc:"Scopes that pages ask the issuer for, separated by blanks. openid must be among them."`
	JWTKeys          []JWTKey       `env:"TAGGIE_JWT_KEY" desc:"A verification key instead of the issuer's published ones, or two while a key is replaced, as in current,previous: a PEM public key (RSA, ECDSA, Ed25519), optionally after an algorithm as in PS256:, or HS256: and a base64 secret; @path reads one key from a file, whose path has no comma. Tokens must still match TAGGIE_OIDC_ISSUER and TAGGIE_OIDC_AUDIENCE if these are set."`
	Secrets          []Secret       `env:"TAGGIE_SECRET" desc:"Signs cursors and makes the tokens of invitations: current or current,previous, each of at least 32 characters and used as it is written. All servers need the same value. Required if DynamoDB is not embedded; otherwise generated and stored in TAGGIE_DATA."`
	AllowedOrigins   []string       `env:"TAGGIE_ALLOWED_ORIGINS" desc:"Origins of web pages in browsers that may call the server, and upload to a bucket that is not embedded, separated by commas, such as https://taggie.example.com. They must match exactly. The server always lets its own pages call it, but such a bucket needs the origin of the board, too. After a change, run taggie tables apply."`
	TrustedDocuments string         `env:"TAGGIE_TRUSTED_DOCUMENTS" desc:"Path of a manifest of trusted documents: Apollo's persisted query manifest, or the JSON object that relay-compiler and GraphQL Code Generator write. Taggie reads it at the start; requests may name its documents by id."`
	TrustedMode      string         `env:"TAGGIE_TRUSTED_DOCUMENTS_MODE" envDefault:"off" desc:"What happens to documents that are not in the manifest: off carries them out; log carries them out and logs their SHA-256; enforce refuses them, including those of GraphiQL and of taggie demo. The documents of the board and of the desk are always trusted."`
	TrustedProxies   []netip.Prefix `env:"TAGGIE_TRUSTED_PROXIES" expect:"expected networks separated by commas, such as 10.0.0.0/8,fd00::/8" desc:"Networks of the proxies in front of the server, separated by commas, such as 10.0.0.0/8. Taggie takes the address of a client from X-Forwarded-For, or else from Forwarded, only if one of these proxies sent it. Callers without a token are distinguished by their address."`
	PictureOrigins   []string       `env:"TAGGIE_PICTURE_ORIGINS" desc:"Origins besides the bucket's from which the board shows pictures, sounds and films of items, separated by commas. For other items it shows a link."`
	LogLevel         slog.Level     `env:"TAGGIE_LOG_LEVEL" envDefault:"info" expect:"expected debug, info, warn or error" desc:"debug, info, warn or error."`
	LogFormat        string         `env:"TAGGIE_LOG_FORMAT" envDefault:"text" desc:"text or json."`
	MetricsAddr      string         `env:"TAGGIE_METRICS_ADDR" desc:"Address of a second listener, as host:port, for /metrics, profiles, /healthz and /readyz. TAGGIE_ADDR then keeps /healthz and /readyz, but not /metrics. Empty means that /metrics is at TAGGIE_ADDR. Keep this address in a private network, because everybody who reaches it can read profiles. It must be a loopback address while no issuer and no key is configured."`
	Pprof            string         `env:"TAGGIE_PPROF" desc:"Loopback address of a second listener for profiles; empty means none."`

	OperationTimeout  time.Duration `env:"TAGGIE_OPERATION_TIMEOUT" envDefault:"10s" expect:"expected a duration such as 10s" desc:"Deadline of a query or mutation, at most 30s."`
	DrainDelay        time.Duration `env:"TAGGIE_DRAIN_DELAY" envDefault:"0s" expect:"expected a duration such as 5s" desc:"How long a server that is told to stop still accepts requests while /readyz already says 503, so that the load balancer notices; at most 5m."`
	StreamPatience    time.Duration `env:"TAGGIE_STREAM_PATIENCE" envDefault:"30s" expect:"expected a duration such as 30s" desc:"How long subscriptions to projects, to notes and to the number of users online wait while Redis is away, at most 10m. Then Taggie closes their sockets with 1013 and ends event streams without complete, so that clients connect again, perhaps to another server."`
	DynamoConcurrency int           `env:"TAGGIE_DYNAMO_CONCURRENCY" envDefault:"16" expect:"expected a whole number from 1 to 256" desc:"How many DynamoDB calls one batch, or one group of queries, may have in progress at a time, 1 to 256."`
	DynamoSDKReads    bool          `env:"TAGGIE_DYNAMO_SDK_READS" envDefault:"false" expect:"expected true or false" desc:"Whether reads from DynamoDB go through all of the AWS SDK. By default the first attempt takes a shorter path with the same signature, which needs less CPU; the SDK makes the others."`

	CostBudget     int  `env:"TAGGIE_COST_BUDGET" envDefault:"1000000" expect:"expected a whole number from 350000, or 0 for no budget" desc:"What the operations of one caller may cost at once, on all servers together, at least 350000; 0 for no budget. docs/limits.md lists the costs."`
	CostRate       int  `env:"TAGGIE_COST_RATE" envDefault:"100000" expect:"expected a whole number from 1 to 1000000" desc:"How much of a caller's budget is restored each second, 1 to 1000000."`
	UserOperations int  `env:"TAGGIE_USER_OPERATIONS" envDefault:"32" expect:"expected a whole number from 1 to 1000" desc:"How many operations of one caller a server carries out at a time, 1 to 1000; 64 times as many can wait."`
	Introspection  bool `env:"TAGGIE_INTROSPECTION" envDefault:"true" expect:"expected true or false" desc:"Whether clients may query the schema."`
	Suggestions    bool `env:"TAGGIE_SUGGESTIONS" envDefault:"true" expect:"expected true or false" desc:"Whether errors suggest names of the schema that the client may have meant."`

	ItemQuota int64 `env:"TAGGIE_ITEM_QUOTA" envDefault:"10737418240" expect:"expected a whole number of bytes above 0" desc:"How many bytes the items of one user may take up, together with thumbnails and uploads in progress. An administrator can set another quota for a single user."`

	Allowances map[string]int `env:"TAGGIE_ALLOWANCES" envKeyValSeparator:"=" expect:"expected names and whole numbers such as notes=200000,shares=50000" desc:"Other limits than those of docs/limits.md for what is counted in the background, such as notes=200000,shares=50000. The names are notes, shares and keys (of a user), entities and relations (of a scope), items (of a project) and tags (of a user on items)."`

	TagShards int `env:"TAGGIE_TAG_SHARDS" envDefault:"1" expect:"expected a whole number from 1 to 64" desc:"Number of partitions for public tags, 1 to 64, used by searches and counts of values; a search reads all of them. The number of tags of a set is one row in any case. With a greater number, existing tags are spread again in the background; a smaller number changes nothing."`

	DynamoDB       string `env:"TAGGIE_DYNAMODB" desc:"aws uses DynamoDB in AWS_REGION, embedded the one beside the server. Empty means embedded unless AWS_ENDPOINT_URL_DYNAMODB is set."`
	TablePrefix    string `env:"TAGGIE_TABLE_PREFIX" envDefault:"taggie_" desc:"Prefix of all DynamoDB table names."`
	S3Bucket       string `env:"TAGGIE_S3_BUCKET" desc:"Bucket of an S3 that is not embedded; empty means the embedded S3."`
	Redis          Redis  `env:"TAGGIE_REDIS_URL" desc:"redis://[user:password@]host[:6379][/database], redis+sentinel://[user:password@]host1[:26379],host2/master[/database] or redis+cluster://[user:password@]host1[:6379],host2; use rediss instead of redis for TLS. Empty means the embedded Redis."`
	RedisPrefix    string `env:"TAGGIE_REDIS_PREFIX" desc:"What stands before the names of all keys and channels in Redis, so that several Taggies can share one: 1 to 64 letters, digits, '_', '-', '.' or ':', such as eu:. All servers of one Taggie need the same value. With another value, Taggie begins with an empty Redis."`
	EngineDynamoDB string `env:"TAGGIE_ENGINE_DYNAMODB" desc:"Path of the program of the embedded DynamoDB; if empty, Taggie searches for it."`
	EngineS3       string `env:"TAGGIE_ENGINE_S3" desc:"Path of the program of the embedded S3; if empty, Taggie searches for it."`
	EngineRedis    string `env:"TAGGIE_ENGINE_REDIS" desc:"Path of the program of the embedded Redis; if empty, Taggie searches for it."`

	AWSRegion           string `env:"AWS_REGION" desc:"Region of DynamoDB and S3; required if one of them is not embedded. On its own it does not make Taggie use AWS. Taggie finds credentials as the AWS SDK does."`
	AWSEndpointDynamoDB string `env:"AWS_ENDPOINT_URL_DYNAMODB" desc:"URL of a DynamoDB, or of a server with its protocol, to use instead of the embedded one."`
	AWSEndpointS3       string `env:"AWS_ENDPOINT_URL_S3" desc:"URL of a server with the protocol of S3; needs TAGGIE_S3_BUCKET."`
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

// Scheme returns https with a certificate, and http without one.
func (c Config) Scheme() string {
	if c.TLSCert != "" {
		return "https"
	}
	return "http"
}

// LocalIssuer reports whether the server vouches for identities itself, which it does on loopback only.
func (c Config) LocalIssuer() bool { return c.OIDCIssuer == "" && len(c.JWTKeys) == 0 }
