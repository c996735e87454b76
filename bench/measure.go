package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// result is what one question costs at one server.
type result struct {
	requests      int
	took, cpu     time.Duration
	latencies     []time.Duration // sorted
	calls         int64           // of DynamoDB, by one request
	connections   int64           // new ones to DynamoDB
	allocated     heap
	residentUnder int64 // the most that was seen
}

// merge takes in another turn.
func (r *result) merge(turn result) {
	r.requests += turn.requests
	r.took += turn.took
	r.cpu += turn.cpu
	r.latencies = slices.Concat(r.latencies, turn.latencies)
	slices.Sort(r.latencies)
	r.calls = turn.calls
	r.connections += turn.connections
	r.allocated.objects += turn.allocated.objects
	r.allocated.bytes += turn.allocated.bytes
	r.residentUnder = max(r.residentUnder, turn.residentUnder)
}

func (r result) percentile(n int) time.Duration { return r.latencies[len(r.latencies)*n/100] }

func (r result) cpuPerRequest() time.Duration { return r.cpu / time.Duration(r.requests) }

// measure sends the question on all connections, each request as soon as the one before is answered.
func measure(ctx context.Context, o options, e *engine, p *process, q question, token string, expect expected) (result, error) {
	g := generator{question: q, process: p, token: token, length: expect.length, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: o.connections, DisableCompression: true},
		Timeout:   30 * time.Second,
	}}
	defer g.client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, o.connections)
	latencies := make([][]time.Duration, o.connections)
	var workers sync.WaitGroup
	for i := range o.connections {
		workers.Go(func() {
			if latencies[i], errs[i] = g.work(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	if err := wait(ctx, o.warmUp); err != nil {
		workers.Wait()
		return result{}, errors.Join(errors.Join(errs...), err)
	}
	r, err := g.window(ctx, o, e)
	cancel()
	workers.Wait()
	if err := errors.Join(errors.Join(errs...), err); err != nil {
		return result{}, err
	}
	r.latencies, r.calls = slices.Concat(latencies...), expect.calls
	if len(r.latencies) == 0 || r.requests == 0 {
		return result{}, fmt.Errorf("%s answered nothing to %s", p.name, q.name)
	}
	return r, nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type generator struct {
	question  question
	process   *process
	client    *http.Client
	token     string
	length    int // of each answer
	done      atomic.Int64
	measuring atomic.Bool
}

// work sends requests until ctx ends and returns the latencies of those that ended in the window.
func (g *generator) work(ctx context.Context) ([]time.Duration, error) {
	var latencies []time.Duration
	for ctx.Err() == nil {
		r, err := g.question.request(g.process.url, g.process.graphql, g.token)
		if err != nil {
			return nil, err
		}
		sent := time.Now()
		response, err := g.client.Do(r) // not bound to ctx, so that the last one is answered too
		if err != nil {
			return nil, err
		}
		n, err := io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		took := time.Since(sent)
		if err == nil && (response.StatusCode != http.StatusOK || int(n) != g.length) {
			err = fmt.Errorf("%s answers %s with %s and %d bytes, at first it were %d", g.process.name, g.question.name, response.Status, n, g.length)
		}
		if err != nil {
			return nil, err
		}
		g.done.Add(1)
		if g.measuring.Load() {
			latencies = append(latencies, took)
		}
	}
	return latencies, nil
}

// window measures everything between its beginning and its end.
func (g *generator) window(ctx context.Context, o options, e *engine) (result, error) {
	heapBefore, err := g.process.heap()
	if err != nil {
		return result{}, err
	}
	cpuBefore, err := g.process.cpu()
	if err != nil {
		return result{}, err
	}
	began, done, connections := time.Now(), g.done.Load(), e.connections.Load()
	g.measuring.Store(true)
	var r result
	for time.Since(began) < o.measure/turns {
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return r, err
		}
		resident, err := g.process.resident()
		if err != nil {
			return r, err
		}
		r.residentUnder = max(r.residentUnder, resident)
	}
	g.measuring.Store(false)
	cpuAfter, err := g.process.cpu()
	if err != nil {
		return r, err
	}
	r.took, r.cpu = time.Since(began), cpuAfter-cpuBefore
	r.requests, r.connections = int(g.done.Load()-done), e.connections.Load()-connections
	heapAfter, err := g.process.heap()
	r.allocated = heap{heapAfter.objects - heapBefore.objects, heapAfter.bytes - heapBefore.bytes}
	return r, err
}
