package socket

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/response"
	"github.com/taggie/taggie/internal/jsontext"
)

// maxID bounds the ids that clients choose: each is kept, and sent with every answer.
const maxID = 128

// message is what a client sends.
type message struct {
	Type    string
	ID      *string
	Payload json.RawMessage
}

// maxPing bounds the payloads of ping, which is echoed, and pong.
const maxPing = 1024

// readMessage takes a message apart, or says what is wrong with it.
func readMessage(data []byte) (m message, wrong string) {
	var fields map[string]json.RawMessage
	if _, err := request.Parse("the message", data, &fields); err != nil {
		return m, err.Message
	}
	if text := fields["type"]; !request.Absent(text) && request.Unmarshal(text, &m.Type) != nil {
		return m, "the type of the message is no text"
	}
	if text := fields["id"]; !request.Absent(text) && request.Unmarshal(text, &m.ID) != nil {
		return m, "the id of the message is no text"
	}
	if m.Type != "subscribe" && jsontext.LoneSurrogate(data) >= 0 || jsontext.LoneSurrogate(fields["id"]) >= 0 {
		return m, "the message holds " + refusal.HalfCharacter
	}
	m.Payload = fields["payload"]
	switch m.Type {
	case "connection_init", "ping", "pong":
		if !object(m.Payload) && !request.Absent(m.Payload) {
			return m, "the payload of " + m.Type + " is no object"
		}
		if len(m.Payload) > maxPing && m.Type != "connection_init" {
			return m, "the payload of " + m.Type + " is too long"
		}
	case "subscribe":
		if !object(m.Payload) {
			return m, "the payload of subscribe is no object"
		}
		fallthrough
	case "complete":
		if m.ID == nil || *m.ID == "" || len(*m.ID) > maxID {
			return m, fmt.Sprintf("%s needs an id of 1 to %d bytes", m.Type, maxID)
		}
	case "":
		return m, "the message has no type"
	default:
		return m, "there is no message of this type for a server"
	}
	return m, ""
}

func object(payload json.RawMessage) bool { return bytes.HasPrefix(payload, []byte("{")) }

// readOperation reads the payload of subscribe, or says why it is malformed. Errors: the fault of a value that is refused, which
// ends the operation and not the socket.
func readOperation(payload json.RawMessage) (raw *graphql.RawParams, wrong string, err error) {
	var p request.Params
	start := graphql.Now()
	if _, refused := p.Read("the payload of subscribe", payload); refused != nil {
		if fault.Is(refused, fault.Invalid) {
			return nil, "", refused
		}
		return nil, refused.Message, nil
	}
	raw, complete := p.Raw(start)
	if !complete && p.Query == nil {
		return nil, "the payload of subscribe has no query", nil
	}
	return raw, "", nil
}

// readAuthorization finds what in the payload of connection_init says who is asking, as values of the header Authorization:
// "authorization" there or in "headers", and "authToken" or "token", which hold the token alone or with its scheme. Cases of
// letters do not matter. Whoever meant to say it is never taken for nobody: it fails when one of them is no text.
func readAuthorization(payload json.RawMessage) ([]string, error) {
	if request.Absent(payload) {
		return nil, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil, err
	}
	var values []string
	for name, text := range fields {
		if request.Absent(text) {
			continue
		}
		switch strings.ToLower(name) {
		case "headers":
			var headers map[string]json.RawMessage
			if json.Unmarshal(text, &headers) != nil {
				return nil, errors.New("headers is no object")
			}
			for name, text := range headers {
				if strings.EqualFold(name, "authorization") && !request.Absent(text) {
					value, err := credential(name, text)
					if err != nil {
						return nil, err
					}
					values = append(values, value)
				}
			}
		case "authorization", "authtoken", "token":
			value, err := credential(name, text)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

// credential reads a value of the header Authorization, or a token alone where another name says that it is one.
func credential(name string, text json.RawMessage) (string, error) {
	var value string
	if json.Unmarshal(text, &value) != nil {
		return "", errors.New(strings.ToLower(name) + " is no text")
	}
	if !strings.EqualFold(name, "authorization") && !strings.Contains(value, " ") {
		value = "Bearer " + value
	}
	return value, nil
}

// acknowledgement is the payload of connection_ack.
type acknowledgement struct {
	ExpiresAt    *time.Time `json:"expiresAt,omitempty"` // when the socket will be closed with 4403; none for anonymous ones
	PingInterval int64      `json:"pingInterval"`        // milliseconds; a client that hears nothing for longer is cut off
}

func ackMessage(expires time.Time, ping time.Duration) []byte {
	ack := acknowledgement{PingInterval: ping.Milliseconds()}
	if !expires.IsZero() {
		ack.ExpiresAt = new(expires.UTC())
	}
	return joined([]byte(`{"type":"connection_ack","payload":`), response.Encode(ack), []byte(`}`))
}

// pongMessage answers a ping with its own payload.
func pongMessage(payload json.RawMessage) []byte {
	if request.Absent(payload) {
		return []byte(`{"type":"pong"}`)
	}
	return joined([]byte(`{"type":"pong","payload":`), payload, []byte(`}`))
}

func pingMessage() []byte { return []byte(`{"type":"ping"}`) }

// nextMessage copies the answer, whose memory gqlgen uses for the next event.
func nextMessage(id string, resp *graphql.Response) []byte {
	head, data, tail := response.Parts(resp)
	return joined([]byte(`{"type":"next","id":`), response.Encode(id), []byte(`,"payload":`), head, data, tail, []byte(`}`))
}

func errorMessage(id string, errs gqlerror.List) []byte {
	return joined([]byte(`{"type":"error","id":`), response.Encode(id), []byte(`,"payload":`), response.Encode(errs), []byte(`}`))
}

func completeMessage(id string) []byte {
	return joined([]byte(`{"type":"complete","id":`), response.Encode(id), []byte(`}`))
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// refuseOperation is the error of an operation that is not begun.
func refuseOperation(code model.ErrorCode, format string, args ...any) gqlerror.List {
	err := refusal.Of(code, format, args...)
	err.Extensions["retryable"] = code == model.ErrorCodeUnavailable
	return gqlerror.List{err}
}
