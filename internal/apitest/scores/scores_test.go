package scores

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	_ "image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/gid"
)

// From an image on disk to a page with a thumbnail, a snapshot, and back.
func TestAnImageBecomesAPageOfAScore(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	first, second := apitest.Staves(t, 1), apitest.Staves(t, 2)
	one, two := ada.Uploads(first, nil), ada.Uploads(second, apitest.Vars{"name": "second.png", "setName": "drafts"})
	id := ada.Score("Prélude", []string{"slowly", "with pedal", "slowly"}, one)

	a := ada.Must(`query($id: ID!) { score(id: $id) { id title description access pageCount annotationCount version snapshot { id } owner { id } createdAt
		pages { index name label item { id name type size sha256 width height url thumbnailUrl thumbnailWidth thumbnailHeight useCount } } annotations { index hash text } } }`, apitest.Vars{"id": id})
	assert.Equal(t, id, a.Str("score.id"))
	assert.Equal(t, "about Prélude", a.Str("score.description"))
	assert.Equal(t, "PRIVATE", a.Str("score.access"))
	assert.Nil(t, a.At("score.snapshot"))
	page := a.List("score.pages")[0].(map[string]any)
	item := page["item"].(map[string]any)
	assert.Equal(t, "1", page["label"])
	assert.Equal(t, one, item["id"])
	assert.Equal(t, apitest.Sha256Of(first), item["sha256"])
	assert.Equal(t, 992., item["width"])
	assert.Equal(t, 1., item["useCount"])
	annotations := a.List("score.annotations")
	assert.Equal(t, "with pedal", annotations[1].(map[string]any)["text"])
	assert.Equal(t, annotations[0].(map[string]any)["hash"], annotations[2].(map[string]any)["hash"])

	resp, thumbnail := apitest.Fetch(t, item["thumbnailUrl"].(string))
	require.Equal(t, http.StatusOK, resp.StatusCode)
	shown, _, err := image.DecodeConfig(bytes.NewReader(thumbnail))
	require.NoError(t, err)
	assert.Equal(t, item["thumbnailWidth"], float64(shown.Width))
	_, file := apitest.Fetch(t, item["url"].(string))
	assert.Equal(t, first, file)

	snapshot := ada.Snapshot(id, "as it was")
	a = ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": id, "title": "Fugue", "description": nil, "expectedVersion": 1,
		"pages":       []apitest.Vars{{"insert": apitest.Vars{"at": 1, "pages": []apitest.Vars{{"itemId": two, "name": "new"}}}}, {"remove": apitest.Vars{"at": 0}}},
		"annotations": []apitest.Vars{{"edit": apitest.Vars{"at": 1, "text": "without pedal"}}, {"move": apitest.Vars{"from": 1, "to": 0}}, {"insert": apitest.Vars{"at": 3, "texts": []string{"end"}}}}}})
	require.Nil(t, a.At("updateScore.problem"), "%s", a.Body)
	assert.Equal(t, "Fugue", a.Str("updateScore.score.title"))

	const details = `title description pageCount pages { name item { name thumbnailUrl } } annotations { text }`
	a = ada.Must(`query($id: ID!, $at: ID!) { now: score(id: $id) { `+details+` snapshots { id name changes { changed title { before after } description { before after } pages { before after page { name item { name } } } annotations { before after text } } score { id title } } }
		then: score(id: $id, snapshot: $at) { id `+details+` snapshot { name } version } same: node(id: $at) { ... on Snapshot { score { id title pages { item { thumbnailUrl } } } } } }`, apitest.Vars{"id": id, "at": snapshot})
	assert.Equal(t, "Fugue", a.Str("now.title"))
	assert.Equal(t, "Prélude", a.Str("then.title"))
	assert.Equal(t, "", a.Str("now.description"))
	assert.Equal(t, "about Prélude", a.Str("then.description"))
	assert.Equal(t, "as it was", a.Str("then.snapshot.name"))
	assert.Equal(t, a.Str("then.id"), a.Str("same.score.id"))
	assert.Contains(t, fmt.Sprint(a.List("same.score.pages")), "http")
	assert.Equal(t, []any{map[string]any{"text": "slowly"}, map[string]any{"text": "with pedal"}, map[string]any{"text": "slowly"}}, a.At("then.annotations"))
	changes := a.List("now.snapshots")[0].(map[string]any)["changes"].(map[string]any)
	assert.Equal(t, true, changes["changed"])
	assert.Equal(t, map[string]any{"before": "Prélude", "after": "Fugue"}, changes["title"])
	assert.Len(t, changes["pages"], 2)
	assert.Len(t, changes["annotations"], 3, "one went, two came")

	past := a.Str("then.id")
	assert.Equal(t, "Prélude", ada.Must(`query($id: ID!) { node(id: $id) { ... on Score { title } } }`, apitest.Vars{"id": past}).Str("node.title"))
	assert.Len(t, ada.Must(`query($ids: [ID!]!) { nodes(ids: $ids) { id __typename ... on Item { score { id } owner { name } } } }`, apitest.Vars{"ids": []string{id, past, snapshot, one}}).List("nodes"), 4)
	ada.Do(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": past, "title": "x"}}).Fails(apitest.Invalid, "input.scoreId")

	a = ada.Must(`mutation($i: ID!) { deleteItem(input: {itemId: $i}) { deletedItemId problem { __typename ... on ItemInUse { current { useCount usedBy { edges { kind node { __typename } } nodes { ... on Snapshot { name } ... on Score { title } } } } } } } }`, apitest.Vars{"i": one})
	assert.Equal(t, "ItemInUse", a.Str("deleteItem.problem.__typename"), "the snapshot uses it")
	assert.Equal(t, []any{map[string]any{"name": "as it was"}}, a.At("deleteItem.problem.current.usedBy.nodes"))

	a = ada.Must(`mutation($s: ID!) { restoreSnapshot(input: {snapshotId: $s, expectedVersion: 2}) { score { title version pages { item { id } } } problem { __typename } } }`, apitest.Vars{"s": snapshot})
	assert.Equal(t, "Prélude", a.Str("restoreSnapshot.score.title"))
	assert.Equal(t, false, ada.Must(`query($s: ID!) { node(id: $s) { ... on Snapshot { changes { changed } } } }`, apitest.Vars{"s": snapshot}).At("node.changes.changed"))
	a = ada.Must(`mutation($i: ID!) { deleteItem(input: {itemId: $i}) { deletedItemId problem { __typename } } }`, apitest.Vars{"i": two})
	assert.Equal(t, two, a.Str("deleteItem.deletedItemId"))

	a = ada.Must(`mutation($s: ID!) { renameSnapshot(input: {snapshotId: $s, name: "before"}) { snapshot { name score { title } } } }`, apitest.Vars{"s": snapshot})
	assert.Equal(t, "before", a.Str("renameSnapshot.snapshot.name"))
	a = ada.Must(`mutation($s: ID!) { deleteSnapshot(input: {snapshotId: $s}) { deletedSnapshotId score { snapshotCount snapshots { id } } } }`, apitest.Vars{"s": snapshot})
	assert.Equal(t, 0., a.At("deleteSnapshot.score.snapshotCount"))
	a = ada.Must(`mutation($s: ID!) { deleteScore(input: {scoreId: $s}) { deletedScoreId problem { __typename } } }`, apitest.Vars{"s": id})
	assert.Equal(t, id, a.Str("deleteScore.deletedScoreId"))
	a = ada.Must(`mutation($i: ID!) { deleteItem(input: {itemId: $i}) { deletedItemId problem { __typename } } }`, apitest.Vars{"i": one})
	assert.Equal(t, one, a.Str("deleteItem.deletedItemId"))
	a = ada.Must(`{ viewer { scoreCount scores { nodes { id } } items(all: true) { nodes { id } } itemUsage { size claimed uploadCount quota } } }`, nil)
	assert.Equal(t, 0., a.At("viewer.scoreCount"))
	assert.Equal(t, 0., a.At("viewer.itemUsage.size"), "%s", a.Body)
}

