// Package request reads what a client asks for out of HTTP requests and messages of sockets.
//
// It knows JSON, media types and the parameters of GraphQL over HTTP, and refuses what is malformed or too large. It must not know what
// becomes of an operation. Start reading at [Read].
package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/jsontext"
)

// JSON is the media type of requests, and of answers for clients that do not care.
const JSON = "application/json"

const (
	// MaxBody bounds a body: a content of 350,000 bytes grows sixfold when every character is written as \u00XX.
	MaxBody = 3 << 20
	// MaxValues bounds the values in the variables, which are more than attributes of 350,000 bytes have: a number takes up a hundred
	// times its bytes.
	MaxValues = 200_000
	// MaxReading bounds the time to read a request, and before it the time that a large one waits for others to be read.
	MaxReading = 15 * time.Second
)

// HeaderExtensions names the response extensions that a request asks for.
const HeaderExtensions = "Taggie-Extensions"

// The response extensions that a request may ask for.
const (
	ExtensionCost   = "cost"
	ExtensionDynamo = "dynamo"
)

// Params are the parameters of a request; each may be left out or null.
type Params struct {
	Query         *string
	documentID    *string // of a document that the server knows, in place of query
	operationName *string
	variables     map[string]any
	Extensions    map[string]any // only those that somebody reads
	weight        int            // of what they were read of
}

// Methods are those of /graphql.
const Methods = "GET, HEAD, POST, OPTIONS"

// Read takes a request apart, or says with which status it is refused and why: 0 when room refused to have the text taken apart.
func Read(w http.ResponseWriter, r *http.Request, room func(text []byte) *gqlerror.Error) (*graphql.RawParams, int, *gqlerror.Error) {
	var p Params
	var status int
	var refused *gqlerror.Error
	start := graphql.Now()
	switch r.Method {
	case http.MethodPost:
		status, refused = readPOST(w, r, room, &p)
	case http.MethodGet, http.MethodHead:
		status, refused = readGET(r, room, &p)
	default:
		w.Header().Set("Allow", Methods)
		return nil, http.StatusMethodNotAllowed, refusal.Of(model.ErrorCodeBadRequest, "send operations by POST, or queries by GET")
	}
	if refused != nil {
		return nil, status, refused
	}
	raw, complete := p.Raw(start)
	if !complete {
		return nil, http.StatusUnprocessableEntity, refusal.Of(model.ErrorCodeBadRequest, "the parameter query is missing")
	}
	raw.Headers = r.Header
	return raw, 0, nil
}

// Raw is what gqlgen reads; it is complete when it has a document or names one.
func (p Params) Raw(start time.Time) (raw *graphql.RawParams, complete bool) {
	raw = &graphql.RawParams{Variables: p.variables, Extensions: p.Extensions}
	if raw.Extensions == nil {
		raw.Extensions = make(map[string]any, 1)
	}
	raw.Extensions[document.ExtensionWeight] = p.weight
	if p.Query != nil {
		raw.Query = *p.Query
	}
	if p.operationName != nil {
		raw.OperationName = *p.operationName
	}
	if p.documentID != nil && *p.documentID != "" {
		raw.Extensions[document.ExtensionDocument] = *p.documentID
	}
	raw.ReadTime = graphql.TraceTiming{Start: start, End: graphql.Now()}
	return raw, strings.TrimSpace(raw.Query) != "" || raw.Extensions[document.ExtensionDocument] != nil || raw.Extensions[document.ExtensionPersisted] != nil
}

func readPOST(w http.ResponseWriter, r *http.Request, room func([]byte) *gqlerror.Error, p *Params) (int, *gqlerror.Error) {
	// Only JSON: a form or text could be sent by any page without asking first.
	media, options, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media == "multipart/form-data" {
		return http.StatusUnsupportedMediaType, refusal.Of(model.ErrorCodeBadRequest, "files do not come with the operation: ask for an upload with the mutation requestUpload, and send operations as %s", JSON)
	}
	charset := options["charset"]
	if err != nil || media != JSON || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return http.StatusUnsupportedMediaType, refusal.Of(model.ErrorCodeBadRequest, "send the operation as %s in UTF-8", JSON)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return http.StatusUnsupportedMediaType, refusal.Of(model.ErrorCodeBadRequest, "a compressed body is not read")
	}
	tooLarge := refusal.Of(model.ErrorCodeBadRequest, "the body is larger than %d bytes: send less in one request; files go where requestUpload says", MaxBody)
	if r.ContentLength > MaxBody {
		return http.StatusRequestEntityTooLarge, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, tooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout, refusal.Of(model.ErrorCodeBadRequest, "the body did not come in time")
	}
	if err != nil {
		return http.StatusBadRequest, refusal.Of(model.ErrorCodeBadRequest, "the body could not be read to its end")
	}
	if refused := room(body); refused != nil {
		return 0, refused
	}
	return p.Read("the body", body)
}

// MaxAddress bounds what comes in the address of a request; net/http refuses all headers together above 64 KiB, as text.
const MaxAddress = 48 << 10

