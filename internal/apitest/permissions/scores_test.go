package permissions

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strings"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// walkQuota is how many bytes of items each user of the walk may have.
const walkQuota = 200 << 20

// renewScores makes a private score with two pages, and a snapshot of it, after which everything was changed; an item that nothing uses,
// and uploads that may be completed.
func (w *world) renewScores() {
	w.T.Helper()
	if w.ids["score"] != "" { // nothing of what was made before is listed, but what is in use
		w.owner.Do(fill(`mutation {
			deleteScore(input: {scoreId: $score}) { deletedScoreId }
			a: deleteItem(input: {itemId: $spareFile}) { deletedItemId } b: deleteItem(input: {itemId: $lentFile}) { deletedItemId }
			c: deleteItem(input: {itemId: $withdrawnFile}) { deletedItemId }
		}`, w.ids), nil) // some may be gone already
	}
	secret := apitest.Vars{"name": "secret.png", "setName": "secret set"}
	first, second := w.owner.Uploads(w.pixel(), secret), w.owner.Uploads(w.pixel(), secret)
	w.ids["score"] = w.owner.Score("Secret score", []string{"secret annotation", "another secret"}, first)
	w.ids["snapshot"] = w.owner.Snapshot(w.ids["score"], "secret snapshot")
	w.owner.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": w.ids["score"], "title": "Secret title", "description": "a secret, too",
		"pages": []apitest.Vars{{"insert": apitest.Vars{"at": 1, "pages": []apitest.Vars{{"itemId": second, "name": "secret page"}}}}}, "annotations": []apitest.Vars{{"remove": apitest.Vars{"at": 0}}}}})
	id, err := gid.Parse(w.ids["snapshot"])
	require.NoError(w.T, err)
	w.ids["past"] = gid.Of("Score", id.Key...).String()
	w.followScore()
	w.ids["file"], w.ids["page"] = first, second
	w.ids["spareFile"] = w.owner.Uploads(w.pixel(), apitest.Changed(secret, apitest.Vars{"scoreId": w.ids["score"]}))
	w.ids["lentFile"] = w.owner.Uploads(w.pixel(), secret)
	w.ids["withdrawnFile"] = w.owner.Uploads(w.pixel(), secret)
	require.Empty(w.T, w.owner.Mutate("withdrawItem", "item { id }", apitest.Vars{"itemId": w.ids["withdrawnFile"]}).Errors)
	w.ids["ghostFile"] = gid.Of("Item", id.Key[0], string(score.Library), uuid.NewString()).String()
	w.ids["word"] = "Secret " + w.fresh() + "." // the items that were made before are not found by it
	w.owner.Tags(w.ids["file"], apitest.Vars{"value": w.ids["word"]}, apitest.Vars{"value": w.ids["word"] + "closed", "visibility": "PRIVATE"})
	for _, name := range []string{"upload", "unwanted", "lie"} {
		content := w.pixel()
		if name == "lie" {
			content = []byte(fmt.Sprint("no image ", w.count))
		}
		a := w.owner.Requests(content, secret)
		require.Equal(w.T, 200, w.owner.Puts(a, content))
		w.ids[name] = a.Str("requestUpload.upload.itemId")
	}
	if w.ids["project"] != "" {
		w.scanned()
	}
}

// scanned imports a page of the score into the project.
func (w *world) scanned() {
	w.T.Helper()
	w.ids["scans"] = w.owner.Must(fill(`mutation { importItems(input: {projectId: $project, itemIds: [$file]}) { import { id } } }`, w.ids), nil).Str("importItems.import.id")
	w.run(project.RunImport, "scans")
	w.ids["scanned"] = "item:" + apitest.GlobalKey(w.T, w.ids["file"])[3]
	w.ids["scanItem"] = w.owner.Must(fill(`{ project(id: $project) { itemByExternalId(externalId: $scanned) { id } } }`, w.ids), nil).Str("project.itemByExternalId.id")
}

// pixel returns an image, another one each time.
func (w *world) pixel() []byte {
	w.T.Helper()
	w.count++
	var b bytes.Buffer
	require.NoError(w.T, png.Encode(&b, image.NewGray(image.Rect(0, 0, 2+w.count%40, 2))))
	return b.Bytes()
}

// largeScores makes what takes long and is not changed: an upload of which one part has come, and, for who may see it, a score that has
// as many snapshots as it may have.
func (w *world) largeScores() {
	w.T.Helper()
	const parts = 7 // whole ones
	a := w.owner.Must(apitest.RequestUpload, apitest.Vars{"input": apitest.Vars{"name": "secret.bin", "type": "application/octet-stream", "size": parts*score.PartSize + 5}})
	w.ids["parts"] = a.Str("requestUpload.upload.itemId")
	content := []byte("parts")
	a = w.owner.Must(`mutation($i: ID!, $sum: String!) { requestUpload: signUploadPart(input: {itemId: $i, partNumber: 8, sha256: $sum}) { upload: put { put: method } put { method url headers { name value } } } }`,
		apitest.Vars{"i": w.ids["parts"], "sum": apitest.Sha256Of(content)})
	signed := &apitest.Answer{T: w.T, Body: a.Body, Data: map[string]any{"requestUpload": map[string]any{"upload": map[string]any{"put": a.At("requestUpload.put")}}}}
	require.Equal(w.T, 200, w.owner.Puts(signed, content))

	w.ids["fullScore"] = w.owner.Score("Secret full score", nil)
	if w.role != "owner" {
		return
	}
	for n := 0; n < score.MaxSnapshots; n += 25 {
		var b strings.Builder
		for i := range 25 {
			_, _ = fmt.Fprintf(&b, `s%d: createSnapshot(input: {scoreId: $fullScore, name: "%d"}) { problem { __typename } }`, i, n+i)
		}
		w.owner.Must(fill(`mutation { `+b.String()+` }`, w.ids), nil)
	}
}

// keptScore makes a score that everybody may read and the owner keeps.
func (w *world) keptScore() {
	w.T.Helper()
	w.ids["keptScore"] = w.people["leaver"].Score("A score for everybody", nil)
	w.people["leaver"].Must(fill(`mutation { updateScore(input: {scoreId: $keptScore, access: PUBLIC}) { score { id } } }`, w.ids), nil)
	w.owner.Must(fill(`mutation { keepScore(input: {scoreId: $keptScore}) { score { id } } }`, w.ids), nil)
}

// What the owner is shown of scores for a snapshot.
const scoresShown = `
	score(id: $score) { title description access version updatedAt pages { name item { id name setName } } annotations { text } snapshots { name updatedAt } }
	files: viewer { items(all: true, first: 500) { nodes { id name setName useCount withdrawnAt tags { nodes { value visibility } } } } }`
