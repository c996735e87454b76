package requests

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
)

// TestStrangersShareNothingButTheirNetwork has somebody without a token use up a budget: others are of the same network, of another
// one, behind a proxy of ours, or say that they are.
func TestStrangersShareNothingButTheirNetwork(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t, func(c *config.Config) {
		c.CostBudget, c.CostRate = 300_000, 1
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.8.8.0/24")}
	})
	const public = `{ __schema { types { name } } }`
	// greedy asks for as much as there may be in one operation, twice, and pays for what it gets.
	greedy := `query { nodes(ids: [` + strings.Repeat(`"a" `, 100) + `]) { id } ` + strings.Repeat(`__typename `, 10)
	status := func(from, query string, headers ...string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/graphql?query="+url.QueryEscape(query), nil)
		require.NoError(t, err)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := clientAt(from).Do(r)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	wrong := func(from string, headers ...string) int { return status(from, greedy, headers...) } // without its last brace: 2,000 units
	exhaust := func(from string, headers ...string) {
		t.Helper()
		for range 400 {
			if wrong(from, headers...) == http.StatusTooManyRequests {
				return
			}
		}
		t.Fatal("the budget has no end")
	}
	exhaust("127.1.1.1")
	assert.Equal(t, http.StatusTooManyRequests, status("127.1.1.2", public), "of the same network")
	assert.Equal(t, http.StatusOK, status("127.2.2.2", public), "of another one")
	assert.Equal(t, http.StatusTooManyRequests, status("127.1.1.1", public, "X-Forwarded-For", "203.0.113.9"), "who is no proxy of ours may say what he likes")
	assert.Equal(t, http.StatusOK, status("127.8.8.8", public, "X-Forwarded-For", "203.0.113.9"))
	assert.Equal(t, http.StatusTooManyRequests, status("127.8.8.8", public, "X-Forwarded-For", "203.0.113.9, 127.1.1.7"), "he is believed only as far as proxies of ours go")
	assert.Equal(t, http.StatusTooManyRequests, status("127.8.8.8", public, "Forwarded", "for=127.1.1.7"))

	exhaust("127.8.8.8", "X-Forwarded-For", "2001:db8:1:200::1")
	assert.Equal(t, http.StatusTooManyRequests, status("127.8.8.8", public, "X-Forwarded-For", "2001:db8:1:2ff::2"), "of the same /56")
	assert.Equal(t, http.StatusOK, status("127.8.8.8", public, "X-Forwarded-For", "2001:db8:1:300::1"))

	ada := s.User("ada@example.com")
	assert.Equal(t, http.StatusOK, status("127.1.1.1", public, "Authorization", "Bearer "+ada.Token), "who has a token has a budget of his own")

	for from, want := range map[string]string{"127.1.1.3": `"EXHAUSTED"`, "127.2.2.3": `"__schema"`} {
		ws, _, err := websocket.Dial(t.Context(), strings.Replace(s.URL, "http", "ws", 1)+"/graphql",
			&websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}, HTTPClient: clientAt(from)})
		require.NoError(t, err)
		t.Cleanup(func() { _ = ws.CloseNow() })
		ws.SetReadLimit(1 << 20)
		for _, message := range []string{`{"type":"connection_init"}`, `{"type":"subscribe","id":"1","payload":{"query":"` + public + `"}}`} {
			require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(message)))
			_, text, err := ws.Read(t.Context())
			require.NoError(t, err)
			if !strings.Contains(string(text), "connection_ack") {
				assert.Contains(t, string(text), want, "on a socket from %s", from)
			}
		}
	}
}

// clientAt returns a client whose connections come from an address of this machine.
func clientAt(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, to)
		},
		DisableKeepAlives: true,
	}}
}