func readGET(r *http.Request, room func([]byte) *gqlerror.Error, p *Params) (int, *gqlerror.Error) {
	if len(r.RequestURI) > MaxAddress {
		return http.StatusRequestURITooLong, refusal.Of(model.ErrorCodeBadRequest, "the address is longer than %d bytes: use POST", MaxAddress)
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return http.StatusBadRequest, refusal.Of(model.ErrorCodeBadRequest, "the query string is not well-formed")
	}
	for _, name := range []string{"query", "documentId", "operationName"} {
		if !utf8.ValidString(query.Get(name)) {
			return http.StatusBadRequest, refusal.Of(model.ErrorCodeBadRequest, "the parameter %s is not UTF-8", name)
		}
	}
	for name, into := range map[string]**string{"query": &p.Query, "documentId": &p.documentID, "operationName": &p.operationName} {
		if query.Has(name) {
			*into = new(query.Get(name))
		}
	}
	variables, extensions := []byte(query.Get("variables")), []byte(query.Get("extensions"))
	if refused := room(slices.Concat(variables, extensions)); refused != nil {
		return 0, refused
	}
	if len(variables) > 0 {
		if status, refused := Parse("the parameter variables", variables, &p.variables); refused != nil {
			return status, refused
		}
		if status, refused := halves("the parameter variables", variables); refused != nil {
			return status, refused
		}
	}
	if len(extensions) > 0 {
		if status, refused := p.readExtensions("the parameter extensions", extensions); refused != nil {
			return status, refused
		}
	}
	p.weight = len(query.Get("query")) + Weight(variables) + Weight(extensions)
	return 0, nil
}

// Read reads the parameters out of a JSON object. Their names are these letter for letter, as whoever looks at requests on the way
// takes them; what has another name is not looked at.
func (p *Params) Read(what string, text []byte) (int, *gqlerror.Error) {
	var fields map[string]json.RawMessage
	if status, refused := Parse(what, text, &fields); refused != nil {
		return status, refused
	}
	if status, refused := halves(what, text); refused != nil {
		return status, refused
	}
	p.weight = Weight(text)
	for _, field := range []struct {
		name string
		into any
	}{{"query", &p.Query}, {"documentId", &p.documentID}, {"operationName", &p.operationName}, {"variables", &p.variables}} {
		if text, given := fields[field.name]; given && Unmarshal(text, field.into) != nil {
			return http.StatusUnprocessableEntity, mistyped(what + ": " + field.name)
		}
	}
	if text, given := fields["extensions"]; given {
		return p.readExtensions(what+": extensions", text)
	}
	return 0, nil
}

// readExtensions keeps those extensions that somebody reads.
func (p *Params) readExtensions(what string, text []byte) (int, *gqlerror.Error) {
	var fields map[string]json.RawMessage
	if status, refused := Parse(what, text, &fields); refused != nil {
		return status, refused
	}
	p.Extensions = make(map[string]any)
	for _, name := range []string{ExtensionCost, ExtensionDynamo} {
		if string(fields[name]) == "true" {
			p.Extensions[name] = true
		}
	}
	if text := fields[document.ExtensionPersisted]; !Absent(text) {
		p.Extensions[document.ExtensionPersisted] = document.ReadPersisted(text)
	}
	return 0, nil
}

// Parse reads one JSON object and nothing after it. What it refuses is never quoted: it may be a secret. It says with which status
// the text is refused: 400 when the text is not that, 422 when it is another value or holds one of the wrong type.
func Parse(what string, text []byte, into any) (int, *gqlerror.Error) {
	if !utf8.Valid(text) {
		return http.StatusBadRequest, refusal.Of(model.ErrorCodeBadRequest, "%s is not valid UTF-8", what)
	}
	if Values(text) > MaxValues {
		return http.StatusUnprocessableEntity, refusal.Of(model.ErrorCodeBadRequest, "%s has more than %d values: send them in several requests", what, MaxValues)
	}
	err := Unmarshal(text, into)
	_, wrong := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, errGoesOn):
		return http.StatusBadRequest, refusal.Of(model.ErrorCodeBadRequest, "%s goes on after its JSON object", what)
	case err != nil && !wrong:
		return http.StatusBadRequest, refusal.Of(model.ErrorCodeBadRequest, "%s is not JSON", what)
	case bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")):
		return http.StatusUnprocessableEntity, refusal.Of(model.ErrorCodeBadRequest, "%s is a list: send one JSON object; operations are not batched", what)
	case wrong:
		return http.StatusUnprocessableEntity, mistyped(what)
	}
	return 0, nil
}

// halves refuses JSON text that escapes half of a surrogate pair: no character that a text could hold.
func halves(what string, text []byte) (int, *gqlerror.Error) {
	at := jsontext.LoneSurrogate(text)
	if at < 0 {
		return 0, nil
	}
	field := strings.TrimPrefix(jsontext.Path(text, at), "variables.")
	return http.StatusUnprocessableEntity, gqlerror.Wrap(fault.Invalidf(field, "%s: byte %d begins "+refusal.HalfCharacter, what, at+1))
}

func mistyped(what string) *gqlerror.Error {
	return refusal.Of(model.ErrorCodeBadRequest, "%s is of the wrong type", what)
}

// errGoesOn is what Unmarshal returns when more than one value is there.
var errGoesOn = errors.New("there is more than one value")

// Unmarshal reads one value and nothing after it. Numbers that may have any type stay as they are written.
func Unmarshal(text []byte, into any) error {
	if _, any := into.(*map[string]any); !any { // json.Decoder would copy the text
		err := json.Unmarshal(text, into)
		if wrong, ok := errors.AsType[*json.SyntaxError](err); ok && strings.HasSuffix(wrong.Error(), "after top-level value") {
			return errGoesOn
		}
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errGoesOn
	}
	return nil
}

// Absent reports whether a value was left out, or is null.
func Absent(payload json.RawMessage) bool { return len(payload) == 0 || string(payload) == "null" }
