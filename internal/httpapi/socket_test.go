package httpapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/request"
)

// TestSocketCloseCodes goes through everything that a client can do wrongly.
func TestSocketCloseCodes(t *testing.T) {
	subscribe := func(id, payload string) string {
		return `{"type":"subscribe","id":` + id + `,"payload":` + payload + `}`
	}
	tests := []struct {
		name   string
		before bool // before connection_init
		send   []string
		code   websocket.StatusCode
		says   string
	}{
		{"no JSON", true, []string{`hello`}, 4400, "JSON"},
		{"half of a JSON value", true, []string{`{"type":`}, 4400, "JSON"},
		{"two values", true, []string{`{"type":"ping"}{}`}, 4400, "goes on"},
		{"a list", true, []string{`[{"type":"ping"}]`}, 4400, "list"},
		{"bad UTF-8", true, []string{"{\"type\":\"ping\xff\"}"}, 4400, "UTF-8"},
		{"half of a character", true, []string{`{"type":"ping","payload":{"a":"\ud800"}}`}, 4400, "surrogate"},
		{"no type", true, []string{`{}`}, 4400, "type"},
		{"a type that is no text", true, []string{`{"type":1}`}, 4400, "type"},
		{"an unknown type", true, []string{`{"type":"start"}`}, 4400, "type"},
		{"a type of servers", true, []string{`{"type":"connection_ack"}`}, 4400, "type"},
		{"next from a client", false, []string{`{"type":"next","id":"1","payload":{}}`}, 4400, "type"},
		{"init with a payload of text", true, []string{`{"type":"connection_init","payload":"x"}`}, 4400, "payload"},
		{"init with a list", true, []string{`{"type":"connection_init","payload":[]}`}, 4400, "payload"},
		{"init with a token that is no text", true, []string{`{"type":"connection_init","payload":{"authorization":{}}}`}, 4400, "authorization"},
		{"ping with a number", true, []string{`{"type":"ping","payload":1}`}, 4400, "payload"},
		{"pong with a number", false, []string{`{"type":"pong","payload":1}`}, 4400, "payload"},
		{"ping with a long payload", false, []string{`{"type":"ping","payload":{"a":"` + strings.Repeat("x", 1024) + `"}}`}, 4400, "too long"},
		{"complete that is long", false, []string{`{"type":"complete","id":"1","x":"` + strings.Repeat("x", admission.BulkyBody) + `"}`}, 4400, "that long"},
		{"a type of another name", true, []string{`{"Type":"ping"}`}, 4400, "type"},
		{"subscribe without id", false, []string{`{"type":"subscribe","payload":{"query":"{ hello }"}}`}, 4400, "id"},
		{"subscribe with an empty id", false, []string{subscribe(`""`, `{"query":"{ hello }"}`)}, 4400, "id"},
		{"subscribe with a number as id", false, []string{subscribe(`1`, `{"query":"{ hello }"}`)}, 4400, "id"},
		{"subscribe with a long id", false, []string{subscribe(`"`+strings.Repeat("x", 129)+`"`, `{"query":"{ hello }"}`)}, 4400, "id"},
		{"subscribe without payload", false, []string{`{"type":"subscribe","id":"1"}`}, 4400, "payload"},
		{"subscribe with null", false, []string{subscribe(`"1"`, `null`)}, 4400, "payload"},
		{"subscribe with text", false, []string{subscribe(`"1"`, `"{ hello }"`)}, 4400, "payload"},
		{"subscribe without query", false, []string{subscribe(`"1"`, `{}`)}, 4400, "query"},
		{"subscribe with a query of another type", false, []string{subscribe(`"1"`, `{"query":{}}`)}, 4400, "query"},
		{"subscribe with variables of another type", false, []string{subscribe(`"1"`, `{"query":"{ hello }","variables":[]}`)}, 4400, "variables"},
		{"complete without id", false, []string{`{"type":"complete"}`}, 4400, "id"},
		{"subscribe before init", true, []string{subscribe(`"1"`, `{"query":"{ hello }"}`)}, 4401, "connection_ack"},
		{"subscribe while signing in", true, []string{`{"type":"connection_init","payload":{"authorization":"Bearer slow"}}`, subscribe(`"1"`, `{"query":"{ hello }"}`)}, 4401, "connection_ack"},
		{"a second init while signing in", true, []string{`{"type":"connection_init","payload":{"authorization":"Bearer slow"}}`, `{"type":"connection_init"}`}, 4429, "too many"},
		{"a second init", false, []string{`{"type":"connection_init"}`}, 4429, "too many"},
		{"an expired token", true, []string{`{"type":"connection_init","payload":{"authorization":"Bearer old"}}`}, 4403, "expired"},
		{"two tokens", true, []string{`{"type":"connection_init","payload":{"authorization":"x","Authorization":"y"}}`}, 4403, ""},
		{"an issuer that is away", true, []string{`{"type":"connection_init","payload":{"authorization":"Bearer away"}}`}, 1013, "issuer"},
		{"a sign-in that fails", true, []string{`{"type":"connection_init","payload":{"authorization":"Bearer broken"}}`}, 4500, present.Internal},
		{"an id that is taken", false, []string{subscribe(`"1"`, `{"query":"subscription { ticks(source: \"a\") }"}`), subscribe(`"1"`, `{"query":"{ hello }"}`)}, 4409, "id"},
		{"a large message of a stranger", true, []string{`{"type":"ping","payload":{"a":"` + strings.Repeat("x", 20_000) + `"}}`}, 1009, ""},
		{"a message larger than a body", false, []string{`{"type":"ping","payload":{"a":"` + strings.Repeat("x", request.MaxBody) + `"}}`}, 1009, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				c := th.open()
				if !tt.before {
					c.init("ada")
				}
				go func() { // the server may stop reading in the middle of the last one
					for _, text := range tt.send {
						_ = c.ws.Write(context.Background(), websocket.MessageText, []byte(text))
					}
				}()
				reason := c.closed(tt.code)
				assert.Contains(t, reason, tt.says)
				assert.NotContains(t, reason, "secret")
				synctest.Wait()
				assert.Zero(t, th.sockets.Open())
			})
		})
	}
}

