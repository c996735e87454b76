package main

import (
	"context"
	"fmt"
	"os"
	"runtime"

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

	servers, err := startContestants(ctx, o, e.url)
	if err != nil {
		return err
	}
	defer servers.stop()
	if err := e.idle(ctx); err != nil {
		return err
	}
	lengths, err := servers.verify()
	if err != nil {
		return err
	}
	out := report{to: os.Stdout, options: o, measured: newMeasured(servers.gogc)}
	if err := out.begin(ctx, servers); err != nil {
		return err
	}
	for n := 1; n <= o.runs; n++ {
		for _, q := range questions {
			results := make([]result, len(servers.all))
			turnOf := func(i int) turn {
				return turn{engine: e, process: servers.all[i], question: q, token: servers.token, length: lengths[q.name][i], connections: o.connections}
			}
			// Short turns in alternation, so that what else the machine does meets all alike.
			for i := range turns * len(results) {
				j := (i + i/len(results)) % len(results) // 0 1, 1 0, 0 1, …
				part, err := turnOf(j).measure(ctx, o.warmUp, o.measure/turns)
				if err != nil {
					return err
				}
				results[j].merge(part)
			}
			where, err := takeProfile(ctx, o, turnOf(0), n)
			if err != nil {
				return err
			}
			out.add(n, q, servers.all, results, where)
		}
	}
	return out.end()
}

const region = "us-east-1"

// turns is how often the servers take turns at one question in one run.
const turns = 5

// verify asks each question at all servers, compares the answers with Taggie's, and returns their lengths.
func (c *contestants) verify() (map[string][]int, error) {
	lengths := map[string][]int{}
	for _, q := range questions {
		var first []byte
		for i, p := range c.all {
			answer, err := p.ask(q, c.token)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				first = answer
			}
			if err := q.same(first, answer, p); err != nil {
				return nil, err
			}
			lengths[q.name] = append(lengths[q.name], len(answer))
		}
	}
	return lengths, nil
}
