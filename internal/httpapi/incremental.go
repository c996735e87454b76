package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/response"
)

const (
	// boundary stands between parts. JSON never has a line that begins with it.
	boundary = "-"
)

// stream sends an answer in parts, each as soon as it is there. gqlgen's transport collects them in a second goroutine that
// writes to the same connection.
func (e endpoint) stream(ctx context.Context, w http.ResponseWriter, op *graphql.OperationContext, first *graphql.Response, next graphql.ResponseHandler) {
	h := w.Header()
	h.Set("Content-Type", execution.Multipart+`; boundary="`+boundary+`"; deferSpec=`+execution.DeferSpec)
	h.Set("X-Accel-Buffering", "no") // proxies would wait for the end
	w.WriteHeader(http.StatusOK)
	more := response.GoesOn(first)
	sent := writePart(w, "\r\n--"+boundary+"\r\n", first, more)
	for more && sent {
		resp := next(ctx)
		switch {
		case resp == nil && errors.Is(ctx.Err(), context.Canceled):
			return // the client has gone
		case resp == nil: // the time is up
			writePart(w, "", e.run.Late(context.WithoutCancel(ctx), op), false)
			return
		case resp.HasNext == nil: // the part is too large, or all of them are
			writePart(w, "", &graphql.Response{Errors: resp.Errors}, false)
			return
		}
		more = *resp.HasNext
		sent = writePart(w, "", resp, more)
	}
}

// writePart sends one part and what separates it from the next, in the form that Apollo Server has given them. It is false when
// the client has gone.
func writePart(w http.ResponseWriter, before string, resp *graphql.Response, more bool) bool {
	head, data, tail := response.Parts(resp)
	opening, closing := "", `,"hasNext":true}`+"\r\n--"+boundary+"\r\n"
	if !more {
		closing = `,"hasNext":false}` + "\r\n--" + boundary + "--\r\n"
	}
	tail = tail[:len(tail)-1] // the brace comes later
	if resp.HasNext != nil && before == "" {
		opening, closing = `{"incremental":[`, "}]"+closing
		tail = append(tail, position(resp)...)
	}
	before += "Content-Type: " + request.JSON + "; charset=utf-8\r\n\r\n" + opening
	for _, piece := range [][]byte{[]byte(before), head, data, tail, []byte(closing)} {
		if _, err := w.Write(piece); err != nil {
			return false
		}
	}
	return http.NewResponseController(w).Flush() == nil
}

// position says where a part belongs.
func position(resp *graphql.Response) []byte {
	path := resp.Path
	if path == nil {
		path = ast.Path{}
	}
	text := append([]byte(`,"path":`), response.Encode(path)...)
	if resp.Label != "" {
		text = append(append(text, `,"label":`...), response.Encode(resp.Label)...)
	}
	return text
}