// Clients put their token into connection_init under several names. Whoever sends one is that user or nobody's socket is opened.
func TestSocketFindsTheToken(t *testing.T) {
	for payload, code := range map[string]websocket.StatusCode{
		`{"Authorization":"Bearer ada"}`:                           0,
		`{"headers":{"Authorization":"Bearer ada"}}`:               0,
		`{"headers":{"authorization":"Bearer ada","x":1}}`:         0,
		`{"authToken":"ada"}`:                                      0,
		`{"token":"Bearer ada"}`:                                   0,
		`{"token":"ada","headers":{"AUTHORIZATION":"Bearer ada"}}`: 0,
		`{"headers":{"Authorization":"Bearer wrong"}}`:             connection.CodeForbidden,
		`{"authToken":"wrong"}`:                                    connection.CodeForbidden,
		`{"token":"wrong"}`:                                        connection.CodeForbidden,
		`{"token":""}`:                                             connection.CodeForbidden,
		`{"token":"ada","authToken":"eve"}`:                        connection.CodeForbidden,
		`{"token":1}`:                                              connection.CodeBadMessage,
		`{"headers":"Bearer ada"}`:                                 connection.CodeBadMessage,
		`{"headers":{"Authorization":["Bearer ada"]}}`:             connection.CodeBadMessage,
	} {
		t.Run(payload, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newTheatre(t).open()
				c.send(`{"type":"connection_init","payload":` + payload + `}`)
				if code != 0 {
					c.closed(code)
					return
				}
				assert.Equal(t, "connection_ack", c.read()["type"])
				c.subscribe("q", `{ viewer }`)
				c.expects(`{"type":"next","id":"q","payload":{"data":{"viewer":"` + string(adaID) + `"}}}`)
			})
		})
	}
}

func TestSocketTakesTextOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTheatre(t).open()
		require.NoError(t, c.ws.Write(context.Background(), websocket.MessageBinary, []byte(`{"type":"ping"}`)))
		c.closed(4400)
	})
}

func TestSocketHandshake(t *testing.T) {
	tests := []struct {
		name      string
		protocols []string
		headers   []string
		status    int
		code      websocket.StatusCode
	}{
		{"ours", []string{subprotocol}, nil, 101, 0},
		{"ours among others", []string{"graphql-ws", subprotocol}, nil, 101, 0},
		{"the legacy one", []string{"graphql-ws"}, nil, 400, 0},
		{"none", nil, nil, 101, 4406},
		{"a page of ours", []string{subprotocol}, []string{"Origin", "https://taggie.test"}, 101, 0},
		{"a page of an allowed origin", []string{subprotocol}, []string{"Origin", "https://spa.example"}, 101, 0},
		{"an allowed host by another scheme", []string{subprotocol}, []string{"Origin", "http://spa.example"}, 403, 0},
		{"another page", []string{subprotocol}, []string{"Origin", "https://evil.example"}, 403, 0},
		{"a page without origin", []string{subprotocol}, []string{"Origin", "null"}, 403, 0},
		{"a page whose host ends as ours", []string{subprotocol}, []string{"Origin", "https://not-taggie.test"}, 403, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				c, resp, err := th.try(tt.protocols, tt.headers...)
				require.Equal(t, tt.status, resp.StatusCode)
				if tt.status != http.StatusSwitchingProtocols {
					require.Error(t, err)
					assert.Contains(t, resp.Header.Get("Content-Type"), "json")
					assert.Zero(t, th.sockets.Open())
					return
				}
				require.NoError(t, err)
				synctest.Wait()
				assert.Equal(t, http.StatusSwitchingProtocols, int(th.logged("request")[0]["status"].(float64)))
				if tt.code != 0 {
					c.closed(tt.code)
					return
				}
				c.init("ada")
			})
		})
	}
}

