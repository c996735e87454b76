package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/httpapi/document"
)

// shelf is a store of documents in memory that several servers share; broken, it answers nothing.
type shelf struct {
	mu     sync.Mutex
	kept   map[string]string
	broken bool
	finds  int
	puts   int
}

func (s *shelf) Find(_ context.Context, hash string) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finds++
	if s.broken {
		return "", false, errors.New("dial redis.internal: refused")
	}
	text, found := s.kept[hash]
	return text, found, nil
}

func (s *shelf) Put(_ context.Context, who, hash, text string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts++
	if s.broken {
		return false, errors.New("dial redis.internal: refused")
	}
	if who != string(adaID) {
		return false, nil
	}
	s.kept[hash] = text
	return true, nil
}

const nameOfViewer = `{ viewer { name } }`

// registering is the body of a request that names a document by its hash, with its text or without.
func registering(hash, text string) string {
	body := map[string]any{"extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": hash}}}
	if text != "" {
		body["query"] = text
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

var ada = []string{"Authorization", "Bearer ada"}

func TestDocumentsAreRegisteredByTheirHash(t *testing.T) {
	store := &shelf{kept: map[string]string{}}
	sharing := func(o *Options) { o.Documents = store }
	one, other := newServer(t, sharing), newServer(t, sharing)
	hash := document.HashOf(nameOfViewer)

	a := one.post(registering(hash, ""), ada...)
	assert.Equal(t, "PersistedQueryNotFound", a.only(t, http.StatusOK, "PERSISTED_QUERY_NOT_FOUND").Message)
	a = one.post(registering(hash, ""), append(ada, "Accept", mediaResponse)...)
	a.only(t, http.StatusUnprocessableEntity, "PERSISTED_QUERY_NOT_FOUND")

	a = one.post(registering(hash, nameOfViewer), ada...)
	assert.JSONEq(t, `{"data":{"viewer":{"name":"Ada"}}}`, a.Body.String())
	for _, s := range []*server{one, other} {
		finds := store.finds
		for range 3 {
			a = s.post(registering(hash, ""), ada...)
			assert.JSONEq(t, `{"data":{"viewer":{"name":"Ada"}}}`, a.Body.String())
		}
		assert.LessOrEqual(t, store.finds, finds+1, "a server asks once")
	}

	extensions := url.QueryEscape(`{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}`)
	a = other.get("/graphql?extensions="+extensions, ada...)
	assert.JSONEq(t, `{"data":{"viewer":{"name":"Ada"}}}`, a.Body.String(), "over GET, which caches understand")
	a = other.get("/graphql?documentId=sha256:"+hash, ada...)
	assert.JSONEq(t, `{"data":{"viewer":{"name":"Ada"}}}`, a.Body.String(), "as the specification's appendix has it")
	a = other.post(`{"documentId":"sha256:`+hash+`"}`, ada...)
	assert.JSONEq(t, `{"data":{"viewer":{"name":"Ada"}}}`, a.Body.String())
}

// TestDocumentsThatWereLostAreRegisteredAgain loses the shared store while one of the servers remembers a document.
func TestDocumentsThatWereLostAreRegisteredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{kept: map[string]string{}}
		sharing := func(o *Options) { o.Documents = store }
		storing, finding, fresh := newServer(t, sharing), newServer(t, sharing), newServer(t, sharing)
		hash := document.HashOf(nameOfViewer)
		for range 3 {
			storing.post(registering(hash, nameOfViewer), ada...)
		}
		assert.Equal(t, 1, store.puts, "once for a while")
		for range 3 {
			assert.Empty(t, finding.post(registering(hash, ""), ada...).Errors)
		}
		assert.Equal(t, 1, store.puts, "what was only named is not stored again")
		for _, knowing := range []*server{storing, finding} {
			time.Sleep(document.StoredLately) // of the bubble's clock
			clear(store.kept)
			fresh.post(registering(hash, ""), ada...).only(t, http.StatusOK, "PERSISTED_QUERY_NOT_FOUND")
			assert.Empty(t, knowing.post(registering(hash, nameOfViewer), ada...).Errors)
			assert.Equal(t, map[string]string{hash: nameOfViewer}, store.kept)
		}
		assert.Empty(t, fresh.post(registering(hash, ""), ada...).Errors)
	})
}

