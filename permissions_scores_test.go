package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strings"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// walkQuota is how many bytes of items each user of the walk may have.
const walkQuota = 200 << 20

// renewScores makes a private score with two pages, and a snapshot of it, after which everything was changed; an item that nothing uses,
// and uploads that may be completed.
func (w *world) renewScores() {
	w.t.Helper()
	secret := vars{"name": "secret.png", "setName": "secret set"}
	first, second := w.owner.uploads(w.pixel(), secret), w.owner.uploads(w.pixel(), secret)
	w.ids["score"] = w.owner.score("Secret score", []string{"secret annotation", "another secret"}, first)
	w.ids["snapshot"] = w.owner.snapshot(w.ids["score"], "secret snapshot")
	w.owner.must(updateScore, vars{"input": vars{"scoreId": w.ids["score"], "title": "Secret title", "description": "a secret, too",
		"pages": []vars{{"insert": vars{"at": 1, "pages": []vars{{"itemId": second, "name": "secret page"}}}}}, "annotations": []vars{{"remove": vars{"at": 0}}}}})
	id, err := gid.Parse(w.ids["snapshot"])
	require.NoError(w.t, err)
	w.ids["past"] = gid.Of("Score", id.Key...).String()
	w.ids["file"], w.ids["page"] = first, second
	w.ids["spareFile"] = w.owner.uploads(w.pixel(), changed(secret, vars{"scoreId": w.ids["score"]}))
	w.ids["ghostFile"] = gid.Of("Item", id.Key[0], string(score.Library), uuid.NewString()).String()
	w.ids["word"] = "Secret " + w.fresh() + "." // the items that were made before are not found by it
	w.owner.tags(w.ids["file"], vars{"value": w.ids["word"]}, vars{"value": w.ids["word"] + "closed", "visibility": "PRIVATE"})
	for _, name := range []string{"upload", "unwanted", "lie"} {
		content := w.pixel()
		if name == "lie" {
			content = []byte(fmt.Sprint("no image ", w.count))
		}
		a := w.owner.requests(content, secret)
		require.Equal(w.t, 200, w.owner.puts(a, content))
		w.ids[name] = a.str("requestUpload.upload.itemId")
	}
	if w.ids["project"] != "" {
		w.scanned()
	}
}

// scanned imports a page of the score into the project.
func (w *world) scanned() {
	w.t.Helper()
	w.ids["scans"] = w.owner.must(fill(`mutation { importItems(input: {projectId: $project, itemIds: [$file]}) { import { id } } }`, w.ids), nil).str("importItems.import.id")
	w.run(project.RunImport, "scans")
	w.ids["scanned"] = "item:" + globalKey(w.t, w.ids["file"])[3]
	w.ids["scanItem"] = w.owner.must(fill(`{ project(id: $project) { itemByExternalId(externalId: $scanned) { id } } }`, w.ids), nil).str("project.itemByExternalId.id")
}

// pixel returns an image, another one each time.
func (w *world) pixel() []byte {
	w.t.Helper()
	w.count++
	var b bytes.Buffer
	require.NoError(w.t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 2+w.count%40, 2))))
	return b.Bytes()
}

// largeScores makes what takes long and is not changed: an upload of which one part has come, and, for who may see it, a score that has
// as many snapshots as it may have.
func (w *world) largeScores() {
	w.t.Helper()
	const parts = 7 // whole ones
	a := w.owner.must(requestUpload, vars{"input": vars{"name": "secret.bin", "type": "application/octet-stream", "size": parts*score.PartSize + 5}})
	w.ids["parts"] = a.str("requestUpload.upload.itemId")
	content := []byte("parts")
	a = w.owner.must(`mutation($i: ID!, $sum: String!) { requestUpload: signUploadPart(input: {itemId: $i, partNumber: 8, sha256: $sum}) { upload: put { put: method } put { method url headers { name value } } } }`,
		vars{"i": w.ids["parts"], "sum": sha256Of(content)})
	signed := &answer{t: w.t, body: a.body, Data: map[string]any{"requestUpload": map[string]any{"upload": map[string]any{"put": a.at("requestUpload.put")}}}}
	require.Equal(w.t, 200, w.owner.puts(signed, content))

	w.ids["fullScore"] = w.owner.score("Secret full score", nil)
	if w.role != "owner" {
		return
	}
	for n := 0; n < score.MaxSnapshots; n += 25 {
		var b strings.Builder
		for i := range 25 {
			_, _ = fmt.Fprintf(&b, `s%d: createSnapshot(input: {scoreId: $fullScore, name: "%d"}) { problem { __typename } }`, i, n+i)
		}
		w.owner.must(fill(`mutation { `+b.String()+` }`, w.ids), nil)
	}
}

// What the owner is shown of scores for a snapshot.
const scoresShown = `
	score(id: $score) { title description access version updatedAt pages { name item { id setName } } annotations { text } snapshots { name updatedAt } }
	files: viewer { items(all: true, first: 500) { nodes { id setName useCount tags { nodes { value visibility } } } } }`
