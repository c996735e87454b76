package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// What a hostile user asks for and does not read: 200 notes of 310 KB.
const (
	heavyNotes = 200
	heavyNote  = 310_000
	heavy      = "{ viewer { notes(first: 200) { nodes { content } } } }"
)

// heavyAttacks take up memory where they can: answers that nobody reads, and images that are small until they are decoded.
func heavyAttacks() []attack {
	return []attack{
		{name: "unread answers", prepare: (*siege).fill, send: func(ctx context.Context, s *siege, _ *http.Client, token string) (int, error) {
			return s.ignoreAnswer(ctx, token)
		}},
		{name: "unread answers, on sockets", prepare: (*siege).fill, send: func(ctx context.Context, s *siege, _ *http.Client, token string) (int, error) {
			return s.ignoreMessages(ctx, token)
		}},
		picture("images of 1 by 40,000,000", func() image.Image { return image.NewGray(image.Rect(0, 0, 1, 40_000_000)) }),
		picture("images of 40 megapixels", func() image.Image { return image.NewGray(image.Rect(0, 0, 8_000, 5_000)) }),
		picture("images of 16 bits", func() image.Image { return image.NewGray16(image.Rect(0, 0, 6_000, 6_000)) }),
		picture("images with a palette", func() image.Image {
			return image.NewPaletted(image.Rect(0, 0, 8_000, 5_000), color.Palette{color.Black, color.White})
		}),
	}
}

// fill gives each hostile user the notes of which an answer of 62 MB is made.
func (s *siege) fill(ctx context.Context) error {
	if s.filled {
		return nil
	}
	content := strings.Repeat("x", heavyNote)
	for _, token := range s.enemy {
		for i := range heavyNotes {
			_, err := s.api.ask(ctx, token, `mutation($t: String!, $c: String!) { createNote(input: {title: $t, content: $c}) { note { id } } }`,
				vars{"t": fmt.Sprintf("Heavy %d", i), "c": content})
			if err != nil {
				return err
			}
		}
	}
	s.filled = true
	return nil
}

// ignoreAnswer asks for a heavy answer and reads its status only. It keeps the connection until the server ends it.
func (s *siege) ignoreAnswer(ctx context.Context, token string) (int, error) {
	address := strings.TrimPrefix(s.server.url, "http://")
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	body := `{"query":"` + heavy + `"}`
	_, err = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nAuthorization: Bearer %s\r\n\r\n%s",
		address, len(body), token, body)
	if err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		err = wait(ctx, unread)
	}
	return response.StatusCode, err
}

// unread is longer than the server waits for a client that reads nothing.
const unread = time.Minute

// ignoreMessages opens a socket, asks sixteen times for a heavy answer, and reads nothing of what comes.
func (s *siege) ignoreMessages(ctx context.Context, token string) (int, error) {
	ws, response, err := websocket.Dial(ctx, strings.Replace(s.server.url, "http", "ws", 1)+"/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}}) //nolint:bodyclose // the library does
	if err != nil {
		if response != nil {
			return response.StatusCode, nil
		}
		return 0, err
	}
	defer func() { _ = ws.CloseNow() }()
	err = ws.Write(ctx, websocket.MessageText, []byte(`{"type":"connection_init","payload":{"authorization":"Bearer `+token+`"}}`))
	if err == nil {
		_, _, err = ws.Read(ctx)
	}
	for i := 0; i < 16 && err == nil; i++ {
		err = ws.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":"subscribe","id":"%d","payload":{"query":"%s"}}`, i, heavy))
	}
	if err == nil {
		err = wait(ctx, unread)
	}
	return http.StatusSwitchingProtocols, err
}

// picture is an attack that uploads an image and has it drawn small. The status is that of the answer; 422 stands for a refused image.
func picture(name string, draw func() image.Image) attack {
	var file []byte
	return attack{
		name: name,
		prepare: func(*siege, context.Context) error {
			var b bytes.Buffer
			err := png.Encode(&b, draw())
			file = b.Bytes()
			return err
		},
		send: func(ctx context.Context, s *siege, client *http.Client, token string) (int, error) {
			return s.upload(ctx, client, token, file)
		},
	}
}

const (
	requestUpload = `mutation($input: RequestUploadInput!) { requestUpload(input: $input) {
		upload { itemId put { method url headers { name value } } } problem { __typename } } }`
	completeUpload = `mutation($i: ID!) { completeUpload(input: {itemId: $i}) { item { id } problem { __typename } } }`
)

// upload puts an image where the server said, and completes it.
func (s *siege) upload(ctx context.Context, client *http.Client, token string, file []byte) (int, error) {
	sum := sha256.Sum256(file)
	answer, status, err := s.mutate(ctx, client, token, requestUpload, vars{"input": vars{"name": "page.png", "type": "image/png", "size": len(file),
		"sha256": base64.StdEncoding.EncodeToString(sum[:])}})
	if err != nil || status != http.StatusOK {
		return status, err
	}
	upload, _ := answer.at("requestUpload", "upload").(map[string]any)
	if upload == nil {
		return http.StatusUnprocessableEntity, nil
	}
	if err := put(ctx, client, upload["put"], bytes.NewReader(file)); err != nil {
		return 0, err
	}
	answer, status, err = s.mutate(ctx, client, token, completeUpload, vars{"i": answer.text("requestUpload", "upload", "itemId")})
	if err == nil && status == http.StatusOK && answer.text("completeUpload", "item", "id") == "" {
		status = http.StatusUnprocessableEntity
	}
	return status, err
}

// mutate sends an operation that may be refused.
func (s *siege) mutate(ctx context.Context, client *http.Client, token, query string, v vars) (data, int, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": v})
	if err != nil {
		return nil, 0, err
	}
	status, text, err := s.post(ctx, client, token, bytes.NewReader(body), nil)
	if err != nil {
		return nil, 0, err
	}
	var answer struct {
		Data   data              `json:"data"`
		Errors []json.RawMessage `json:"errors"`
	}
	err = json.Unmarshal(text, &answer)
	if status == http.StatusOK && len(answer.Errors) > 0 {
		status = http.StatusServiceUnavailable
	}
	return answer.Data, status, err
}
