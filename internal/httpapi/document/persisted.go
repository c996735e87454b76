package document

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
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/viewer"
)

// Documents keeps documents that clients ask for by their hash. An error means that it does not answer now.
type Documents interface {
	Find(ctx context.Context, hash string) (text string, found bool, err error)
	// Put keeps a document; false when it is too long or the user has put too many. Putting one that is kept costs nothing.
	Put(ctx context.Context, who, hash, text string) (bool, error)
}

const (
	// ExtensionPersisted is where Apollo's clients, and those that do as they do, put the hash of a document.
	ExtensionPersisted = "persistedQuery"
	// ExtensionDocument is where the parameter documentId is kept between reading it and finding the document.
	ExtensionDocument = "documentId"
	// ExtensionWeight is where the weight of what was read is kept until it is charged.
	ExtensionWeight = "weight"
	// statNamed is where is noted that a document was named only, and not sent.
	statNamed = "TaggieNamed"
	// prefixSHA256 marks a documentId that is a hash, as the specification's appendix on persisted documents has it.
	prefixSHA256 = "sha256:"

	// StoredLately is how long a server that has stored a document does not store it again when a client sends it.
	StoredLately = time.Minute
	// messageNotFound is the text by which some clients know that they have to send the document.
	messageNotFound = "PersistedQueryNotFound"
)

var hexSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Persisted finds the documents that requests name, tells trusted ones from others, and keeps those that are registered. gqlgen's
// own keeps what was not validated yet, from everybody.
type Persisted struct {
	trusted   Trusted
	documents Documents           // nil keeps none
	recent    *lru.LRU[string]    // documents by their hash
	stored    *lru.LRU[time.Time] // when this server stored them
	log       *slog.Logger
}

// NewPersisted returns what finds documents: trusted ones, and those that are kept, for which documents may be nil.
func NewPersisted(trusted Trusted, documents Documents, log *slog.Logger) Persisted {
	return Persisted{trusted: trusted, documents: documents, recent: lru.New[string](maxCached), stored: lru.New[time.Time](maxCached), log: log}
}

// ExtensionName names the extension to gqlgen.
func (Persisted) ExtensionName() string { return "Persisted" }

// Validate accepts every schema.
func (Persisted) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters puts the document in whose id a request has in its place.
func (p Persisted) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	id, refused := Named(params.Extensions)
	if refused != nil {
		return refused
	}
	if id != "" {
		text, known := p.find(ctx, id)
		switch {
		case params.Query == "" && !known:
			return refusal.Of(model.ErrorCodePersistedQueryNotFound, messageNotFound)
		case params.Query == "":
			params.Query = text
			graphql.GetOperationContext(ctx).Stats.SetExtension(statNamed, true)
		case params.Query != text && HashOf(params.Query) != id:
			return refusal.Of(model.ErrorCodeBadRequest, "the id or hash is of another document than query")
		}
	}
	if p.trusted.Mode == TrustLog || p.trusted.Mode == TrustEnforce {
		return p.judge(ctx, params.Query)
	}
	return nil
}

// judge logs or refuses a document that is not trusted. The log has the hash, never the text.
func (p Persisted) judge(ctx context.Context, text string) *gqlerror.Error {
	if p.trusted.has(text) {
		return nil
	}
	if p.trusted.Mode == TrustEnforce {
		return refusal.Of(model.ErrorCodeForbidden, "this server carries out only documents that it knows from its clients' builds")
	}
	p.log.WarnContext(ctx, "document is not trusted", "sha256", HashOf(text))
	return nil
}

// Keep keeps a document that was sent with its hash, now that it has proved valid, and is paid for. One that this server knows is
// kept too: whoever sends the text was told by another server that nobody has it any more.
func (p Persisted) Keep(ctx context.Context, op *graphql.OperationContext) {
	id, _ := Named(op.Extensions)
	who := viewer.From(ctx).UserID
	if id == "" || who == "" || p.documents == nil || p.trusted.Mode == TrustEnforce || op.Stats.GetExtension(statNamed) != nil {
		return
	}
	if _, trusted := p.trusted.find(id); trusted {
		return
	}
	at, stored := p.stored.Get(ctx, id)
	if stored && time.Since(at) < StoredLately || HashOf(op.RawQuery) != id {
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
func (p Persisted) find(ctx context.Context, id string) (string, bool) {
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
	if !found || HashOf(text) != id {
		return "", false
	}
	p.recent.Add(ctx, id, text)
	return text, true
}

// Named returns the id or hash of the document that a request names, "" when it names none.
func Named(extensions map[string]any) (string, *gqlerror.Error) {
	if id, ok := extensions[ExtensionDocument].(string); ok {
		return strings.TrimPrefix(id, prefixSHA256), nil
	}
	given, ok := extensions[ExtensionPersisted]
	if !ok || given == nil {
		return "", nil
	}
	named, _ := given.(PersistedQuery)
	if named.Hash == "" {
		return "", refusal.Of(model.ErrorCodeBadRequest, "extensions.%s has no sha256Hash", ExtensionPersisted)
	}
	if named.Version != "1" {
		return "", refusal.Of(model.ErrorCodeBadRequest, "extensions.%s is of another version than 1", ExtensionPersisted)
	}
	return named.Hash, nil
}

// PersistedQuery is the extension of that name; what is missing or of the wrong type is "".
type PersistedQuery struct {
	Hash    string
	Version json.Number
}

// ReadPersisted reads the extension.
func ReadPersisted(text []byte) PersistedQuery {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields) // nothing then
	var q PersistedQuery
	if json.Unmarshal(fields["sha256Hash"], &q.Hash) != nil {
		q.Hash = ""
	}
	if version := fields["version"]; !bytes.HasPrefix(version, []byte(`"`)) {
		q.Version = json.Number(version)
	}
	return q
}

// HashOf is the SHA-256 of a document as clients spell it.
func HashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
