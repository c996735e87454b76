package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/viewer"
)

// Documents keeps documents that clients ask for by their hash. An error means that it does not answer now.
type Documents interface {
	Find(ctx context.Context, hash string) (text string, found bool, err error)
	// Put keeps a document; false when it is too long or the user has put too many. Putting one that is kept costs nothing.
	Put(ctx context.Context, who, hash, text string) (bool, error)
}

const (
	// extensionPersisted is where Apollo's clients, and those that do as they do, put the hash of a document.
	extensionPersisted = "persistedQuery"
	// extensionDocument is where the parameter documentId is kept between reading it and finding the document.
	extensionDocument = "documentId"
	// extensionWeight is where the weight of what was read is kept until it is charged.
	extensionWeight = "weight"
	// statNamed is where is noted that a document was named only, and not sent.
	statNamed = "TaggieNamed"
	// prefixSHA256 marks a documentId that is a hash, as the specification's appendix on persisted documents has it.
	prefixSHA256 = "sha256:"

	// storedLately is how long a server that has stored a document does not store it again when a client sends it.
	storedLately = time.Minute
	// messageNotFound is the text by which some clients know that they have to send the document.
	messageNotFound = "PersistedQueryNotFound"
)

var hexSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// persisted finds the documents that requests name, tells trusted ones from others, and keeps those that are registered. gqlgen's
// own keeps what was not validated yet, from everybody.
type persisted struct {
	trusted   Trusted
	documents Documents           // nil keeps none
	recent    *lru.LRU[string]    // documents by their hash
	stored    *lru.LRU[time.Time] // when this server stored them
	log       *slog.Logger
}

func newPersisted(o Options) persisted {
	return persisted{trusted: o.Trusted, documents: o.Documents, recent: lru.New[string](maxCached), stored: lru.New[time.Time](maxCached), log: o.Log}
}

// ExtensionName names the extension to gqlgen.
func (persisted) ExtensionName() string { return "Persisted" }

// Validate accepts every schema.
func (persisted) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters puts the document in whose id a request has in its place.
func (p persisted) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	id, refused := named(params.Extensions)
	if refused != nil {
		return refused
	}
	if id != "" {
		text, known := p.find(ctx, id)
		switch {
		case params.Query == "" && !known:
			return refuse(model.ErrorCodePersistedQueryNotFound, messageNotFound)
		case params.Query == "":
			params.Query = text
			graphql.GetOperationContext(ctx).Stats.SetExtension(statNamed, true)
		case params.Query != text && hashOf(params.Query) != id:
			return refuse(model.ErrorCodeBadRequest, "the id or hash is of another document than query")
		}
	}
	if p.trusted.Mode == TrustLog || p.trusted.Mode == TrustEnforce {
		return p.judge(ctx, params.Query)
	}
	return nil
}

// judge logs or refuses a document that is not trusted. The log has the hash, never the text.
func (p persisted) judge(ctx context.Context, text string) *gqlerror.Error {
	if p.trusted.has(text) {
		return nil
	}
	if p.trusted.Mode == TrustEnforce {
		return refuse(model.ErrorCodeForbidden, "this server carries out only documents that it knows from its clients' builds")
	}
	p.log.WarnContext(ctx, "document is not trusted", "sha256", hashOf(text))
	return nil
}

// keep keeps a document that was sent with its hash, now that it has proved valid, and is paid for. One that this server knows is
// kept too: whoever sends the text was told by another server that nobody has it any more.
func (p persisted) keep(ctx context.Context, op *graphql.OperationContext) {
	id, _ := named(op.Extensions)
	who := viewer.From(ctx).UserID
	if id == "" || who == "" || p.documents == nil || p.trusted.Mode == TrustEnforce || op.Stats.GetExtension(statNamed) != nil {
		return
	}
	if _, trusted := p.trusted.find(id); trusted {
		return
	}
	at, stored := p.stored.Get(ctx, id)
	if stored && time.Since(at) < storedLately || hashOf(op.RawQuery) != id {
		return
	}
	kept, err := p.documents.Put(ctx, string(who), id, op.RawQuery)
	if err != nil {
		p.log.WarnContext(ctx, "a document was not kept", "error", err)
	}
	if kept {
		p.recent.Add(ctx, id, op.RawQuery)
		p.stored.Add(ctx, id, time.Now())
	}
}

// find returns the document with this id: a trusted one, or one that was registered.
func (p persisted) find(ctx context.Context, id string) (string, bool) {
	if text, ok := p.trusted.find(id); ok {
		return text, true
	}
	if p.documents == nil || p.trusted.Mode == TrustEnforce || !hexSHA256.MatchString(id) {
		return "", false
	}
	if text, ok := p.recent.Get(ctx, id); ok {
		return text, true
	}
	text, found, err := p.documents.Find(ctx, id)
	if err != nil {
		// The client sends the document then: it is slower, and works.
		p.log.WarnContext(ctx, "a document could not be looked for", "error", err)
		return "", false
	}
	if !found || hashOf(text) != id {
		return "", false
	}
	p.recent.Add(ctx, id, text)
	return text, true
}

// named returns the id or hash of the document that a request names, "" when it names none.
func named(extensions map[string]any) (string, *gqlerror.Error) {
	if id, ok := extensions[extensionDocument].(string); ok {
		return strings.TrimPrefix(id, prefixSHA256), nil
	}
	given, ok := extensions[extensionPersisted]
	if !ok || given == nil {
		return "", nil
	}
	named, _ := given.(persistedQuery)
	if named.hash == "" {
		return "", refuse(model.ErrorCodeBadRequest, "extensions.%s has no sha256Hash", extensionPersisted)
	}
	if named.version != "1" {
		return "", refuse(model.ErrorCodeBadRequest, "extensions.%s is of another version than 1", extensionPersisted)
	}
	return named.hash, nil
}

// persistedQuery is the extension of that name; what is missing or of the wrong type is "".
type persistedQuery struct {
	hash    string
	version json.Number
}

func readPersisted(text []byte) persistedQuery {
	var fields map[string]json.RawMessage
	_ = unmarshal(text, &fields) // nothing then
	var q persistedQuery
	if unmarshal(fields["sha256Hash"], &q.hash) != nil {
		q.hash = ""
	}
	if version := fields["version"]; !bytes.HasPrefix(version, []byte(`"`)) {
		q.version = json.Number(version)
	}
	return q
}

// hashOf is the SHA-256 of a document as clients spell it.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
