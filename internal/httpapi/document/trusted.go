package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// TrustMode says what becomes of documents that are not trusted.
type TrustMode string

// The modes: all documents are carried out, those that are not trusted are logged as well, or are refused.
const (
	TrustOff     TrustMode = "off"
	TrustLog     TrustMode = "log"
	TrustEnforce TrustMode = "enforce"
)

// Trusted are the documents that the builds of our clients know. They can be asked for by their id, whatever the mode.
type Trusted struct {
	Mode   TrustMode
	ByID   map[string]string
	byHash map[string]string
}

// ApolloFormat names the manifest that Apollo's generate-persisted-query-manifest writes.
const ApolloFormat = "apollo-persisted-query-manifest"

var errNoDocument = errors.New("expected at least one document")

// ReadTrusted reads manifests: those of Apollo's tools, or objects of ids and texts as relay-compiler and GraphQL Code Generator
// write them.
func ReadTrusted(mode TrustMode, manifests ...[]byte) (Trusted, error) {
	t := Trusted{Mode: mode, ByID: map[string]string{}, byHash: map[string]string{}}
	for _, manifest := range manifests {
		if err := t.read(manifest); err != nil {
			return Trusted{}, err
		}
	}
	return t, nil
}

func (t Trusted) read(manifest []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(manifest, &fields); err != nil {
		return errors.New("expected a JSON object: Apollo's persisted query manifest, or ids and texts of documents")
	}
	if _, apollo := fields["operations"]; apollo {
		return t.readApollo(manifest)
	}
	if len(fields) == 0 {
		return errNoDocument
	}
	for id, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return fmt.Errorf("expected the text of a document under %q", id)
		}
		if err := t.add(id, text); err != nil {
			return err
		}
	}
	return nil
}

func (t Trusted) readApollo(manifest []byte) error {
	var m struct {
		Format     string `json:"format"`
		Version    int    `json:"version"`
		Operations []struct{ ID, Body string }
	}
	if err := json.Unmarshal(manifest, &m); err != nil || m.Format != ApolloFormat || m.Version != 1 {
		return fmt.Errorf("expected the format %s in version 1", ApolloFormat)
	}
	if len(m.Operations) == 0 {
		return errNoDocument
	}
	for _, o := range m.Operations {
		if err := t.add(o.ID, o.Body); err != nil {
			return err
		}
	}
	return nil
}

func (t Trusted) add(id, text string) error {
	if before, ok := t.ByID[id]; ok && before != text {
		return fmt.Errorf("two documents have the id %q", id)
	}
	if id == "" || text == "" {
		return fmt.Errorf("a document has no id or no text (id %q)", id)
	}
	t.ByID[id], t.byHash[HashOf(text)] = text, text
	return nil
}

// Len is how many documents there are.
func (t Trusted) Len() int { return len(t.ByID) }

// find returns the document with this id or hash.
func (t Trusted) find(id string) (string, bool) {
	if text, ok := t.ByID[id]; ok {
		return text, true
	}
	text, ok := t.byHash[id]
	return text, ok
}

// has reports whether a document is trusted.
func (t Trusted) has(text string) bool {
	if len(t.byHash) == 0 {
		return false
	}
	_, ok := t.byHash[HashOf(text)]
	return ok
}

// Misfits tells the ids of the documents that do not fit a schema, in their order: those of clients that are older or newer
// than the server.
func (t Trusted) Misfits(schema *ast.Schema) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(t.ByID)) {
		doc, err := parser.ParseQuery(&ast.Source{Input: t.ByID[id]})
		if err != nil || len(validator.ValidateWithRules(schema, doc, rules.NewDefaultRules())) > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}