func TestWhoMayReadAScore(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	id := ada.Score("Secret", []string{"note"}, ada.Uploads(apitest.Staves(t, 3), nil))
	snapshot := ada.Snapshot(id, "first")
	const read = `query($id: ID!, $at: ID!, $u: ID!) { score(id: $id) { title description pages { item { thumbnailUrl useCount } } annotations { text } snapshots { name } }
		then: score(id: $id, snapshot: $at) { title pages { item { thumbnailUrl } } } node(id: $at) { id } user(id: $u) { scores { nodes { id } edges { cursor } } } }`
	v := apitest.Vars{"id": id, "at": snapshot, "u": ada.ID}
	a := bob.Must(read, v)
	assert.Nil(t, a.At("score"))
	assert.Nil(t, a.At("then"))
	assert.Nil(t, a.At("node"))
	for access, listed := range map[string]int{"LIMITED": 0, "PUBLIC": 1} {
		ada.Must(`mutation($s: ID!, $a: ScoreAccess!) { updateScore(input: {scoreId: $s, access: $a, showEarlierSnapshots: true}) { problem { __typename } } }`, apitest.Vars{"s": id, "a": access})
		a := bob.Must(read, v)
		assert.Equal(t, "Secret", a.Str("score.title"))
		assert.Equal(t, "Secret", a.Str("then.title"))
		assert.Contains(t, fmt.Sprint(a.List("score.pages")), "http")
		assert.Contains(t, fmt.Sprint(a.List("score.pages")), "useCount:<nil>")
		assert.Len(t, a.List("user.scores.nodes"), listed, access)
	}
	bob.Do(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": id, "title": "Mine"}}).Fails("FORBIDDEN", "")
	bob.Do(apitest.RequestUpload, apitest.Vars{"input": apitest.Vars{"scoreId": id, "name": "x", "type": "text/plain", "size": 1, "sha256": apitest.Sha256Of(nil)}}).Fails("FORBIDDEN", "")
	a = bob.Do(`query($id: ID!) { score(id: $id) { items { nodes { id } } } }`, v)
	a.Fails("FORBIDDEN", "")
}

// Who knows the id of a limited score may read it: a page of another score does not tell it.
func TestAPageDoesNotTellToWhichScoreItWasUploaded(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	limited := ada.Score("Limited", nil)
	item := ada.Uploads(apitest.Staves(t, 6), apitest.Vars{"scoreId": limited})
	public := ada.Score("Public", nil, item)
	for score, access := range map[string]string{limited: "LIMITED", public: "PUBLIC"} {
		ada.Must(`mutation($s: ID!, $a: ScoreAccess!) { updateScore(input: {scoreId: $s, access: $a}) { problem { __typename } } }`, apitest.Vars{"s": score, "a": access})
	}
	const read = `query($u: ID!) { user(id: $u) { scores { nodes { title pages { item { id name url score { id } } } } } } }`
	v := apitest.Vars{"u": ada.ID}
	seen := bob.Must(read, v)
	require.Equal(t, "Public", seen.List("user.scores.nodes")[0].(map[string]any)["title"])
	page := seen.List("user.scores.nodes")[0].(map[string]any)["pages"].([]any)[0].(map[string]any)["item"].(map[string]any)
	assert.Nil(t, page["score"])
	assert.Contains(t, page["url"], "http")
	hidden, err := gid.Parse(limited)
	require.NoError(t, err)
	shown, err := gid.Parse(page["id"].(string))
	require.NoError(t, err)
	assert.NotContains(t, shown.Key, hidden.Key[1])
	assert.NotContains(t, seen.Body, hidden.Key[1])
	assert.Contains(t, fmt.Sprint(ada.Must(read, v).List("user.scores.nodes")), limited, "the owner is told")
}

func TestUploadsThatAreNotWhatWasAnnounced(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	png := apitest.Staves(t, 4)
	a := ada.Requests(png, nil)
	i := apitest.Vars{"i": a.Str("requestUpload.upload.itemId")}
	assert.Equal(t, "NotUploaded", ada.Must(apitest.CompleteUpload, i).Str("completeUpload.problem.__typename"))
	tampered := bytes.Clone(png)
	tampered[len(tampered)-1] ^= 1
	assert.GreaterOrEqual(t, ada.Puts(a, tampered), 400, "other bytes")
	assert.GreaterOrEqual(t, ada.Puts(a, append(bytes.Clone(png), 0)), 400, "more bytes")
	assert.Equal(t, http.StatusOK, ada.Puts(a, png))
	assert.Equal(t, i["i"], ada.Must(apitest.CompleteUpload, i).Str("completeUpload.item.id"))
	assert.Equal(t, i["i"], ada.Must(apitest.CompleteUpload, i).Str("completeUpload.item.id"), "again")

	lie := []byte("<svg onload='alert(1)'/>")
	a = ada.Requests(lie, nil)
	require.Equal(t, http.StatusOK, ada.Puts(a, lie))
	i = apitest.Vars{"i": a.Str("requestUpload.upload.itemId")}
	a = ada.Must(apitest.CompleteUpload, i)
	assert.Equal(t, "UploadRefused", a.Str("completeUpload.problem.__typename"))
	assert.Contains(t, a.Str("completeUpload.problem.message"), "not of the type image/png")
	bar := bytes.Clone(png) // one that is 40 million pixels high: it is refused by its header
	copy(bar[16:24], []byte{0, 0, 0, 1, 0x02, 0x62, 0x5a, 0x00})
	binary.BigEndian.PutUint32(bar[29:], crc32.ChecksumIEEE(bar[12:29]))
	a = ada.Requests(bar, nil)
	require.Equal(t, http.StatusOK, ada.Puts(a, bar))
	a = ada.Must(apitest.CompleteUpload, apitest.Vars{"i": a.Str("requestUpload.upload.itemId")})
	assert.Equal(t, "UploadRefused", a.Str("completeUpload.problem.__typename"))
	assert.Contains(t, a.Str("completeUpload.problem.message"), "a side has at most 65535")
	ada.Do(apitest.CompleteUpload, i).Fails("CONFLICT", "")
	assert.Equal(t, 0., ada.Must(`{ viewer { itemUsage { uploadCount } } }`, nil).At("viewer.itemUsage.uploadCount"), "nothing is left")

	a = ada.Requests(png, nil)
	i = apitest.Vars{"i": a.Str("requestUpload.upload.itemId")}
	assert.Equal(t, i["i"], ada.Must(`mutation($i: ID!) { abortUpload(input: {itemId: $i}) { abortedItemId } }`, i).Str("abortUpload.abortedItemId"))
	ada.Do(apitest.CompleteUpload, i).Fails("CONFLICT", "")

	a = ada.Must(apitest.RequestUpload, apitest.Vars{"input": apitest.Vars{"name": "film.mp4", "type": "video/mp4", "size": 200 << 20}})
	assert.Equal(t, 13., a.At("requestUpload.upload.partCount"))
	assert.Nil(t, a.At("requestUpload.upload.put"))
	i = apitest.Vars{"i": a.Str("requestUpload.upload.itemId"), "sum": apitest.Sha256Of([]byte("part"))}
	a = ada.Must(`mutation($i: ID!, $sum: String!) { signUploadPart(input: {itemId: $i, partNumber: 13, sha256: $sum}) { put { method url headers { name value } } } }`, i)
	assert.Equal(t, "PUT", a.Str("signUploadPart.put.method"))
	assert.Empty(t, ada.Must(`query($i: ID!) { uploadedParts(itemId: $i) { number size etag sha256 } }`, apitest.Vars{"i": i["i"]}).List("uploadedParts"))
}

func TestQuotaOfItems(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	set := apitest.Vars{"u": ada.ID, "q": 1000}
	const setQuota = `mutation($u: ID!, $q: Int64!) { setItemQuota(input: {userId: $u, quota: $q}) { usage { quota } } }`
	ada.Do(setQuota, set).Fails("FORBIDDEN", "")
	a := s.Admin("root@example.com").Must(setQuota, set)
	assert.Equal(t, 1000., a.At("setItemQuota.usage.quota"))
	a = ada.Requests(apitest.Staves(t, 5), nil)
	assert.Equal(t, "QuotaReached", a.Str("requestUpload.problem.__typename"))
}

// What was signed is refused after the upload has ended, or counts until it ends; see storetest for what happens then.
func TestWhatWasSignedCannotBeUsedForMore(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	content := []byte(strings.Repeat("music ", 1000))
	const size = 6000
	root := s.Admin("root@example.com")
	quota := func(bytes int) {
		root.Must(`mutation($u: ID!, $q: Int64!) { setItemQuota(input: {userId: $u, quota: $q}) { usage { quota } } }`, apitest.Vars{"u": ada.ID, "q": bytes})
	}
	quota(size + 100)
	claims := func(size, claimed float64) {
		t.Helper()
		assert.Equal(t, apitest.Vars{"size": size, "claimed": claimed}, apitest.Vars(ada.Must(`{ viewer { itemUsage { size claimed } } }`, nil).At("viewer.itemUsage").(map[string]any)))
	}
	const request = `mutation($input: RequestUploadInput!) { requestUpload(input: $input) { upload { itemId
		put { method url headers { name value } } form { url fields { name value } } } problem { __typename } } }`
	input := apitest.Vars{"input": apitest.Vars{"name": "notes.txt", "type": "text/plain", "size": len(content), "sha256": apitest.Sha256Of(content)}}
	begin := func() (put any, form any, item apitest.Vars) {
		a := ada.Must(request, input)
		require.Nil(t, a.At("requestUpload.problem"))
		put = a.At("requestUpload.upload.put")
		assert.Contains(t, a.Str("requestUpload.upload.put.url"), "X-Amz-Expires=900")
		require.Equal(t, http.StatusOK, apitest.Sends(t, put, content))
		return put, a.At("requestUpload.upload.form"), apitest.Vars{"i": a.Str("requestUpload.upload.itemId")}
	}
	again := func(put, form any, when string) {
		t.Helper()
		assert.Equal(t, http.StatusPreconditionFailed, apitest.Sends(t, put, content), when)
		assert.Equal(t, http.StatusNoContent, apitest.Posts(t, form, content), when)
		assert.Equal(t, "QuotaReached", ada.Must(request, input).Str("requestUpload.problem.__typename"), "one more round after it was %s", when)
	}
	put, form, item := begin()
	require.Nil(t, ada.Must(apitest.CompleteUpload, item).At("completeUpload.problem"))
	claims(size, size)
	again(put, form, "completed")
	claims(size, size)
	ada.Must(`mutation($i: ID!) { deleteItem(input: {itemId: $i}) { deletedItemId } }`, item)
	claims(0, size)
	again(put, form, "deleted")

	quota(2*size + 100)
	put, form, item = begin()
	ada.Must(`mutation($i: ID!) { abortUpload(input: {itemId: $i}) { abortedItemId } }`, item)
	claims(0, 2*size)
	again(put, form, "aborted")
	claims(0, 2*size)
}

func TestDetailsOfALargeScore(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	small := []byte(strings.Repeat("music ", 10))
	items := make([]string, 250)
	for i := range items {
		items[i] = ada.Uploads(small, apitest.Vars{"type": "text/plain", "name": "page.txt"})
	}
	texts := make([]string, 1000) // 2 MB together: the largest score is in internal/storetest
	for i := range texts {
		texts[i] = fmt.Sprintf("%04d %s", i, strings.Repeat("a", 1995))
	}
	id := ada.Score("Large", texts, items...)
	update := func(annotations ...apitest.Vars) {
		t.Helper()
		a := ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": id, "annotations": annotations}})
		require.Nil(t, a.At("updateScore.problem"))
	}
	snapshot := ada.Snapshot(id, "first")
	shown := func(at any) apitest.Cost {
		t.Helper()
		c := ada.Measure(`query($id: ID!, $at: ID) { score(id: $id, snapshot: $at) { title description pages { name item { name url thumbnailUrl } } annotations { text } snapshots { name } } }`, apitest.Vars{"id": id, "at": at})
		assert.Len(t, c.List("score.pages"), 250)
		assert.Equal(t, map[string]any{"text": texts[999]}, c.List("score.annotations")[999])
		return c
	}
	c := shown(nil)
	assert.LessOrEqual(t, c.Count(), 16, "%v", c.Operations())
	t.Logf("%v", c.Operations())

	update(apitest.Vars{"edit": apitest.Vars{"at": 0, "text": "new"}}, apitest.Vars{"move": apitest.Vars{"from": 999, "to": 1}})
	a := ada.Must(`query($s: ID!) { node(id: $s) { ... on Snapshot { changes { pages { before } annotations { before after text } } } } }`, apitest.Vars{"s": snapshot})
	assert.Empty(t, a.List("node.changes.pages"))
	require.Len(t, a.List("node.changes.annotations"), 3, "one moved, one went, one came")
	c = shown(snapshot)
	assert.Less(t, c.Count(), 16, "%v", c.Operations())
	t.Logf("%v", c.Operations())
	a = ada.Must(`mutation($s: ID!) { restoreSnapshot(input: {snapshotId: $s}) { score { annotationCount } problem { __typename } } }`, apitest.Vars{"s": snapshot})
	assert.Equal(t, 1000., a.At("restoreSnapshot.score.annotationCount"))
	shown(nil)
}

// A file of more than 100 MiB comes in parts, as clients such as Uppy send them: some, then an interruption, then what is missing.
func TestAFileInParts(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	film := make([]byte, 100<<20+1)
	for i := range film {
		film[i] = byte(i >> 16)
	}
	a := ada.Must(`mutation($input: RequestUploadInput!) { requestUpload(input: $input) { upload { itemId partSize partCount put { url } form { url } } } }`,
		apitest.Vars{"input": apitest.Vars{"name": "film.bin", "type": "application/x-film", "size": len(film)}})
	item, size, count := a.Str("requestUpload.upload.itemId"), int(a.At("requestUpload.upload.partSize").(float64)), int(a.At("requestUpload.upload.partCount").(float64))
	require.Greater(t, count, 2)
	assert.Nil(t, a.At("requestUpload.upload.put"))
	assert.Nil(t, a.At("requestUpload.upload.form"))
	part := func(n int) []byte { return film[(n-1)*size : min(n*size, len(film))] }
	put := func(n int, bytes []byte) int {
		t.Helper()
		a := ada.Must(`mutation($i: ID!, $n: Int!, $sum: String!) { signUploadPart(input: {itemId: $i, partNumber: $n, sha256: $sum}) { put { method url headers { name value } } } }`,
			apitest.Vars{"i": item, "n": n, "sum": apitest.Sha256Of(part(n))})
		return apitest.Sends(t, a.At("signUploadPart.put"), bytes)
	}
	for n := 1; n < count; n++ {
		require.Equal(t, http.StatusOK, put(n, part(n)))
	}
	assert.Equal(t, "NotUploaded", ada.Must(apitest.CompleteUpload, apitest.Vars{"i": item}).Str("completeUpload.problem.__typename"), "one is missing")
	assert.GreaterOrEqual(t, put(count, []byte("x")), 400, "other bytes than those that were signed")
	there := ada.Must(`query($i: ID!) { uploadedParts(itemId: $i) { number size etag } }`, apitest.Vars{"i": item}).List("uploadedParts")
	require.Len(t, there, count-1)
	assert.Equal(t, float64(size), there[0].(map[string]any)["size"])
	require.Equal(t, http.StatusOK, put(count, part(count)))
	require.Equal(t, item, ada.Must(apitest.CompleteUpload, apitest.Vars{"i": item}).Str("completeUpload.item.id"))
	a = ada.Must(`query($i: ID!) { node(id: $i) { ... on Item { type size sha256 url thumbnailUrl } } viewer { itemUsage { size claimed uploadCount itemCount } } }`, apitest.Vars{"i": item})
	assert.Equal(t, "application/x-film", a.Str("node.type"))
	assert.Regexp(t, fmt.Sprintf(`^.{44}-%d$`, count), a.Str("node.sha256"))
	assert.Nil(t, a.At("node.thumbnailUrl"))
	assert.Equal(t, map[string]any{"size": float64(len(film)), "claimed": float64(len(film)), "uploadCount": 0., "itemCount": 1.}, a.At("viewer.itemUsage"))
	resp, file := apitest.Fetch(t, a.Str("node.url"))
	assert.Contains(t, resp.Header.Get("Content-Disposition"), "attachment")
	assert.True(t, bytes.Equal(film, file), "%d bytes", len(file))
}
