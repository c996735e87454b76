package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// siege measures what a normal client notices of hostile ones.
type siege struct {
	options
	server *process
	api    *api
	normal string   // tokens
	enemy  []string // of hostile users
	filled bool     // with what answers that nobody reads are made of
}

// attack is one kind of hostile request.
type attack struct {
	name string
	// prepare makes what send needs; nil when it needs nothing.
	prepare func(s *siege, ctx context.Context) error
	// send makes one request, and returns how it was refused.
	send func(ctx context.Context, s *siege, client *http.Client, token string) (status int, err error)
}

// measureSiege has a normal client ask, alone and beside hostile ones of each kind, and prints what it notices of them. The
// server runs as under `make run` but with one core.
func measureSiege(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "taggie-bench-hostile-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := startAlone(ctx, o, "TAGGIE_DATA="+dir, "TAGGIE_LOG_LEVEL=error")
	if err != nil {
		return err
	}
	defer server.stop()
	s := siege{options: o, server: server, api: &api{url: server.url}}
	if err := s.prepare(ctx, dir); err != nil {
		return fmt.Errorf("prepare for hostile clients: %w", err)
	}
	out := siegeReport{to: os.Stdout}
	out.begin(o)
	for _, a := range append(attacks(), heavyAttacks()...) {
		if !strings.Contains(a.name, o.hostileKind) {
			continue
		}
		if a.prepare != nil {
			if err := a.prepare(&s, ctx); err != nil {
				return fmt.Errorf("prepare %s: %w", a.name, err)
			}
		}
		alone, err := s.watch(ctx, nil)
		if err != nil {
			return err
		}
		beside, err := s.watch(ctx, &a)
		if err != nil {
			return fmt.Errorf("beside %s: %w", a.name, err)
		}
		out.add(a.name, alone, beside)
	}
	return nil
}

// prepare signs up everybody, and gives the normal client some notes.
func (s *siege) prepare(ctx context.Context, dir string) error {
	mint, err := tokens(dir)
	if err != nil {
		return err
	}
	for i := range 1 + s.hostileUsers {
		email := fmt.Sprintf("user-%d@example.com", i)
		token, err := mint(email)
		if err != nil {
			return err
		}
		if _, err := s.api.ask(ctx, token, `mutation($e: String!) { createUser(input: {name: "Somebody", email: $e}) { user { id } } }`, vars{"e": email}); err != nil {
			return err
		}
		if s.normal == "" {
			s.normal = token
		} else {
			s.enemy = append(s.enemy, token)
		}
	}
	for i := range 20 {
		if _, err := s.api.ask(ctx, s.normal, `mutation($t: String!) { createNote(input: {title: $t, content: "Something to do"}) { note { id } } }`, vars{"t": fmt.Sprintf("Note %d", i)}); err != nil {
			return err
		}
	}
	return nil
}

// usual is what the normal client asks, twenty times a second.
const usual = `{ viewer { id name notes(first: 20) { nodes { title deadline tags { value } latestVersion { number } } } } }`

// seen is what was measured while the normal client asked.
type seen struct {
	latencies []time.Duration
	cpu       float64 // of the one core
	resident  int64
	seconds   float64
	statuses  map[int]int // of hostile requests; 0 for connections that were cut
}

// watch has the normal client ask, beside an attack unless that is nil.
func (s *siege) watch(ctx context.Context, a *attack) (seen, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := seen{statuses: make(map[int]int)}
	var mu sync.Mutex
	var enemies sync.WaitGroup
	if a != nil {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: s.hostile, DisableCompression: true}}
		defer client.CloseIdleConnections()
		for i := range s.hostile {
			enemies.Go(func() {
				for ctx.Err() == nil {
					status, err := a.send(ctx, s, client, s.enemy[i%len(s.enemy)])
					if ctx.Err() != nil {
						return
					}
					if err != nil {
						status = 0
					}
					mu.Lock()
					result.statuses[status]++
					mu.Unlock()
				}
			})
		}
	}
	// The budget of hostile clients is full at first.
	const warmUp, pace = 4 * time.Second, 50 * time.Millisecond
	began := time.Now()
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	var cpu time.Duration
	resident := peak(s.server.family)
	warm := false
	for time.Since(began) < warmUp+s.siege {
		if !warm && time.Since(began) >= warmUp {
			warm = true
			var err error
			if cpu, err = s.server.cpu(); err != nil {
				return seen{}, err
			}
		}
		asked := time.Now()
		if _, err := s.api.ask(ctx, s.normal, usual, nil); err != nil {
			return seen{}, fmt.Errorf("the normal client: %w", err)
		}
		if warm {
			result.latencies = append(result.latencies, time.Since(asked))
		}
		<-ticks.C
	}
	used, err := s.server.cpu()
	if err != nil {
		return seen{}, err
	}
	result.cpu = (used - cpu).Seconds() / s.siege.Seconds()
	if result.resident, err = resident(); err != nil {
		return seen{}, err
	}
	result.seconds = time.Since(began).Seconds()
	cancel()
	enemies.Wait()
	return result, nil
}

