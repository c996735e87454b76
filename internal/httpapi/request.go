package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
)

// params are the parameters of a request; each may be left out or null.
type params struct {
	Query         *string        `json:"query"`
	DocumentID    *string        `json:"documentId"` // of a document that the server knows, in place of query
	OperationName *string        `json:"operationName"`
	Variables     map[string]any `json:"variables"`
	Extensions    map[string]any `json:"extensions"`
}

// allowedMethods are those of /graphql.
const allowedMethods = "GET, HEAD, POST, OPTIONS"

// read takes a request apart, or says with which status it is refused and why: 0 when room refused to have the text taken apart.
func read(w http.ResponseWriter, r *http.Request, room func(text []byte) *gqlerror.Error) (*graphql.RawParams, int, *gqlerror.Error) {
	var p params
	var status int
	var refused *gqlerror.Error
	start := graphql.Now()
	switch r.Method {
	case http.MethodPost:
		status, refused = readPOST(w, r, room, &p)
	case http.MethodGet, http.MethodHead:
		status, refused = readGET(r, room, &p)
	default:
		w.Header().Set("Allow", allowedMethods)
		return nil, http.StatusMethodNotAllowed, refuse(model.ErrorCodeBadRequest, "send operations by POST, or queries by GET")
	}
	if refused != nil {
		return nil, status, refused
	}
	raw, complete := p.raw(start)
	if !complete {
		return nil, http.StatusUnprocessableEntity, refuse(model.ErrorCodeBadRequest, "the parameter query is missing")
	}
	raw.Headers = r.Header
	return raw, 0, nil
}

// raw is what gqlgen reads; it is complete when it has a document or names one.
func (p params) raw(start time.Time) (raw *graphql.RawParams, complete bool) {
	raw = &graphql.RawParams{Variables: p.Variables, Extensions: p.Extensions}
	if p.Query != nil {
		raw.Query = *p.Query
	}
	if p.OperationName != nil {
		raw.OperationName = *p.OperationName
	}
	if p.DocumentID != nil && *p.DocumentID != "" {
		if raw.Extensions = maps.Clone(p.Extensions); raw.Extensions == nil {
			raw.Extensions = make(map[string]any, 1)
		}
		raw.Extensions[extensionDocument] = *p.DocumentID
	}
	raw.ReadTime = graphql.TraceTiming{Start: start, End: graphql.Now()}
	return raw, strings.TrimSpace(raw.Query) != "" || raw.Extensions[extensionDocument] != nil || raw.Extensions[extensionPersisted] != nil
}

func readPOST(w http.ResponseWriter, r *http.Request, room func([]byte) *gqlerror.Error, p *params) (int, *gqlerror.Error) {
	// Only JSON: a form or text could be sent by any page without asking first.
	media, options, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := options["charset"]
	if err != nil || media != mediaJSON || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return http.StatusUnsupportedMediaType, refuse(model.ErrorCodeBadRequest, "send the operation as %s in UTF-8", mediaJSON)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return http.StatusUnsupportedMediaType, refuse(model.ErrorCodeBadRequest, "a compressed body is not read")
	}
	tooLarge := refuse(model.ErrorCodeBadRequest, "the body is larger than %d bytes", maxBody)
	if r.ContentLength > maxBody {
		return http.StatusRequestEntityTooLarge, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, tooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout, refuse(model.ErrorCodeBadRequest, "the body did not come in time")
	}
	if err != nil {
		return http.StatusBadRequest, refuse(model.ErrorCodeBadRequest, "the body could not be read to its end")
	}
	if refused := room(body); refused != nil {
		return 0, refused
	}
	return parse("the body", body, p)
}

// maxAddress bounds what comes in the address of a request; net/http refuses all headers together above 64 KiB, as text.
const maxAddress = 48 << 10

func readGET(r *http.Request, room func([]byte) *gqlerror.Error, p *params) (int, *gqlerror.Error) {
	if len(r.RequestURI) > maxAddress {
		return http.StatusRequestURITooLong, refuse(model.ErrorCodeBadRequest, "the address is longer than %d bytes: use POST", maxAddress)
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return http.StatusBadRequest, refuse(model.ErrorCodeBadRequest, "the query string is not well-formed")
	}
	for _, name := range []string{"query", "documentId", "operationName"} {
		if !utf8.ValidString(query.Get(name)) {
			return http.StatusBadRequest, refuse(model.ErrorCodeBadRequest, "the parameter %s is not UTF-8", name)
		}
	}
	if query.Has("query") {
		p.Query = new(query.Get("query"))
	}
	if query.Has("documentId") {
		p.DocumentID = new(query.Get("documentId"))
	}
	if query.Has("operationName") {
		p.OperationName = new(query.Get("operationName"))
	}
	if refused := room([]byte(query.Get("variables") + query.Get("extensions"))); refused != nil {
		return 0, refused
	}
	for name, into := range map[string]*map[string]any{"variables": &p.Variables, "extensions": &p.Extensions} {
		if text := query.Get(name); text != "" {
			if status, refused := parse("the parameter "+name, []byte(text), into); refused != nil {
				return status, refused
			}
		}
	}
	return 0, nil
}

// decode reads one JSON object and nothing after it. What it refuses is never quoted: it may be a secret.
func decode(what string, text []byte, into any) *gqlerror.Error {
	_, refused := parse(what, text, into)
	return refused
}

// parse is decode, which also says with which status the text is refused: 400 when the text is not that, 422 when it is another value or holds one
// of the wrong type.
func parse(what string, text []byte, into any) (int, *gqlerror.Error) {
	if !utf8.Valid(text) || loneSurrogate(text) {
		return http.StatusBadRequest, refuse(model.ErrorCodeBadRequest, "%s is not valid UTF-8", what)
	}
	if valuesIn(text) > maxValues {
		return http.StatusUnprocessableEntity, refuse(model.ErrorCodeBadRequest, "%s has more than %d values", what, maxValues)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(into)
	wrong, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	if err != nil && !mistyped {
		return http.StatusBadRequest, refuse(model.ErrorCodeBadRequest, "%s is not JSON", what)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return http.StatusBadRequest, refuse(model.ErrorCodeBadRequest, "%s goes on after its JSON object", what)
	}
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")):
		return http.StatusUnprocessableEntity, refuse(model.ErrorCodeBadRequest, "%s is a list: send one JSON object; operations are not batched", what)
	case mistyped && wrong.Field != "":
		what += ": " + strings.SplitN(wrong.Field, ".", 2)[0]
		fallthrough
	case mistyped:
		return http.StatusUnprocessableEntity, refuse(model.ErrorCodeBadRequest, "%s is of the wrong type", what)
	}
	return 0, nil
}

// loneSurrogate reports whether JSON text escapes half of a character (\ud800), which would silently be replaced by U+FFFD.
func loneSurrogate(text []byte) bool {
	for i := bytes.IndexByte(text, '\\'); i >= 0 && i < len(text); {
		unit, ok := escapedUnit(text[i:])
		switch {
		case ok && 0xDC00 <= unit && unit <= 0xDFFF:
			return true
		case ok && 0xD800 <= unit && unit <= 0xDBFF:
			low, ok := escapedUnit(text[i+6:])
			if !ok || low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 12
		default:
			i += 2 // past the escaped character, which may be a backslash
		}
		if i >= len(text) {
			return false
		}
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return false
		}
		i += next
	}
	return false
}

// escapedUnit reads an escape of the form \uXXXX at the beginning of text.
func escapedUnit(text []byte) (unit uint32, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | uint32(c)
	}
	return unit, true
}