func TestRegisteredMutationsAreNotCarriedOutOverGET(t *testing.T) {
	s := newServer(t, func(o *Options) { o.Documents = &shelf{kept: map[string]string{}} })
	const mutation = `mutation { createNote(input: {title: "", content: "b"}) { note { id } } }`
	s.post(registering(document.HashOf(mutation), mutation), ada...)
	a := s.get("/graphql?documentId=sha256:"+document.HashOf(mutation), ada...)
	a.only(t, http.StatusMethodNotAllowed, "BAD_REQUEST")
	assert.Equal(t, "POST", a.Header().Get("Allow"))
}

func TestRefusedRegistrations(t *testing.T) {
	store := &shelf{kept: map[string]string{}}
	s := newServer(t, func(o *Options) { o.Documents = store })
	hash := document.HashOf(nameOfViewer)
	for reason, test := range map[string]struct{ body, says string }{
		"another document's hash": {registering(hash, `{ viewer { id } }`), "another document"},
		"another version":         {`{"query":"{ viewer { name } }","extensions":{"persistedQuery":{"version":2,"sha256Hash":"` + hash + `"}}}`, "another version"},
		"no hash":                 {`{"query":"{ viewer { name } }","extensions":{"persistedQuery":{"version":1}}}`, "no sha256Hash"},
		"text for an object":      {`{"extensions":{"persistedQuery":"hunter2"}}`, "no sha256Hash"},
	} {
		a := s.post(test.body, ada...)
		assert.Contains(t, a.only(t, http.StatusOK, "BAD_REQUEST").Message, test.says, reason)
		assert.NotContains(t, a.Body.String(), "hunter2")
	}
	s.post(registering(document.HashOf(`{ viewer { nam } }`), `{ viewer { nam } }`), ada...)
	s.post(registering(hash, nameOfViewer)) // nobody
	const costly = `{ viewer { notes(first: 500) { nodes { versions(first: 500) { nodes { id } } } } } }`
	s.post(registering(document.HashOf(costly), costly), ada...).only(t, http.StatusOK, "BAD_REQUEST")
	assert.Empty(t, store.kept, "invalid, anonymous or costly documents are not kept")
}

func TestDocumentsThatNobodyPaidForAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // refusals are held back
		store := &shelf{kept: map[string]string{}}
		s := newServer(t, withBudget(newPurse().leave(500)), func(o *Options) { o.Documents = store })
		const costly = `{ viewer { notes(first: 500) { nodes { title } } } }`
		assert.Equal(t, http.StatusTooManyRequests, s.post(registering(document.HashOf(costly), costly), ada...).Code)
		assert.Empty(t, store.kept)
		s.post(registering(document.HashOf(nameOfViewer), nameOfViewer), ada...)
		assert.Len(t, store.kept, 1)
	})
}

func TestClientsWorkWithoutTheStoreOfDocuments(t *testing.T) {
	for _, change := range []func(*Options){
		func(*Options) {},
		func(o *Options) { o.Documents = &shelf{broken: true} },
		func(o *Options) {
			o.Documents = &shelf{kept: map[string]string{document.HashOf(nameOfViewer): `{ viewer { email } }`}} // somebody else wrote to it
		},
	} {
		s := newServer(t, change)
		s.post(registering(document.HashOf(nameOfViewer), ""), ada...).only(t, http.StatusOK, "PERSISTED_QUERY_NOT_FOUND")
		a := s.post(registering(document.HashOf(nameOfViewer), nameOfViewer), ada...)
		assert.JSONEq(t, `{"data":{"viewer":{"name":"Ada"}}}`, a.Body.String())
		assert.NotContains(t, a.Body.String(), "redis.internal")
	}
}
