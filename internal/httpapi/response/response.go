// Package response is what an answer is written of, whatever it is sent over.
//
// It knows JSON and the parts of a response. It must not know HTTP or how a response came about. Start reading at [Parts].
package response

import (
	"encoding/json"
	"fmt"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/httpapi/refusal"
)

// Parts are what an answer is written from, one after the other. Its data is JSON already, which json.Marshal would read
// through once more.
func Parts(resp *graphql.Response) (head, data, tail []byte) {
	head = []byte{'{'}
	if len(resp.Errors) > 0 {
		head = append(append(head, `"errors":`...), Encode(resp.Errors)...)
	}
	data = []byte(resp.Data)
	if len(data) > 0 {
		if len(resp.Errors) > 0 {
			head = append(head, ',')
		}
		head = append(head, `"data":`...)
	}
	if len(resp.Extensions) > 0 {
		tail = append([]byte(`,"extensions":`), Encode(resp.Extensions)...)
	}
	return head, data, append(tail, '}')
}

// Encode writes errors and extensions, which hold nothing that JSON cannot express.
func Encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("encode a part of an answer: %w", err))
	}
	return text
}

// GoesOn reports whether a response has parts that come later.
func GoesOn(resp *graphql.Response) bool { return resp.HasNext != nil && *resp.HasNext }

// Outcome is "ok" or the code of the first error.
func Outcome(resp *graphql.Response) string {
	if len(resp.Errors) == 0 {
		return "ok"
	}
	return string(refusal.CodeOf(resp.Errors[0]))
}
