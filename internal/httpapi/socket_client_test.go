package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi/response"
)

// client is one socket as its client sees it.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

// open opens a socket; headers are names and values in turn.
func (th *theatre) open(headers ...string) *client {
	th.t.Helper()
	c, resp, err := th.try([]string{subprotocol}, headers...)
	require.NoError(th.t, err)
	require.Equal(th.t, http.StatusSwitchingProtocols, resp.StatusCode)
	return c
}

func (th *theatre) try(subprotocols []string, headers ...string) (*client, *http.Response, error) {
	th.t.Helper()
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	transport := &http.Transport{DialContext: th.dial, DisableKeepAlives: true}
	ws, resp, err := websocket.Dial(context.Background(), "ws://taggie.test"+th.options.PathPrefix+"/graphql", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: h, Subprotocols: subprotocols,
	})
	if err != nil {
		return nil, resp, err
	}
	ws.SetReadLimit(-1)
	th.t.Cleanup(func() { _ = ws.CloseNow() })
	return &client{th.t, ws}, resp, nil
}

// ready opens a socket and introduces it.
func (th *theatre) ready(token string) *client {
	th.t.Helper()
	c := th.open()
	c.init(token)
	return c
}

func (c *client) init(token string) {
	c.t.Helper()
	payload := "{}"
	if token != "" {
		payload = `{"authorization":"Bearer ` + token + `"}`
	}
	c.send(`{"type":"connection_init","payload":` + payload + `}`)
	require.Equal(c.t, "connection_ack", c.read()["type"])
}

func (c *client) send(text string) {
	c.t.Helper()
	require.NoError(c.t, c.ws.Write(context.Background(), websocket.MessageText, []byte(text)))
}

func (c *client) subscribe(id, query string) {
	c.t.Helper()
	c.send(`{"type":"subscribe","id":"` + id + `","payload":{"query":` + string(response.Encode(query)) + `}}`)
}

func (c *client) complete(id string) {
	c.t.Helper()
	c.send(`{"type":"complete","id":"` + id + `"}`)
}

func (c *client) read() map[string]any {
	c.t.Helper()
	_, data, err := c.ws.Read(context.Background())
	require.NoError(c.t, err)
	var m map[string]any
	require.NoError(c.t, json.Unmarshal(data, &m), string(data))
	return m
}

// expects reads one message and compares it.
func (c *client) expects(text string) {
	c.t.Helper()
	_, data, err := c.ws.Read(context.Background())
	require.NoError(c.t, err)
	require.JSONEq(c.t, text, string(data))
}

// refused reads one message, the error of an operation, and returns its only error.
func (c *client) refused(id, code string) map[string]any {
	c.t.Helper()
	m := c.read()
	require.Equal(c.t, "error", m["type"], m)
	require.Equal(c.t, id, m["id"])
	list := m["payload"].([]any)
	require.Len(c.t, list, 1)
	first := list[0].(map[string]any)
	require.Equal(c.t, code, first["extensions"].(map[string]any)["code"], first)
	return first
}

// closed asserts that nothing but the end with this code comes, and returns the reason.
func (c *client) closed(code websocket.StatusCode) string {
	c.t.Helper()
	_, data, err := c.ws.Read(context.Background())
	require.Error(c.t, err, string(data))
	var end websocket.CloseError
	require.ErrorAs(c.t, err, &end)
	require.Equal(c.t, code, end.Code, end.Reason)
	return end.Reason
}
