package main

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/embedded"
)

// importEngine is the embedded DynamoDB with tables that are new.
type importEngine struct {
	client *dynamodb.Client
	db     *dynamo.DB
	calls  *calls
	stop   func()
}

// startEngine starts an engine in a new directory. done is told of every call that succeeded, if it is not nil.
func (b imports) startEngine(ctx context.Context, done func(operation string, body []byte) error) (*importEngine, error) {
	dir, err := os.MkdirTemp(b.dir, "dynamodb-")
	if err != nil {
		return nil, err
	}
	engines, err := embedded.Start(ctx, embedded.Options{Dir: dir, DynamoDB: true, InMemory: b.inMemory})
	if err != nil {
		return nil, err
	}
	e := &importEngine{calls: &calls{done: done}, stop: func() {
		stopEngines(ctx, engines)
		_ = os.RemoveAll(dir)
	}}
	options := clientOptions(engines.DynamoDB)
	options.Wrap = func(next http.RoundTripper) http.RoundTripper {
		e.calls.next = next
		return e.calls
	}
	if e.client, err = awsclient.DynamoDB(ctx, options); err == nil {
		e.db = dynamo.New(dynamo.Options{Client: e.client, TablePrefix: prefix})
		err = e.db.ApplyTables(ctx, func(dynamo.Step) {})
	}
	if err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

// startBucket starts the embedded S3 and makes a bucket in it.
func startBucket(ctx context.Context, dir string) (*blob.Bucket, func(), error) {
	engines, err := embedded.Start(ctx, embedded.Options{Dir: dir, S3: true})
	if err != nil {
		return nil, nil, err
	}
	stop := func() { stopEngines(ctx, engines) }
	options := clientOptions(engines.S3)
	client, err := awsclient.S3(ctx, options)
	if err == nil {
		bucket := blob.NewBucket(client, "bench", options.Region, nil)
		if err = bucket.Apply(ctx, func(blob.Step) {}); err == nil {
			return bucket, stop, nil
		}
	}
	stop()
	return nil, nil, err
}

func stopEngines(ctx context.Context, engines *embedded.Engines) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_ = engines.Stop(ctx) // what they hold is thrown away
}

func clientOptions(e embedded.Endpoint) awsclient.Options {
	o := awsclient.Options{Endpoint: e.URL, Region: e.Region, Credentials: awsclient.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey}}
	if e.Socket != "" {
		o.Dial = e.Dial
	}
	return o
}

// calls counts the calls of DynamoDB by operation.
type calls struct {
	next http.RoundTripper
	done func(operation string, body []byte) error

	mu    sync.Mutex
	count map[string]int64
}

// RoundTrip counts the call and passes it on.
func (c *calls) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c.mu.Lock()
	if c.count == nil {
		c.count = map[string]int64{}
	}
	c.count[operation]++
	c.mu.Unlock()
	response, err := c.next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK || c.done == nil {
		return response, err // what is tried again was not done
	}
	if err := c.tell(operation, r); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

func (c *calls) tell(operation string, r *http.Request) error {
	body, err := r.GetBody()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return c.done(operation, text)
}

func (c *calls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.count)
}

func (c *calls) all() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.count)
}

// watchHeap looks at the heap, garbage included, until the returned function is called, which returns the most that was seen.
func watchHeap() func() uint64 {
	done, found := make(chan struct{}), make(chan uint64, 1)
	go func() {
		var most uint64
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		every := time.NewTicker(10 * time.Millisecond)
		defer every.Stop()
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-done:
				found <- most
				return
			case <-every.C:
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-found
	}
}