func TestSocketRefusesAMalformedHandshakeInOurForm(t *testing.T) {
	s := newServer(t)
	a := s.get("/graphql", "Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "12")
	a.only(t, http.StatusBadRequest, "BAD_REQUEST")
	a = s.get("/graphql", "Upgrade", "websocket")
	a.only(t, http.StatusUpgradeRequired, "BAD_REQUEST")
}

func TestLocalSocketsNameThisMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.LocalOnly = true })
		_, resp, err := th.try([]string{subprotocol}) // as taggie.test, which might resolve to 127.0.0.1
		require.Error(t, err)
		assert.Equal(t, http.StatusForbidden, resp.StatusCode)
	})
}

func TestSocketTellsOfExpiryAndPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.open()
		expires := time.Now().Add(time.Minute).UTC().Format(time.RFC3339Nano)
		c.send(`{"type":"connection_init","payload":{"authorization":"Bearer brief"}}`)
		c.expects(`{"type":"connection_ack","payload":{"expiresAt":"` + expires + `","pingInterval":20000}}`)
		c = th.open()
		c.send(`{"type":"connection_init"}`)
		c.expects(`{"type":"connection_ack","payload":{"pingInterval":20000}}`)
	})
}

func TestSocketPingsAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTheatre(t).open()
		c.send(`{"type":"ping"}`)
		c.expects(`{"type":"pong"}`)
		c.send(`{"type":"pong","payload":{}}`)
		c.send(`{"type":"ping","payload":null}`)
		c.expects(`{"type":"pong"}`)
		c.send(`{"type":"connection_init","payload":{"authorization":"Bearer slow"}}`)
		c.send(`{"type":"ping","payload": {"a": 1} }`)
		c.expects(`{"type":"pong","payload":{"a":1}}`)
		c.expects(`{"type":"connection_ack","payload":{"pingInterval":20000}}`)
	})
}

