package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/taggie/taggie/bench/floor"
)

// contestants are the servers that answer the questions, with what they need.
type contestants struct {
	all   []*process // in the order of the report; the first one is Taggie
	token string     // for all of them
	gogc  string     // what Taggie sets, and those that are compared at equal settings

	data        string
	environment []string
}

const (
	nameTaggie      = "Taggie"
	nameHandwritten = "hand-written"
	nameFloor       = "floor"
	nameMercurius   = "mercurius"
)

// These commands make this program another server instead of the benchmark.
var commands = map[string]func(context.Context) error{
	nameHandwritten: serveHandwritten,
	nameFloor: func(ctx context.Context) error {
		return floor.Serve(ctx, floor.Pages{Own: ownNotes, Shared: sharedNotes})
	},
}

// startContestants starts all servers on the engine.
func startContestants(ctx context.Context, o options, engineURL string) (_ *contestants, err error) {
	c := &contestants{}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	if c.data, err = os.MkdirTemp("", "taggie-bench-"); err != nil {
		return nil, err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	now := time.Now()
	c.token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": issuer, "sub": subject, "iat": now.Unix(), "exp": now.Add(24 * time.Hour).Unix(),
	}).SignedString(secret)
	if err != nil {
		return nil, err
	}
	c.environment = []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + engineURL, "AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=bench", "AWS_SECRET_ACCESS_KEY=bench",
		"TAGGIE_TABLE_PREFIX=" + prefix, "TAGGIE_JWT_KEY=HS256:" + base64.StdEncoding.EncodeToString(secret),
		"TAGGIE_SECRET=" + base64.StdEncoding.EncodeToString(secret), "TAGGIE_DATA=" + c.data, "TAGGIE_LOG_LEVEL=warn",
		"TAGGIE_COST_BUDGET=1000000000", "TAGGIE_COST_RATE=1000000", // all of the load is of one user
		"TAGGIE_OPERATION_TIMEOUT=30s", // a machine that is busy with something else must not turn slow answers into errors
	}
	if err := c.startTaggie(ctx, o); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, p := range []process{{name: nameHandwritten}, {name: nameHandwritten, gogc: c.gogc}, {name: nameFloor, gogc: c.gogc}} {
		if err := c.start(ctx, p, self, p.name); err != nil {
			return nil, err
		}
	}
	if peerInstalled() {
		return c, c.start(ctx, process{name: nameMercurius, graphql: true, foreign: true}, "node", peerProgram)
	}
	return c, nil
}

// startTaggie starts Taggie as it is shipped, and asks it for its setting of the garbage collector.
func (c *contestants) startTaggie(ctx context.Context, o options) error {
	pprof, err := freeAddress()
	if err != nil {
		return err
	}
	c.environment = append(c.environment, "TAGGIE_PPROF="+pprof)
	if err := c.start(ctx, process{name: nameTaggie, graphql: true, pprof: pprof}, o.server, "serve"); err != nil {
		return err
	}
	gogc, err := c.all[0].metric("go_gc_gogc_percent")
	c.gogc = fmt.Sprint(gogc)
	c.all[0].gogc = c.gogc
	return err
}

// start starts a server like p, with its setting of the garbage collector.
func (c *contestants) start(ctx context.Context, p process, program string, args ...string) error {
	environment := c.environment[:len(c.environment):len(c.environment)]
	if p.gogc != "" {
		environment = append(environment, "GOGC="+p.gogc)
	}
	if err := p.start(ctx, environment, program, args...); err != nil {
		return err
	}
	c.all = append(c.all, &p)
	return nil
}

// stop ends all of them.
func (c *contestants) stop() {
	for _, p := range c.all {
		p.stop()
	}
	_ = os.RemoveAll(c.data)
}
