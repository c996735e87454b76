package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// result is what one question costs at one server.
type result struct {
	requests      int
	took, cpu     time.Duration
	latencies     []time.Duration // sorted
	calls         int64           // of DynamoDB
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
	r.calls += turn.calls
	r.connections += turn.connections
	r.allocated.objects += turn.allocated.objects
	r.allocated.bytes += turn.allocated.bytes
	r.residentUnder = max(r.residentUnder, turn.residentUnder)
}

func (r result) percentile(n int) time.Duration { return r.latencies[len(r.latencies)*n/100] }

func (r result) cpuPerRequest() time.Duration { return r.cpu / time.Duration(r.requests) }

// turn is one server's go at one question.
type turn struct {
	engine      *engine
	process     *process
	question    question
	token       string
	length      int // of each answer
	connections int
}

// measure lets the load run for the warm-up and then for the given time. Every request that begins in that time is counted
// whole, because the server has nothing to do before the first one and after the last one.
func (t turn) measure(ctx context.Context, warmUp, long time.Duration) (result, error) {
	client := &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: t.connections, DisableCompression: true},
		Timeout:   30 * time.Second,
	}
	defer client.CloseIdleConnections()
	if _, err := t.load(ctx, client, warmUp); err != nil {
		return result{}, err
	}
	heapBefore, err := t.process.heap()
	if err != nil {
		return result{}, err
	}
	cpuBefore, err := t.process.cpu()
	if err != nil {
		return result{}, err
	}
	began, calls, connections := time.Now(), t.engine.calls.Load(), t.engine.connections.Load()
	watched := peak(t.process.resident)
	latencies, err := t.load(ctx, client, long)
	resident, watchErr := watched()
	if err := errors.Join(err, watchErr); err != nil {
		return result{}, err
	}
	cpuAfter, err := t.process.cpu()
	if err != nil {
		return result{}, err
	}
	r := result{
		requests: len(latencies), latencies: latencies, took: time.Since(began), cpu: cpuAfter - cpuBefore, residentUnder: resident,
		calls: t.engine.calls.Load() - calls, connections: t.engine.connections.Load() - connections,
	}
	heapAfter, err := t.process.heap()
	r.allocated = heap{heapAfter.objects - heapBefore.objects, heapAfter.bytes - heapBefore.bytes}
	return r, err
}

// load sends the question on all connections, each request as soon as the one before is answered, and returns the latencies
// of all when the last one is answered.
func (t turn) load(ctx context.Context, client *http.Client, long time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	errs := make([]error, t.connections)
	latencies := make([][]time.Duration, t.connections)
	var workers sync.WaitGroup
	for i := range t.connections {
		workers.Go(func() {
			// One request at least, however slow the server is.
			for first := true; first || ctx.Err() == nil; first = false {
				took, err := t.ask(client)
				if err != nil {
					errs[i] = err
					cancel()
					return
				}
				latencies[i] = append(latencies[i], took)
			}
		})
	}
	workers.Wait()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, errors.Join(append(errs, ctx.Err())...)
	}
	return slices.Concat(latencies...), errors.Join(errs...)
}

func (t turn) ask(client *http.Client) (time.Duration, error) {
	r, err := t.question.request(t.process.url, t.process.graphql, t.token)
	if err != nil {
		return 0, err
	}
	sent := time.Now()
	response, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var begin [300]byte // where errors stand
	shown, err := io.ReadFull(response.Body, begin[:])
	if err != nil {
		return 0, err // every right answer is longer
	}
	rest, err := io.Copy(io.Discard, response.Body)
	took := time.Since(sent)
	if n := shown + int(rest); err == nil && (response.StatusCode != http.StatusOK || n != t.length) {
		err = fmt.Errorf("%s answers %s with %s and %d bytes, at first with %d: %s", t.process.name, t.question.name, response.Status, n, t.length, begin[:])
	}
	return took, err
}
