package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/taggie/taggie/internal/httpapi/request"
)

// hostile are documents that ask for far too much, with the code and a part of the message that refuse them.
var hostile = []struct{ reason, document, code, says string }{
	{"a flood of aliases", "{ viewer {" + numbered(100_000, " a%d: name") + " } }", "BAD_REQUEST", "bytes"},
	{"a flood of aliases in few bytes", "{ viewer {" + numbered(3_000, " a%d: name") + " } }", "GRAPHQL_PARSE_FAILED", "token limit"},
	{"a flood of aliases in few tokens", "{ viewer {" + numbered(300, " a%d: name") + " } }", "BAD_REQUEST", "aliases"},
	{"aliases that conflict", "{ viewer {" + strings.Repeat(" a: id a: name", 90) + " } }", "BAD_REQUEST", "same name"},
	{"aliases at the root", "{" + numbered(60, " a%d: viewer { name }") + " }", "BAD_REQUEST", "root fields"},
	{"a flood of directives", "{ viewer { name" + strings.Repeat(" @x", 20_000) + " } }", "GRAPHQL_PARSE_FAILED", "token limit"},
	{"a flood of directives in few tokens", "{ viewer { name" + strings.Repeat(" @include(if: true)", 130) + " } }", "BAD_REQUEST", "directives"},
	{"a flood of fields", "{ viewer {" + strings.Repeat(" name", 50_000) + " } }", "GRAPHQL_PARSE_FAILED", "token limit"},
	{"a flood of fields in few tokens", "{ viewer {" + strings.Repeat(" name", 900) + " } }", "BAD_REQUEST", "same name"},
	{"a flood of fields by fragments", multiplying(5), "BAD_REQUEST", "1000 fields"},
	{"a flood of fragments", "{ viewer {" + numbered(80, " ...f%d") + " } }" + numbered(80, " fragment f%d on User { name }"), "BAD_REQUEST", "50 fragments"},
	{"a flood of inline fragments", "{ viewer {" + strings.Repeat(" ... { name }", 200) + " } }", "BAD_REQUEST", "same name"},
	{"deep recursion", strings.Repeat("{a", 150_000), "GRAPHQL_PARSE_FAILED", "token limit"},
	{"deep recursion of inline fragments", strings.Repeat("{...", 80_000), "GRAPHQL_PARSE_FAILED", "token limit"},
	{"deep recursion in few tokens", nested(100), "BAD_REQUEST", "deeper than 15"},
	{"lists in lists", "{ nodes(ids: " + strings.Repeat("[", 100_000), "GRAPHQL_PARSE_FAILED", "token limit"},
	{"circular fragments", "{ viewer { ...a } } fragment a on User { name ...b } fragment b on User { name ...a }", "GRAPHQL_VALIDATION_FAILED", "itself"},
	{"circular fragments, all with all", "{ viewer { ...f0 } }" + tangled(20, func(int, int) bool { return true }), "BAD_REQUEST", "1000 fields"},
	{"long names", "{ viewer { " + strings.Repeat("name", 80_000) + " } }", "BAD_REQUEST", "a name has more"},
	{"introspection by aliases", "{ __schema { types {" + numbered(90, " a%d: fields { name type { name } }") + " } } }", "BAD_REQUEST", "is the limit"},
	{"introspection of introspection", "{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }", "GRAPHQL_VALIDATION_FAILED", "introspection depth"},
	{"long lists in long lists", "{ viewer { notes(first: 500) { nodes { tags { notes(first: 500) { nodes { content } } } } } } }", "BAD_REQUEST", "is the limit"},
}

// untouched is a server whose stores must not be asked.
func untouched(t *testing.T, change ...func(*Options)) *server {
	s := newServer(t, change...)
	s.people.read = func(context.Context) error { t.Error("something was read"); return nil }
	return s
}

// allocates returns how many bytes are allocated meanwhile.
func allocates(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// bearable is what a request that is refused may allocate: a few times its bytes, and a few megabytes.
func bearable(bytes int) uint64 { return uint64(8*bytes + 8<<20) }

func TestHostileDocumentsAreRefused(t *testing.T) {
	s := untouched(t)
	for _, test := range hostile {
		t.Run(test.reason, func(t *testing.T) {
			var a answer
			spent := allocates(func() { a = s.ask(test.document, nil, "Accept", mediaResponse) })
			status := http.StatusUnprocessableEntity
			if test.code == "GRAPHQL_PARSE_FAILED" {
				status = http.StatusBadRequest
			}
			require.Equal(t, status, a.Code)
			require.NotEmpty(t, a.Errors)
			assert.Equal(t, test.code, a.Errors[0].Extensions["code"], a.Errors[0].Message)
			assert.Contains(t, a.Errors[0].Message, test.says)
			assert.Nil(t, a.Data)
			assert.Less(t, a.Body.Len(), 16<<10, "the answer")
			assert.Less(t, spent, bearable(len(test.document)), "bytes allocated")
		})
	}
	assert.Empty(t, s.logged("panic"))
}

func TestHostileDocumentsAreRefusedOverSockets(t *testing.T) {
	schema := untouched(t).options.Schema
	for _, test := range hostile {
		t.Run(test.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t, func(o *Options) { o.Schema = schema })
				th.people.read = func(context.Context) error { t.Error("something was read"); return nil }
				c := th.ready("ada")
				c.subscribe("1", test.document)
				m := c.read()
				require.Equal(t, "error", m["type"])
				first := m["payload"].([]any)[0].(map[string]any)
				assert.Equal(t, test.code, first["extensions"].(map[string]any)["code"])
				assert.Contains(t, first["message"], test.says)
				c.send(`{"type":"ping"}`)
				assert.Equal(t, "pong", c.read()["type"], "the socket is as it was")
			})
		})
	}
}

