package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/taggie/taggie/internal/awsclient"
)

// prefix of the table names, as both servers are told it.
const prefix = "bench_"

// compare measures all questions at both servers, in alternation, and prints what it finds.
func compare(ctx context.Context, o options) error {
	// Load and engine share one core, the server under test has another.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	e, err := startEngine()
	if err != nil {
		return err
	}
	defer func() { _ = e.server.Close() }()
	client, err := awsclient.DynamoDB(ctx, awsclient.Options{Endpoint: e.url, Region: region, Credentials: awsclient.Credentials{AccessKeyID: "bench", SecretAccessKey: "bench"}})
	if err != nil {
		return err
	}
	if err := load(ctx, client, prefix); err != nil {
		return fmt.Errorf("load the data: %w", err)
	}
	e.delay.Store(int64(o.delay))

	servers, token, stop, err := startServers(ctx, o, e.url)
	if err != nil {
		return err
	}
	defer stop()
	if err := e.idle(ctx); err != nil {
		return err
	}
	lengths, err := verify(servers, token)
	if err != nil {
		return err
	}
	out := report{to: os.Stdout, options: o}
	if err := out.begin(ctx, servers); err != nil {
		return err
	}
	for n := 1; n <= o.runs; n++ {
		for _, q := range questions {
			var results [2]result
			// Short turns in alternation, so that what else the machine does meets both alike.
			for i := range turns * len(servers) {
				j := (i + i/len(servers)) % len(servers) // 0 1, 1 0, 0 1, …
				t := turn{engine: e, process: servers[j], question: q, token: token, length: lengths[q.name][j], connections: o.connections}
				part, err := t.measure(ctx, o.warmUp, o.measure/turns)
				if err != nil {
					return err
				}
				results[j].merge(part)
			}
			t := turn{engine: e, process: servers[0], question: q, token: token, length: lengths[q.name][0], connections: o.connections}
			if err := takeProfile(ctx, o, t, n); err != nil {
				return err
			}
			out.add(n, q, results)
		}
	}
	return out.end()
}

const region = "us-east-1"

// turns is how often the servers take turns at one question in one run.
const turns = 5

// startServers starts Taggie and the hand-written handler and returns them, in this order, with a token for both.
func startServers(ctx context.Context, o options, engineURL string) ([2]*process, string, func(), error) {
	var servers [2]*process
	var data string
	stop := func() {
		for _, p := range servers {
			if p != nil {
				p.stop()
			}
		}
		_ = os.RemoveAll(data)
	}
	fail := func(err error) ([2]*process, string, func(), error) {
		stop()
		return servers, "", nil, err
	}
	data, err := os.MkdirTemp("", "taggie-bench-")
	if err != nil {
		return fail(err)
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	now := time.Now()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": issuer, "sub": subject, "iat": now.Unix(), "exp": now.Add(24 * time.Hour).Unix(),
	}).SignedString(secret)
	if err != nil {
		return fail(err)
	}
	pprof := ""
	if o.profiles != "" {
		if pprof, err = freeAddress(); err != nil {
			return fail(err)
		}
	}
	environment := []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + engineURL, "AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=bench", "AWS_SECRET_ACCESS_KEY=bench",
		"TAGGIE_TABLE_PREFIX=" + prefix, "TAGGIE_JWT_KEY=HS256:" + base64.StdEncoding.EncodeToString(secret),
		"TAGGIE_SECRET=" + base64.StdEncoding.EncodeToString(secret), "TAGGIE_DATA=" + data, "TAGGIE_LOG_LEVEL=warn",
		"TAGGIE_COST_BUDGET=1000000000", "TAGGIE_COST_RATE=1000000", // all of the load is of one user
		"TAGGIE_OPERATION_TIMEOUT=30s", // a machine that is busy with something else must not turn slow answers into errors
		"TAGGIE_PPROF=" + pprof,
	}
	if servers[0], err = start(ctx, "Taggie", true, environment, o.server, "serve"); err != nil {
		return fail(err)
	}
	servers[0].pprof = pprof
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	if servers[1], err = start(ctx, "hand-written", false, environment, self, handwrittenCommand); err != nil {
		return fail(err)
	}
	return servers, token, stop, nil
}

// verify asks each question at both servers, compares the answers, and returns their lengths.
func verify(servers [2]*process, token string) (map[string][2]int, error) {
	lengths := map[string][2]int{}
	for _, q := range questions {
		var answers [2][]byte
		for i, p := range servers {
			var err error
			if answers[i], err = p.ask(q, token); err != nil {
				return nil, err
			}
		}
		if err := q.same(answers[0], answers[1]); err != nil {
			return nil, err
		}
		lengths[q.name] = [2]int{len(answers[0]), len(answers[1])}
	}
	return lengths, nil
}