// attacks are those that the limits are for.
func attacks() []attack {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	document := func(name, text string) attack {
		var sent atomic.Int64
		return attack{name: name, send: func(ctx context.Context, s *siege, client *http.Client, token string) (int, error) {
			body, err := json.Marshal(map[string]any{"query": fmt.Sprintf("#%d\n", sent.Add(1)) + text}) // no document twice
			if err != nil {
				return 0, err
			}
			status, _, err := s.post(ctx, client, token, bytes.NewReader(body), nil)
			return status, err
		}}
	}
	body := func(name string, text []byte, headers http.Header) attack {
		return attack{name: name, send: func(ctx context.Context, s *siege, client *http.Client, token string) (int, error) {
			status, _, err := s.post(ctx, client, token, bytes.NewReader(text), headers)
			return status, err
		}}
	}
	return []attack{
		document("aliases", "{ viewer {"+repeat(3_000, " a%d: name")+" } }"),
		document("aliases that conflict", "{ viewer {"+strings.Repeat(" a: id a: name", 31)+" } }"),
		document("directives", "{ viewer { name"+strings.Repeat(" @x", 900)+" } }"),
		document("fields", "{ viewer {"+strings.Repeat(" name", 990)+" } }"),
		document("fields that do not exist", "{ viewer {"+repeat(980, " naem%d")+" } }"),
		document("fragments", "{ viewer {"+repeat(50, " ...f%d")+" no } }"+repeat(50, " fragment f%[1]d on User { a%[1]d: name }")),
		document("deep recursion", strings.Repeat("{...", 80_000)),
		document("circular fragments", "{ viewer { ...a } } fragment a on User { name ...b } fragment b on User { name ...a }"),
		document("introspection bombs", "{ __schema { types {"+repeat(90, " a%d: fields { name type { name } }")+" } } }"),
		document("whole introspection", "{ __schema { types { name fields { name args { name type { name } } type { name ofType { name ofType { name } } } } } } }"),
		document("large pages", "{ viewer { notes(first: 500) { nodes { title versions(first: 100) { nodes { number } } } } } }"),
		body("huge bodies", bytes.Repeat([]byte(" "), 4<<20), nil),
		body("bodies of 3 MiB of text", []byte(`{"query":"{ no }","variables":{"a":"`+strings.Repeat("x", 3_000_000)+`"}}`), nil),
		body("bodies of many values", []byte(`{"query":"{ no }","variables":{"a":[`+strings.Repeat("1,", 1_500_000)+`1]}}`), nil),
		body("bodies of 200,000 values", []byte(`{"query":"{ no }","variables":{"a":[`+strings.Repeat("1,", 199_000)+`1]}}`), nil),
		body("bad UTF-8", []byte("{\"query\":\"{ viewer { name } } #\xff\"}"), nil),
		body("batches", []byte("["+strings.Repeat(`{"query":"{ viewer { name } }"},`, 1_000)+"{}]"), nil),
		body("compressed bombs", []byte("\x1f\x8b"), http.Header{"Content-Encoding": {"gzip"}}),
		{name: "slow bodies", send: func(ctx context.Context, s *siege, _ *http.Client, token string) (int, error) {
			return s.dribble(ctx, token)
		}},
	}
}

// post sends a body, which may be hostile.
func (s *siege) post(ctx context.Context, client *http.Client, token string, body io.Reader, headers http.Header) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server.url+"/graphql", body)
	if err != nil {
		return 0, nil, err
	}
	for name, values := range headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/graphql-response+json")
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, errors.Join(err, response.Body.Close())
}

// dribble opens a connection and sends a byte of a body now and then.
func (s *siege) dribble(ctx context.Context, token string) (int, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(s.server.url, "http://"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "POST /graphql HTTP/1.1\r\nHost: "+strings.TrimPrefix(s.server.url, "http://")+"\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	for err == nil {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(100 * time.Millisecond):
			_, err = io.WriteString(conn, " ")
		}
	}
	return 0, err
}
