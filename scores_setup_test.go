package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/demo"
)

// staves returns a page of music.
func staves(t *testing.T, seed uint64) []byte {
	t.Helper()
	png, err := demo.DrawStaves(seed)
	require.NoError(t, err)
	return png
}

func sha256Of(of []byte) string {
	sum := sha256.Sum256(of)
	return base64.StdEncoding.EncodeToString(sum[:])
}

const requestUpload = `mutation($input: RequestUploadInput!) { requestUpload(input: $input) {
	upload { itemId put { method url headers { name value } } partCount expiresAt } problem { __typename } } }`

// requests asks for an upload, with what is different from that of a page.
func (c *client) requests(content []byte, change vars) *answer {
	c.t.Helper()
	input := vars{"name": "page.png", "type": "image/png", "size": len(content), "sha256": sha256Of(content)}
	return c.must(requestUpload, vars{"input": changed(input, change)})
}

// puts sends the bytes as the answer said, and tells the status.
func (c *client) puts(a *answer, content []byte) int {
	c.t.Helper()
	return sends(c.t, a.at("requestUpload.upload.put"), content)
}

// sends makes the request that the server signed, and tells the status.
func sends(t testing.TB, request any, content []byte) int {
	t.Helper()
	signed := request.(map[string]any)
	r, err := http.NewRequestWithContext(t.Context(), signed["method"].(string), signed["url"].(string), bytes.NewReader(content))
	require.NoError(t, err)
	for _, h := range signed["headers"].([]any) {
		h := h.(map[string]any)
		r.Header.Set(h["name"].(string), h["value"].(string))
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// posts posts the form that the server signed, and tells the status.
func posts(t testing.TB, form any, content []byte) int {
	t.Helper()
	signed := form.(map[string]any)
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for _, f := range signed["fields"].([]any) {
		f := f.(map[string]any)
		require.NoError(t, m.WriteField(f["name"].(string), f["value"].(string)))
	}
	file, err := m.CreateFormFile("file", "file")
	require.NoError(t, err)
	_, err = file.Write(content)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	resp, err := http.Post(signed["url"].(string), m.FormDataContentType(), &body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

const completeUpload = `mutation($i: ID!) { completeUpload(input: {itemId: $i}) { item { id } problem { __typename ... on Problem { message } } } }`

// uploads makes an item of the bytes.
func (c *client) uploads(content []byte, change vars) string {
	c.t.Helper()
	a := c.requests(content, change)
	require.Equal(c.t, http.StatusOK, c.puts(a, content))
	return c.must(completeUpload, vars{"i": a.str("requestUpload.upload.itemId")}).str("completeUpload.item.id")
}

// score makes a score with these pages.
func (c *client) score(title string, annotations []string, items ...string) string {
	c.t.Helper()
	var pages []vars
	for i, item := range items {
		pages = append(pages, vars{"itemId": item, "name": fmt.Sprintf("page %d", i), "label": fmt.Sprint(i + 1)})
	}
	return c.must(`mutation($input: CreateScoreInput!) { createScore(input: $input) { score { id } problem { __typename } } }`,
		vars{"input": vars{"title": title, "description": "about " + title, "pages": pages, "annotations": annotations}}).str("createScore.score.id")
}

// snapshot keeps a score under a name.
func (c *client) snapshot(score, name string) string {
	c.t.Helper()
	return c.must(`mutation($s: ID!, $n: String!) { createSnapshot(input: {scoreId: $s, name: $n}) { snapshot { id } problem { __typename } } }`,
		vars{"s": score, "n": name}).str("createSnapshot.snapshot.id")
}

// fetch downloads what a URL leads to.
func fetch(t *testing.T, url string) (*http.Response, []byte) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, body
}

const setItemTags = `mutation($i: ID!, $tags: [ItemTagInput!]!) { setItemTags(input: {itemId: $i, tags: $tags}) { item { id } tags { value visibility setName author { id } tag { id value } } } }`

// tags puts tags on an item.
func (c *client) tags(item string, tags ...vars) *answer {
	c.t.Helper()
	return c.must(setItemTags, vars{"i": item, "tags": tags})
}