// endless is a body that never ends; it counts what was read of it.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	e.read += len(b)
	return len(b), nil
}

func TestHostileBodiesAreRefused(t *testing.T) {
	s := untouched(t)
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	_, err := io.CopyN(zip, &endless{}, 64<<20)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	for _, test := range []struct {
		reason, body string
		headers      []string
		status       int
		says         string
	}{
		{"a huge body", strings.Repeat(" ", 20<<20), nil, http.StatusRequestEntityTooLarge, "larger than"},
		{"a compressed bomb", bomb.String(), []string{"Content-Encoding", "gzip"}, http.StatusUnsupportedMediaType, "compressed"},
		{"bad UTF-8", "{\"query\":\"{ viewer { name } } #\xff\xfe\"}", nil, http.StatusBadRequest, "UTF-8"},
		{"a batch", `[` + strings.Repeat(`{"query":"{ viewer { name } }"},`, 50_000) + `{}]`, nil, http.StatusBadRequest, "not batched"},
		{"lists in lists", `{"query":"{ viewer { name } }","variables":{"a":` + strings.Repeat("[", 90_000) + `}}`, nil, http.StatusBadRequest, "not JSON"},
		{"objects in objects", `{"query":"{ viewer { name } }","variables":` + strings.Repeat(`{"a":`, 90_000) + `}`, nil, http.StatusBadRequest, "not JSON"},
		{"a flood of numbers", `{"query":"{ viewer { name } }","variables":{"a":[` + strings.Repeat("1,", 1_500_000) + `1]}}`, nil, http.StatusBadRequest, "200000 values"},
		{"a flood of objects", `{"query":"{ viewer { name } }","variables":{"a":[` + strings.Repeat("{},", 1_000_000) + `1]}}`, nil, http.StatusBadRequest, "200000 values"},
		{"a multipart form", "--x\r\n", []string{"Content-Type", "multipart/form-data; boundary=x"}, http.StatusUnsupportedMediaType, "requestUpload"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			var a answer
			spent := allocates(func() { a = s.post(test.body, append([]string{"Authorization", "Bearer ada"}, test.headers...)...) })
			assert.Contains(t, a.only(t, test.status, "BAD_REQUEST").Message, test.says)
			assert.Less(t, spent, bearable(min(len(test.body), request.MaxBody)), "bytes allocated")
		})
	}
	t.Run("a body without an end", func(t *testing.T) {
		body := &endless{}
		r := httptest.NewRequest(http.MethodPost, "/graphql", body)
		r.ContentLength = -1
		r.Header.Set("Content-Type", request.JSON)
		spent := allocates(func() { s.do(r).only(t, http.StatusRequestEntityTooLarge, "BAD_REQUEST") })
		assert.Less(t, body.read, 2*request.MaxBody, "it is not read on")
		assert.Less(t, spent, bearable(request.MaxBody), "bytes allocated")
	})
	assert.Empty(t, s.logged("panic"))
}

// A slow client is cut off when the time for a request is up, on the test's clock, and has held nothing but its connection.
func TestSlowBodiesAreCutOff(t *testing.T) {
	for reason, request := range map[string]string{
		"a body":  "POST /graphql HTTP/1.1\r\nHost: taggie.test\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{\"query\":\"",
		"headers": "POST /graphql HTTP/1.1\r\nHost: taggie.test\r\nX-Slow: ",
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				conn, err := th.dial(t.Context(), "tcp", "")
				require.NoError(t, err)
				began := time.Now()
				var sending sync.WaitGroup
				sending.Go(func() { // a byte each second
					_, err := io.WriteString(conn, request)
					for err == nil {
						time.Sleep(time.Second)
						_, err = io.WriteString(conn, "a")
					}
				})
				answered, _ := io.ReadAll(conn) // until the server hangs up
				assert.LessOrEqual(t, time.Since(began), 20*time.Second)
				sending.Wait()
				if len(answered) > 0 {
					assert.Contains(t, string(answered), " 40", "a status that blames the client")
				}
				assert.Empty(t, th.counted(), "nothing was carried out")
			})
		})
	}
}

// Sockets agree on no compression, so that no small message can become a large one.
func TestSocketsAreNotCompressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		_, resp, err := th.try([]string{subprotocol}, "Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")
		require.NoError(t, err)
		assert.Empty(t, resp.Header.Get("Sec-WebSocket-Extensions"))
	})
}

// Who sends nothing but what is refused is soon not looked at any more; others notice nothing of that.
func TestTheBudgetShutsHostileClientsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // refusals are held back
		s := newServer(t, withBudget(newPurse()), func(o *Options) { o.Auth = bearers{} })
		looked := 0
		for i := range 600 {
			body, err := json.Marshal(map[string]any{"query": fmt.Sprintf("#%d\n", i) + hostile[i%len(hostile)].document})
			require.NoError(t, err)
			a := s.post(string(body), "Authorization", "Bearer ada2")
			require.NotEmpty(t, a.Errors)
			if a.Code != http.StatusTooManyRequests {
				looked++
			}
			if i%100 == 0 {
				require.Empty(t, s.ask(`{ viewer { name } }`, nil).Errors)
			}
		}
		assert.Less(t, looked, purseSize/refusedCost)
	})
}
