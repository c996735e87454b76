package apitest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	_ "image/png"
	"io"
	"mime/multipart"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/demo"
)

// Staves returns a page of music.
func Staves(t *testing.T, seed uint64) []byte {
	t.Helper()
	png, err := demo.DrawStaves(seed)
	require.NoError(t, err)
	return png
}

// Sha256Of returns the checksum as uploads tell it.
func Sha256Of(of []byte) string {
	sum := sha256.Sum256(of)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// RequestUpload asks where a file of a score may be put.
const RequestUpload = `mutation($input: RequestUploadInput!) { requestUpload(input: $input) {
	upload { itemId put { method url headers { name value } } partCount expiresAt } problem { __typename } } }`

// Requests asks for an upload, with what is different from that of a page.
func (c *Client) Requests(content []byte, change Vars) *Answer {
	c.T.Helper()
	input := Vars{"name": "page.png", "type": "image/png", "size": len(content), "sha256": Sha256Of(content)}
	return c.Must(RequestUpload, Vars{"input": Changed(input, change)})
}

// Puts sends the bytes as the answer said, and tells the status.
func (c *Client) Puts(a *Answer, content []byte) int {
	c.T.Helper()
	return Sends(c.T, a.At("requestUpload.upload.put"), content)
}

// Sends makes the request that the server signed, and tells the status.
func Sends(t testing.TB, request any, content []byte) int {
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

// Posts posts the form that the server signed, and tells the status.
func Posts(t testing.TB, form any, content []byte) int {
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

// CompleteUpload says that a file of a score was put.
const CompleteUpload = `mutation($i: ID!) { completeUpload(input: {itemId: $i}) { item { id } problem { __typename ... on Problem { message } } } }`

// Uploads makes an item of the bytes.
func (c *Client) Uploads(content []byte, change Vars) string {
	c.T.Helper()
	a := c.Requests(content, change)
	require.Equal(c.T, http.StatusOK, c.Puts(a, content))
	return c.Must(CompleteUpload, Vars{"i": a.Str("requestUpload.upload.itemId")}).Str("completeUpload.item.id")
}

// Score makes a score with these pages.
func (c *Client) Score(title string, annotations []string, items ...string) string {
	c.T.Helper()
	var pages []Vars
	for i, item := range items {
		pages = append(pages, Vars{"itemId": item, "name": fmt.Sprintf("page %d", i), "label": fmt.Sprint(i + 1)})
	}
	return c.Must(`mutation($input: CreateScoreInput!) { createScore(input: $input) { score { id } problem { __typename } } }`,
		Vars{"input": Vars{"title": title, "description": "about " + title, "pages": pages, "annotations": annotations}}).Str("createScore.score.id")
}

// Snapshot keeps a score under a name.
func (c *Client) Snapshot(score, name string) string {
	c.T.Helper()
	return c.Must(`mutation($s: ID!, $n: String!) { createSnapshot(input: {scoreId: $s, name: $n}) { snapshot { id } problem { __typename } } }`,
		Vars{"s": score, "n": name}).Str("createSnapshot.snapshot.id")
}

// Fetch downloads what a URL leads to.
func Fetch(t *testing.T, url string) (*http.Response, []byte) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, body
}

const setItemTags = `mutation($i: ID!, $tags: [ItemTagInput!]!) { setItemTags(input: {itemId: $i, tags: $tags}) { item { id } tags { value visibility setName author { id } tag { id value } } } }`

// Tags puts tags on an item.
func (c *Client) Tags(item string, tags ...Vars) *Answer {
	c.T.Helper()
	return c.Must(setItemTags, Vars{"i": item, "tags": tags})
}

// UpdateScore changes a score.
const UpdateScore = `mutation($input: UpdateScoreInput!) { updateScore(input: $input) { score { version title hash } problem { __typename ... on ScoreConflict { current { version pages { item { name } } } } ... on UnknownItem { itemId } } } }`
