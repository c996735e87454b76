package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
)

// checker collects problems; a variable that has one is not asked about again.
type checker struct {
	values   map[string]string
	bad      map[string]bool
	problems []Problem
}

func (c *checker) add(variable, format string, args ...any) {
	if !c.bad[variable] {
		c.bad[variable] = true
		c.problems = append(c.problems, Problem{Variable: variable, Expected: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) set(variable string) bool { return c.values[variable] != "" }

var (
	// Table names are 3 to 255 of these characters (DynamoDB, "Naming rules"); the rest is for our own names.
	tablePrefix = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,200}$`)
	// Letters of which no two spellings mean the same, and no . or .. between slashes.
	pathPrefix = regexp.MustCompile(`^(/[a-zA-Z0-9_-][a-zA-Z0-9_.-]*)+$`)
	// Braces would move what Redis Cluster hashes; the rest keeps it out of patterns, as in the rules for access to Redis.
	redisPrefix = regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,64}$`)
	bucketName  = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionName  = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
)

// forms checks each value by itself.
func (c *checker) forms(config Config) {
	if _, _, ok := splitAddr(config.Addr); !ok {
		c.add("TAGGIE_ADDR", "expected host:port with a port from 0 to 65535, such as 127.0.0.1:8080")
	}
	if first, _, _ := strings.Cut(strings.TrimPrefix(config.PathPrefix, "/"), "/"); config.PathPrefix != "" &&
		(!pathPrefix.MatchString(config.PathPrefix) || len(config.PathPrefix) > 128 || slices.Contains([]string{"healthz", "readyz", "metrics"}, first)) {
		c.add("TAGGIE_PATH_PREFIX", "expected a path of at most 128 bytes that begins with '/' and does not end with it, such as /taggie, of letters, digits, '_', '-' and '.', and not below /healthz, /readyz or /metrics")
	}
	if config.MetricsAddr != "" {
		if _, _, ok := splitAddr(config.MetricsAddr); !ok {
			c.add("TAGGIE_METRICS_ADDR", "expected host:port with a port from 0 to 65535, such as 127.0.0.1:9464")
		} else if config.MetricsAddr == config.Addr {
			c.add("TAGGIE_METRICS_ADDR", "expected another address than TAGGIE_ADDR")
		}
	}
	if config.TLSCert != "" && config.TLSKey == "" {
		c.add("TAGGIE_TLS_KEY", "required with TAGGIE_TLS_CERT: the path of its private key")
	}
	if config.TLSKey != "" && config.TLSCert == "" {
		c.add("TAGGIE_TLS_CERT", "required with TAGGIE_TLS_KEY: the path of its certificate")
	}
	if config.Pprof != "" {
		if host, _, ok := splitAddr(config.Pprof); !ok || !loopback(host) {
			c.add("TAGGIE_PPROF", "expected a loopback address such as 127.0.0.1:6060, because profiles show the server's memory")
		} else if config.Pprof == config.Addr {
			c.add("TAGGIE_PPROF", "expected another address than TAGGIE_ADDR")
		} else if config.Pprof == config.MetricsAddr {
			c.add("TAGGIE_PPROF", "expected another address than TAGGIE_METRICS_ADDR, where profiles are anyway")
		}
	}
	if !slices.Contains([]string{"off", "log", "enforce"}, config.TrustedMode) {
		c.add("TAGGIE_TRUSTED_DOCUMENTS_MODE", "expected off, log or enforce")
	} else if config.TrustedMode != "off" && config.TrustedDocuments == "" {
		c.add("TAGGIE_TRUSTED_DOCUMENTS", "required with TAGGIE_TRUSTED_DOCUMENTS_MODE: the path of a manifest")
	}
	if config.LogFormat != "text" && config.LogFormat != "json" {
		c.add("TAGGIE_LOG_FORMAT", "expected text or json")
	}
	if config.OperationTimeout <= 0 || config.OperationTimeout > 30*time.Second { // note.SyncMargin relies on it
		c.add("TAGGIE_OPERATION_TIMEOUT", "expected a duration above 0 and up to 30s, such as 10s")
	}
	if config.StreamPatience <= 0 || config.StreamPatience > 10*time.Minute {
		c.add("TAGGIE_STREAM_PATIENCE", "expected a duration above 0 and up to 10m, such as 30s")
	}
	if config.DrainDelay < 0 || config.DrainDelay > 5*time.Minute {
		c.add("TAGGIE_DRAIN_DELAY", "expected a duration from 0s to 5m, such as 5s")
	}
	if config.DynamoConcurrency < 1 || config.DynamoConcurrency > 256 {
		c.add("TAGGIE_DYNAMO_CONCURRENCY", "expected a whole number from 1 to 256")
	}
	if config.CostBudget != 0 && config.CostBudget < 350_000 || config.CostBudget > 1_000_000_000 { // one operation may cost nearly as much
		c.add("TAGGIE_COST_BUDGET", "expected a whole number from 350000 to 1000000000, or 0 for no budget")
	}
	if config.CostRate < 1 || config.CostRate > 1_000_000 {
		c.add("TAGGIE_COST_RATE", "expected a whole number from 1 to 1000000")
	}
	if config.UserOperations < 1 || config.UserOperations > 1000 {
		c.add("TAGGIE_USER_OPERATIONS", "expected a whole number from 1 to 1000")
	}
	if config.ItemQuota < 1 {
		c.add("TAGGIE_ITEM_QUOTA", "expected a whole number of bytes above 0")
	}
	if config.TagShards < 1 || config.TagShards > 64 {
		c.add("TAGGIE_TAG_SHARDS", "expected a whole number from 1 to 64")
	}
	if !slices.Contains([]string{"", dynamoAWS, dynamoEmbedded}, config.DynamoDB) {
		c.add("TAGGIE_DYNAMODB", "expected aws or embedded")
	}
	if !tablePrefix.MatchString(config.TablePrefix) {
		c.add("TAGGIE_TABLE_PREFIX", "expected 1 to 200 letters, digits, '_', '-' or '.'")
	}
	if config.RedisPrefix != "" && !redisPrefix.MatchString(config.RedisPrefix) {
		c.add("TAGGIE_REDIS_PREFIX", "expected at most 64 letters, digits, '_', '-', '.' or ':', such as eu:; no braces, which Redis Cluster would take for its own")
	}
	if config.S3Bucket != "" && !bucketName.MatchString(config.S3Bucket) {
		c.add("TAGGIE_S3_BUCKET", "expected a bucket name: 3 to 63 lower-case letters, digits, '-' or '.', a letter or digit at both ends")
	}
	if config.AWSRegion != "" && !regionName.MatchString(config.AWSRegion) {
		c.add("AWS_REGION", "expected a region such as eu-central-1")
	}
	c.endpoint("AWS_ENDPOINT_URL_DYNAMODB", config.AWSEndpointDynamoDB)
	c.endpoint("AWS_ENDPOINT_URL_S3", config.AWSEndpointS3)
	if len(config.Secrets) > 2 {
		c.add("TAGGIE_SECRET", "expected one secret, or current,previous")
	}
	if len(config.JWTKeys) > 2 {
		c.add("TAGGIE_JWT_KEY", "expected one key, or current,previous")
	}
	for _, origin := range config.AllowedOrigins {
		if !exactOrigin(origin) {
			c.add("TAGGIE_ALLOWED_ORIGINS", "expected origins as browsers send them, separated by commas, such as https://app.example.com: http or https, lower case, no path, no default port, no wildcard")
		}
	}
	for _, network := range config.TrustedProxies {
		if network.Bits() == 0 || network.Addr().Is4In6() || network != network.Masked() {
			c.add("TAGGIE_TRUSTED_PROXIES", "expected networks separated by commas, such as 10.0.0.0/8,fd00::/8: no bits behind the mask, IPv4 in its own form, and not everybody (/0), because then clients could say that they are somebody else")
		}
	}
	for _, origin := range config.PictureOrigins {
		if !exactOrigin(origin) || strings.ContainsAny(origin, ";'") { // which mean something in a policy
			c.add("TAGGIE_PICTURE_ORIGINS", "expected origins separated by commas, such as https://pictures.example.com: http or https, lower case, no path, no default port, no wildcard")
		}
	}
	for _, audience := range config.OIDCAudience {
		if strings.TrimSpace(audience) != audience || audience == "" {
			c.add("TAGGIE_OIDC_AUDIENCE", "expected audiences separated by commas, without blanks and none of them empty")
		}
	}
}

func (c *checker) endpoint(variable, value string) {
	u, err := url.Parse(value)
	if value != "" && (err != nil || !httpURL(u)) {
		c.add(variable, "expected a URL such as http://127.0.0.1:8000")
	}
}

// identity checks who vouches for identities.
func (c *checker) identity(config Config) {
	if c.set("TAGGIE_OIDC_ISSUER") {
		u, err := url.Parse(config.OIDCIssuer)
		switch {
		case err != nil || !httpURL(u) || u.User != nil || u.RawQuery != "" || u.Fragment != "":
			c.add("TAGGIE_OIDC_ISSUER", "expected a URL without user, query and fragment, such as https://accounts.example.com")
		case u.Scheme != "https" && !loopback(u.Hostname()):
			c.add("TAGGIE_OIDC_ISSUER", "expected https, because keys that come over plain http can be forged; http is accepted on loopback only")
		}
		if !c.set("TAGGIE_OIDC_AUDIENCE") {
			c.add("TAGGIE_OIDC_AUDIENCE", "required with TAGGIE_OIDC_ISSUER: the audience that tokens for this server name")
		}
	} else if c.set("TAGGIE_OIDC_CLIENT_ID") {
		c.add("TAGGIE_OIDC_ISSUER", "required with TAGGIE_OIDC_CLIENT_ID: the issuer at which people sign in")
	}
	if c.set("TAGGIE_OIDC_CLIENT_SECRET") && !c.set("TAGGIE_OIDC_CLIENT_ID") {
		c.add("TAGGIE_OIDC_CLIENT_ID", "required with TAGGIE_OIDC_CLIENT_SECRET: the client whose secret it is")
	}
	if !slices.Contains(strings.Fields(config.OIDCScopes), "openid") {
		c.add("TAGGIE_OIDC_SCOPES", "expected scopes separated by blanks with openid among them, such as: openid profile email")
	}
	if c.set("TAGGIE_OIDC_ISSUER") || c.set("TAGGIE_JWT_KEY") {
		return
	}
	if host, _, ok := splitAddr(config.Addr); ok && !loopback(host) {
		c.add("TAGGIE_ADDR", "expected a loopback address such as 127.0.0.1:8080, because without TAGGIE_OIDC_ISSUER or TAGGIE_JWT_KEY whoever reaches the server may be anybody")
	}
	if host, _, ok := splitAddr(config.MetricsAddr); ok && !loopback(host) {
		c.add("TAGGIE_METRICS_ADDR", "expected a loopback address such as 127.0.0.1:9464, because without TAGGIE_OIDC_ISSUER or TAGGIE_JWT_KEY Taggie is for one machine")
	}
	if c.set("TAGGIE_TRUSTED_PROXIES") {
		c.add("TAGGIE_TRUSTED_PROXIES", "expected TAGGIE_OIDC_ISSUER or TAGGIE_JWT_KEY beside it, because behind a proxy whoever reaches the server may be anybody")
	}
	if c.set("TAGGIE_OIDC_AUDIENCE") {
		c.add("TAGGIE_OIDC_AUDIENCE", "expected TAGGIE_OIDC_ISSUER or TAGGIE_JWT_KEY beside it, otherwise it has no effect")
	}
}

// stores checks what the stores that are not embedded need.
func (c *checker) stores(config Config, serving bool) {
	remote := c.set("TAGGIE_S3_BUCKET") || !config.EmbeddedDynamoDB()
	if remote && !c.set("AWS_REGION") {
		c.add("AWS_REGION", "required when DynamoDB or S3 is not embedded; what only imitates them accepts any, such as us-east-1")
	}
	if c.set("AWS_ENDPOINT_URL_S3") && !c.set("TAGGIE_S3_BUCKET") {
		c.add("TAGGIE_S3_BUCKET", "required with AWS_ENDPOINT_URL_S3")
	}
	if serving && !config.EmbeddedDynamoDB() && !c.set("TAGGIE_SECRET") {
		c.add("TAGGIE_SECRET", "required when DynamoDB is not embedded, the same for all servers: at least 32 characters, for example from: openssl rand -base64 32")
	}
}

// injected matches what Kubernetes puts into the environment for services named taggie or taggie-….
var injected = regexp.MustCompile(`^TAGGIE_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// clients are read by our examples, the console's development server and the tests in a browser, which run in the same shells.
var clients = []string{"TAGGIE_URL", "TAGGIE_TOKEN", "TAGGIE_BIN", "TAGGIE_README"}

// unknown reports variables with our prefix that mean nothing: most are misspelled, and ignoring one hides that.
func (c *checker) unknown() {
	known := Variables()
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		if !strings.HasPrefix(name, "TAGGIE_") || strings.HasPrefix(name, "TAGGIE_TEST_") || injected.MatchString(name) || slices.Contains(clients, name) ||
			slices.ContainsFunc(known, func(v Variable) bool { return v.Name == name }) {
			continue
		}
		nearest, distance := "", 4 // further away it is no misspelling
		for _, v := range known {
			if d := levenshtein.ComputeDistance(name, v.Name); d < distance {
				nearest, distance = v.Name, d
			}
		}
		if nearest != "" {
			c.add(name, "unknown; did you mean %s?", nearest)
		} else {
			c.add(name, "unknown; see taggie serve --help for the variables there are")
		}
	}
}

func splitAddr(addr string) (host string, port int, ok bool) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, false
	}
	number, err := strconv.ParseUint(text, 10, 16)
	return host, int(number), err == nil
}

// loopback reports whether only this machine can reach the host. Other names than localhost are not looked up:
// what they mean may change after the check.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

func httpURL(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

func exactOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || !httpURL(u) || strings.Contains(origin, "*") {
		return false
	}
	standard := u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" || strings.HasSuffix(u.Host, ":")
	return !standard && origin == u.Scheme+"://"+strings.ToLower(u.Host)
}
