package config

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// RedisMode says what stands behind a Redis URL.
type RedisMode uint8

// The modes of Redis. RedisNone is the zero value: no URL was given.
const (
	RedisNone RedisMode = iota
	RedisSingle
	RedisSentinel
	RedisCluster
)

// Redis is a parsed TAGGIE_REDIS_URL.
type Redis struct {
	Mode             RedisMode
	Addrs            []string // host:port; of the Sentinels in RedisSentinel
	Master           string   // the name the Sentinels know it by
	Database         int
	TLS              bool
	Username         string
	Password         Secret
	SentinelUsername string
	SentinelPassword Secret
}

const redisForm = "expected redis://[user:password@]host[:port][/database], redis+sentinel://[user:password@]host1,host2/master[/database][?sentinel_username=…&sentinel_password=…] or redis+cluster://[user:password@]host1,host2 (rediss for TLS)"

// UnmarshalText parses the URL. net/url cannot: it refuses several hosts with ports.
func (r *Redis) UnmarshalText(text []byte) error {
	parsed, ok := parseRedis(string(text))
	if !ok {
		return expectation(redisForm)
	}
	*r = parsed
	return nil
}

func parseRedis(text string) (Redis, bool) {
	scheme, rest, _ := strings.Cut(text, "://")
	protocol, mode, _ := strings.Cut(scheme, "+")
	modes := map[string]RedisMode{"": RedisSingle, "sentinel": RedisSentinel, "cluster": RedisCluster}
	r := Redis{Mode: modes[mode], TLS: protocol == "rediss"}
	if r.Mode == RedisNone || strings.HasSuffix(scheme, "+") || protocol != "redis" && protocol != "rediss" {
		return Redis{}, false
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	return r, r.hosts(authority) && r.path(path) && r.query(query)
}

func (r *Redis) hosts(authority string) bool {
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		name, err := url.PathUnescape(user)
		secret, err2 := url.PathUnescape(password)
		if err != nil || err2 != nil {
			return false
		}
		r.Username, r.Password = name, Secret(secret)
		authority = authority[at+1:]
	}
	standard := "6379"
	if r.Mode == RedisSentinel {
		standard = "26379"
	}
	for addr := range strings.SplitSeq(authority, ",") {
		if !strings.Contains(addr, ":") || strings.HasSuffix(addr, "]") {
			addr += ":" + standard
		}
		host, port, ok := splitAddr(addr)
		if !ok || host == "" || port == 0 || strings.ContainsAny(host, " \t/@#") {
			return false
		}
		r.Addrs = append(r.Addrs, net.JoinHostPort(host, strconv.Itoa(port)))
	}
	return r.Mode != RedisSingle || len(r.Addrs) == 1
}

func (r *Redis) path(path string) bool {
	if r.Mode == RedisSentinel {
		r.Master, path, _ = strings.Cut(path, "/")
		if r.Master == "" {
			return false
		}
	}
	if path == "" {
		return true
	}
	database, err := strconv.ParseUint(path, 10, 16)
	r.Database = int(database)
	return err == nil && (r.Mode != RedisCluster || database == 0) // a cluster has database 0 only
}

func (r *Redis) query(query string) bool {
	values, err := url.ParseQuery(query)
	if err != nil || len(values) > 0 && r.Mode != RedisSentinel {
		return false
	}
	for name, value := range values {
		switch name {
		case "sentinel_username":
			r.SentinelUsername = value[0]
		case "sentinel_password":
			r.SentinelPassword = Secret(value[0])
		default:
			return false
		}
	}
	return true
}
