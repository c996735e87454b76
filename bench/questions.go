package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/gid"
)

// question is asked of all servers.
type question struct {
	name, title string
	query       string  // for servers of GraphQL
	path        string  // for the others
	most        float64 // what Taggie may need of the hand-written handler's CPU, at equal settings
}

const noteFields = "id title content deadline createdAt updatedAt version"

var questions = []question{{
	name: "Q1", title: "user + 100 notes, flat", path: "/notes", most: 0.70,
	query: `query Flat { viewer { id name email notes(first: 100) { nodes { ` + noteFields + ` } pageInfo { hasNextPage } } } }`,
}, {
	name: "Q2", title: "the same with tags, owner, access list of five users each", path: "/notes/detailed", most: 0.45,
	query: `query Detailed { viewer { id name email notes(first: 100) { nodes { ` + noteFields + `
		tags { value } owner { id name } accessList { edges { permission node { id name } } }
	} pageInfo { hasNextPage } } } }`,
}, {
	name: "Q3", title: "300 shared notes with owner", path: "/shared", most: 0.60,
	query: `query Shared { viewer { id name email sharedNotes(first: 300) { nodes { ` + noteFields + `
		owner { id name }
	} pageInfo { hasNextPage } } } }`,
}}

// request returns what is sent for the question, with the body that GetBody repeats.
func (q question) request(base string, graphql bool, token string) (*http.Request, error) {
	method, target, body := http.MethodGet, base+q.path, io.Reader(nil)
	if graphql {
		sent, err := json.Marshal(map[string]string{"query": q.query})
		if err != nil {
			return nil, err
		}
		method, target, body = http.MethodPost, base+"/graphql", bytes.NewReader(sent)
	}
	r, err := http.NewRequest(method, target, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "application/json")
	if graphql {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// same compares the answer of another server with Taggie's: every field, at every place. Ids are opaque in one and bare in the
// other, and instants may be spelled in two ways.
func (q question) same(taggie, other []byte, from *process) error {
	left, err := q.answered(taggie, nameTaggie, true)
	if err != nil {
		return err
	}
	right, err := q.answered(other, from.name, from.graphql)
	if err != nil {
		return err
	}
	if at := difference("data", "", left, right); at != "" {
		return fmt.Errorf("%s: the answer of %s differs at %s", q.name, from.name, at)
	}
	return nil
}

// answered returns the data of an answer.
func (q question) answered(body []byte, from string, graphql bool) (data any, err error) {
	var enveloped struct {
		Data   any
		Errors json.RawMessage
	}
	if !graphql {
		err = json.Unmarshal(body, &data)
	} else if err = json.Unmarshal(body, &enveloped); enveloped.Errors != nil {
		err = fmt.Errorf("errors: %s", enveloped.Errors)
	} else {
		data = enveloped.Data
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the answer of %s: %w", q.name, from, err)
	}
	return data, nil
}

// difference returns where the values differ first, "" when they do not.
func difference(path, name string, a, b any) string {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return path
		}
		for name, value := range a {
			if at := difference(path+"."+name, name, value, b[name]); at != "" {
				return at
			}
		}
		return ""
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return path
		}
		for i := range a {
			if at := difference(fmt.Sprintf("%s[%d]", path, i), "", a[i], b[i]); at != "" {
				return at
			}
		}
		return ""
	}
	if plain(name, a) != plain(name, b) {
		return fmt.Sprintf("%s: %v and %v", path, a, b)
	}
	return ""
}

// plain returns the key in an opaque id, and instants in one spelling.
func plain(name string, value any) any {
	text, ok := value.(string)
	switch {
	case !ok:
	case name == "id":
		if id, err := gid.Parse(text); err == nil {
			return strings.Join(id.Key, "/")
		}
	case name == "deadline" || strings.HasSuffix(name, "At"):
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return t.UTC().Format(time.RFC3339Nano)
		}
	}
	return value
}
