package httpapi

import (
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/eventstream"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/response"
)

const mediaResponse = "application/graphql-response+json"

// accepted returns the media type of the answer: the one the client prefers, the first of those it likes equally, and
// application/json for a client that does not care. It is "" when the client takes neither.
func accepted(r *http.Request) string { return preferred(r, request.JSON, mediaResponse) }

// preferred is the same for an answer that may be of these types, of which one is application/json.
func preferred(r *http.Request, offered ...string) string {
	best, chosen := 0.0, ""
	for media, wish := range wishes(r) {
		switch {
		case media == "*/*", media == "application/*":
			media = request.JSON
		case !slices.Contains(offered, media):
			continue
		}
		if wish.quality > best {
			best, chosen = wish.quality, media
		}
	}
	return chosen
}

// acceptsParts reports whether the client takes an answer in parts, in the form that we send.
func acceptsParts(r *http.Request) bool {
	for media, wish := range wishes(r) {
		if media == execution.Multipart && wish.quality > 0 && !another(wish.params) {
			return true
		}
	}
	return false
}

// another reports whether the parameters of a media type ask for a form of parts that is not ours: forms are told apart by
// parameters such as deferSpec and incrementalSpec, and there will be more.
func another(params map[string]string) bool {
	for name, value := range params {
		if strings.HasSuffix(name, "spec") && (name != "deferspec" || value != execution.DeferSpec) {
			return true
		}
	}
	return false
}

// wish is what a client says of a media type that it accepts.
type wish struct {
	quality float64
	params  map[string]string
}

// wishes reads the header Accept; one that says nothing stands for application/json.
func wishes(r *http.Request) iter.Seq2[string, wish] {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(header) == "" {
		header = request.JSON
	}
	return func(yield func(string, wish) bool) {
		for part := range strings.SplitSeq(header, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			quality := 1.0
			if q, ok := params["q"]; ok {
				if quality, err = strconv.ParseFloat(q, 64); err != nil {
					continue
				}
			}
			if !yield(media, wish{quality, params}) {
				return
			}
		}
	}
}

// write sends an answer.
func write(w http.ResponseWriter, media string, status int, resp *graphql.Response) {
	head, data, tail := response.Parts(resp)
	if media == "" {
		media = request.JSON
	}
	h := w.Header()
	h.Set("Content-Type", media+"; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(head)+len(data)+len(tail)))
	w.WriteHeader(status)
	for _, part := range [][]byte{head, data, tail} {
		if _, err := w.Write(part); err != nil {
			return // the client has gone
		}
	}
}

// writeError answers a request that does not reach an operation, in the form of GraphQL. Status 0 stands for the one that
// fits the error; 422 goes with the specification's own media type only.
func writeError(w http.ResponseWriter, r *http.Request, status int, err error) {
	shown := present.Error(r.Context(), err)
	code := refusal.CodeOf(shown)
	if rec, ok := w.(*recorder); ok {
		rec.code = string(code)
	}
	if again := w.Header().Get("Retry-After"); again != "" && forSource(r) {
		if rec, ok := w.(*recorder); ok {
			rec.ended = shown.Message
		}
		eventstream.WriteAgain(w, again, shown.Message)
		return
	}
	media := accepted(r)
	switch {
	case status == 0:
		status = statusOf(code)
	case status == http.StatusUnprocessableEntity && media != mediaResponse:
		status = http.StatusBadRequest
	}
	write(w, media, status, &graphql.Response{Errors: gqlerror.List{shown}})
}

// statusPartial is what the specification calls "partial success": there is data, and there are errors. It is the
// specification's own, and goes with its own media type only.
const statusPartial = 294

// statusOfResult is the status of an operation that was carried out.
func statusOfResult(media string, resp *graphql.Response) int {
	if media == mediaResponse && resp != nil && len(resp.Errors) > 0 {
		return statusPartial
	}
	return http.StatusOK
}

// statusOfRefusal is the status of a well-formed request whose operation was not carried out. Old clients, which accept
// application/json only, take any other than 200 for the word of some proxy.
func statusOfRefusal(media string, resp *graphql.Response) int {
	if media != mediaResponse || len(resp.Errors) == 0 {
		return http.StatusOK
	}
	return statusOf(refusal.CodeOf(resp.Errors[0]))
}

// statusOf is the status of an error without data.
func statusOf(code model.ErrorCode) int {
	switch code {
	case model.ErrorCodeGraphqlParseFailed:
		return http.StatusBadRequest
	case model.ErrorCodeUnauthenticated:
		return http.StatusUnauthorized
	case model.ErrorCodeForbidden, model.ErrorCodeUserDeleted:
		return http.StatusForbidden
	case model.ErrorCodeExhausted:
		return http.StatusTooManyRequests
	case model.ErrorCodeUnavailable, model.ErrorCodeServerOutdated:
		return http.StatusServiceUnavailable
	case model.ErrorCodeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusUnprocessableEntity
}

// writeJSON answers with a value that is no GraphQL response.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", request.JSON+"; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, string(response.Encode(v))+"\n")
}

// statusOfLimit is the status of an operation that is not carried out, 0 when nothing but its media type says.
func statusOfLimit(h http.Header, errs gqlerror.List) int {
	for _, err := range errs {
		known, ok := errors.AsType[*fault.Error](err)
		if !ok {
			continue
		}
		switch {
		case known.RetryAfter > 0:
			h.Set("Retry-After", strconv.Itoa(present.Seconds(known.RetryAfter)))
			return http.StatusTooManyRequests
		case known.Kind == fault.Unavailable:
			h.Set("Retry-After", "1")
			return http.StatusServiceUnavailable
		}
	}
	return 0
}