func TestSocketViewer(t *testing.T) {
	tests := []struct{ name, header, payload, viewer string }{
		{"payload", "", `{"authorization":"Bearer ada"}`, string(adaID)},
		{"payload, capital", "", `{"Authorization":"Bearer ada"}`, string(adaID)},
		{"header", "Bearer ada", `{}`, string(adaID)},
		{"header and null", "Bearer ada", `{"authorization":null}`, string(adaID)},
		{"payload before header", "Bearer old", `{"authorization":"Bearer ada"}`, string(adaID)},
		{"nobody", "", `{}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				var headers []string
				if tt.header != "" {
					headers = []string{"Authorization", tt.header}
				}
				c := th.open(headers...)
				c.send(`{"type":"connection_init","payload":` + tt.payload + `}`)
				require.Equal(t, "connection_ack", c.read()["type"])
				c.subscribe("1", `{ viewer }`)
				c.expects(`{"type":"next","id":"1","payload":{"data":{"viewer":"` + tt.viewer + `"}}}`)
				c.expects(`{"type":"complete","id":"1"}`)
			})
		})
	}
}

func TestSocketBelongsToWhoSignsUpOnIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada2")
		c.subscribe("1", `mutation { signUp }`)
		c.expects(`{"type":"next","id":"1","payload":{"data":{"signUp":"world"}}}`)
		c.expects(`{"type":"complete","id":"1"}`)
		c.subscribe("1", `{ viewer }`)
		c.expects(`{"type":"next","id":"1","payload":{"data":{"viewer":"new"}}}`)
		c.expects(`{"type":"complete","id":"1"}`)
		th.sockets.CloseUser("new", time.Now())
		c.closed(4403)
	})
}

func TestCloseUserClosesNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		first, second, other, nobody := th.ready("ada"), th.ready("ada"), th.ready("ada2"), th.ready("")
		th.sockets.CloseUser(adaID, time.Now())
		first.closed(4403)
		second.closed(4403)
		th.sockets.CloseUser("", time.Now())
		for _, c := range []*client{other, nobody} {
			c.send(`{"type":"ping"}`)
			c.expects(`{"type":"pong"}`)
		}
	})
}

func TestSocketsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.Sockets = connection.NewRegistry(connection.Bounds{Sockets: 4, PerUser: 2}) })
		first := th.ready("ada")
		th.ready("ada")
		third := th.open()
		third.send(`{"type":"connection_init","payload":{"authorization":"Bearer ada"}}`)
		third.closed(1013)
		synctest.Wait()
		th.ready("ada2")
		th.open()
		_, resp, err := th.try([]string{subprotocol})
		require.Error(t, err)
		assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
		assert.NotEmpty(t, resp.Header.Get("Retry-After"))
		require.NoError(t, first.ws.Close(websocket.StatusNormalClosure, ""))
		synctest.Wait()
		assert.Equal(t, 3, th.sockets.Open())
		th.ready("ada")
	})
}

func TestMessagesOfNobodyAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		long := `{"type":"subscribe","id":"1","payload":{"query":"{ hello }","variables":{"a":"` + strings.Repeat("x", admission.BulkyBody) + `"}}}`
		c := th.ready("ada")
		c.send(long)
		c.expects(`{"type":"next","id":"1","payload":{"data":{"hello":"world"}}}`)
		c = th.ready("")
		c.subscribe("1", `{ hello }`)
		c.expects(`{"type":"next","id":"1","payload":{"data":{"hello":"world"}}}`)
		c.expects(`{"type":"complete","id":"1"}`)
		go func() { _ = c.ws.Write(context.Background(), websocket.MessageText, []byte(long)) }()
		c.closed(websocket.StatusMessageTooBig)
	})
}

// TestMuteSocketsKeepNobodyOut opens more sockets than there may be, and says nothing on them.
func TestMuteSocketsKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.Sockets = connection.NewRegistry(connection.Bounds{Sockets: 8, PerUser: 3}) })
		first := th.ready("ada")
		for range 20 {
			th.open()
			synctest.Wait()
			assert.LessOrEqual(t, th.sockets.Open(), 3)
		}
		th.ready("ada")
		th.begin(http.MethodGet, "/graphql?query="+url.QueryEscape(`subscription { ticks(source: "a") }`), "", ada...).opened()
		first.subscribe("1", `{ hello }`)
		first.expects(`{"type":"next","id":"1","payload":{"data":{"hello":"world"}}}`)
	})
}

func TestSocketLogsWhatItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.open("X-Request-Id", "mine")
		c.init("ada")
		c.subscribe("1", `{ panics }`)
		shown := c.refused("1", "INTERNAL")
		assert.Equal(t, "mine.1", shown["extensions"].(map[string]any)["requestId"])
		assert.NotContains(t, fmt.Sprint(shown), "secret")
		c.subscribe("1", `subscription { panics }`)
		assert.Equal(t, "mine.2", c.refused("1", "INTERNAL")["extensions"].(map[string]any)["requestId"])
		require.NoError(t, c.ws.Close(websocket.StatusNormalClosure, ""))
		synctest.Wait()
		require.Len(t, th.logged("panic"), 2)
		assert.Equal(t, "mine.1", th.logged("panic")[0]["request_id"])
		end := th.logged("socket closed")
		require.Len(t, end, 1)
		assert.InDelta(t, 1000, end[0]["code"], 0)
		assert.InDelta(t, 2, end[0]["operations"], 0)
	})
}

// TestSocketOfWhoSpeaksNoWebSocket sends what is no frame of a client: one without a mask, one with reserved bits, a long ping.
func TestSocketOfWhoSpeaksNoWebSocket(t *testing.T) {
	for reason, frame := range map[string]string{
		"no mask":           "\x81\x02{}",
		"a reserved opcode": "\x83\x80\x00\x00\x00\x00",
		"a reserved bit":    "\xF1\x80\x00\x00\x00\x00",
		"a ping in parts":   "\x09\x80\x00\x00\x00\x00",
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				var raw net.Conn
				dial := th.dial
				th.dial = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
					raw, err = dial(ctx, network, address)
					return raw, err
				}
				c := th.ready("ada")
				go func() { _, _ = raw.Write([]byte(frame)) }()
				c.closed(1002)
				synctest.Wait()
				assert.Zero(t, th.sockets.Open())
			})
		})
	}
}

// TestSocketAnswersPingsOfTheWebSocketItself is about frames, not messages.
func TestSocketAnswersPingsOfTheWebSocketItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTheatre(t).ready("ada")
		reading := c.ws.CloseRead(context.Background())
		require.NoError(t, c.ws.Ping(context.Background()))
		require.NoError(t, reading.Err())
	})
}
