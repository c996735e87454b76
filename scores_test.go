package main

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

	"github.com/taggie/taggie/internal/gid"
)

const updateScore = `mutation($input: UpdateScoreInput!) { updateScore(input: $input) { score { version title hash } problem { __typename ... on ScoreConflict { current { version pages { item { name } } } } ... on UnknownItem { itemId } } } }`

// From an image on disk to a page with a thumbnail, a snapshot, and back.
func TestAnImageBecomesAPageOfAScore(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	first, second := staves(t, 1), staves(t, 2)
	one, two := ada.uploads(first, nil), ada.uploads(second, vars{"name": "second.png", "setName": "drafts"})
	id := ada.score("Prélude", []string{"slowly", "with pedal", "slowly"}, one)

	a := ada.must(`query($id: ID!) { score(id: $id) { id title description access pageCount annotationCount version snapshot { id } owner { id } createdAt
		pages { index name label item { id name type size sha256 width height url thumbnailUrl thumbnailWidth thumbnailHeight useCount } } annotations { index hash text } } }`, vars{"id": id})
	assert.Equal(t, id, a.str("score.id"))
	assert.Equal(t, "about Prélude", a.str("score.description"))
	assert.Equal(t, "PRIVATE", a.str("score.access"))
	assert.Nil(t, a.at("score.snapshot"))
	page := a.list("score.pages")[0].(map[string]any)
	item := page["item"].(map[string]any)
	assert.Equal(t, "1", page["label"])
	assert.Equal(t, one, item["id"])
	assert.Equal(t, sha256Of(first), item["sha256"])
	assert.Equal(t, 992., item["width"])
	assert.Equal(t, 1., item["useCount"])
	annotations := a.list("score.annotations")
	assert.Equal(t, "with pedal", annotations[1].(map[string]any)["text"])
	assert.Equal(t, annotations[0].(map[string]any)["hash"], annotations[2].(map[string]any)["hash"])

	resp, thumbnail := fetch(t, item["thumbnailUrl"].(string))
	require.Equal(t, http.StatusOK, resp.StatusCode)
	shown, _, err := image.DecodeConfig(bytes.NewReader(thumbnail))
	require.NoError(t, err)
	assert.Equal(t, item["thumbnailWidth"], float64(shown.Width))
	_, file := fetch(t, item["url"].(string))
	assert.Equal(t, first, file)

	snapshot := ada.snapshot(id, "as it was")
	a = ada.must(updateScore, vars{"input": vars{"scoreId": id, "title": "Fugue", "description": nil, "expectedVersion": 1,
		"pages":       []vars{{"insert": vars{"at": 1, "pages": []vars{{"itemId": two, "name": "new"}}}}, {"remove": vars{"at": 0}}},
		"annotations": []vars{{"edit": vars{"at": 1, "text": "without pedal"}}, {"move": vars{"from": 1, "to": 0}}, {"insert": vars{"at": 3, "texts": []string{"end"}}}}}})
	require.Nil(t, a.at("updateScore.problem"), "%s", a.body)
	assert.Equal(t, "Fugue", a.str("updateScore.score.title"))

	const details = `title description pageCount pages { name item { name thumbnailUrl } } annotations { text }`
	a = ada.must(`query($id: ID!, $at: ID!) { now: score(id: $id) { `+details+` snapshots { id name changes { changed title { before after } description { before after } pages { before after page { name item { name } } } annotations { before after text } } score { id title } } }
		then: score(id: $id, snapshot: $at) { id `+details+` snapshot { name } version } same: node(id: $at) { ... on Snapshot { score { id title pages { item { thumbnailUrl } } } } } }`, vars{"id": id, "at": snapshot})
	assert.Equal(t, "Fugue", a.str("now.title"))
	assert.Equal(t, "Prélude", a.str("then.title"))
	assert.Equal(t, "", a.str("now.description"))
	assert.Equal(t, "about Prélude", a.str("then.description"))
	assert.Equal(t, "as it was", a.str("then.snapshot.name"))
	assert.Equal(t, a.str("then.id"), a.str("same.score.id"))
	assert.Contains(t, fmt.Sprint(a.list("same.score.pages")), "http")
	assert.Equal(t, []any{map[string]any{"text": "slowly"}, map[string]any{"text": "with pedal"}, map[string]any{"text": "slowly"}}, a.at("then.annotations"))
	changes := a.list("now.snapshots")[0].(map[string]any)["changes"].(map[string]any)
	assert.Equal(t, true, changes["changed"])
	assert.Equal(t, map[string]any{"before": "Prélude", "after": "Fugue"}, changes["title"])
	assert.Len(t, changes["pages"], 2)
	assert.Len(t, changes["annotations"], 3, "one went, two came")

	past := a.str("then.id")
	assert.Equal(t, "Prélude", ada.must(`query($id: ID!) { node(id: $id) { ... on Score { title } } }`, vars{"id": past}).str("node.title"))
	assert.Len(t, ada.must(`query($ids: [ID!]!) { nodes(ids: $ids) { id __typename ... on Item { score { id } owner { name } } } }`, vars{"ids": []string{id, past, snapshot, one}}).list("nodes"), 4)
	ada.do(updateScore, vars{"input": vars{"scoreId": past, "title": "x"}}).fails(invalid, "input.scoreId")

	a = ada.must(`mutation($i: ID!) { deleteItem(input: {itemId: $i}) { deletedItemId problem { __typename ... on ItemInUse { current { useCount usedBy { edges { kind node { __typename } } nodes { ... on Snapshot { name } ... on Score { title } } } } } } } }`, vars{"i": one})
	assert.Equal(t, "ItemInUse", a.str("deleteItem.problem.__typename"), "the snapshot uses it")
	assert.Equal(t, []any{map[string]any{"name": "as it was"}}, a.at("deleteItem.problem.current.usedBy.nodes"))

	a = ada.must(`mutation($s: ID!) { restoreSnapshot(input: {snapshotId: $s, expectedVersion: 2}) { score { title version pages { item { id } } } problem { __typename } } }`, vars{"s": snapshot})
	assert.Equal(t, "Prélude", a.str("restoreSnapshot.score.title"))
	assert.Equal(t, false, ada.must(`query($s: ID!) { node(id: $s) { ... on Snapshot { changes { changed } } } }`, vars{"s": snapshot}).at("node.changes.changed"))
	a = ada.must(`mutation($i: ID!) { deleteItem(input: {itemId: $i}) { deletedItemId problem { __typename } } }`, vars{"i": two})
	assert.Equal(t, two, a.str("deleteItem.deletedItemId"))

	a = ada.must(`mutation($s: ID!) { renameSnapshot(input: {snapshotId: $s, name: "before"}) { snapshot { name score { title } } } }`, vars{"s": snapshot})
	assert.Equal(t, "before", a.str("renameSnapshot.snapshot.name"))
	a = ada.must(`mutation($s: ID!) { deleteSnapshot(input: {snapshotId: $s}) { deletedSnapshotId score { snapshotCount snapshots { id } } } }`, vars{"s": snapshot})
	assert.Equal(t, 0., a.at("deleteSnapshot.score.snapshotCount"))
	a = ada.must(`mutation($s: ID!) { deleteScore(input: {scoreId: $s}) { deletedScoreId problem { __typename } } }`, vars{"s": id})
	assert.Equal(t, id, a.str("deleteScore.deletedScoreId"))
	a = ada.must(`mutation($i: ID!) { deleteItem(input: {itemId: $i}) { deletedItemId problem { __typename } } }`, vars{"i": one})
	assert.Equal(t, one, a.str("deleteItem.deletedItemId"))
	a = ada.must(`{ viewer { scoreCount scores { nodes { id } } items(all: true) { nodes { id } } itemUsage { size claimed uploadCount quota } } }`, nil)
	assert.Equal(t, 0., a.at("viewer.scoreCount"))
	assert.Equal(t, 0., a.at("viewer.itemUsage.size"), "%s", a.body)
}

func TestWhoMayReadAScore(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	id := ada.score("Secret", []string{"note"}, ada.uploads(staves(t, 3), nil))
	snapshot := ada.snapshot(id, "first")
	const read = `query($id: ID!, $at: ID!, $u: ID!) { score(id: $id) { title description pages { item { thumbnailUrl useCount } } annotations { text } snapshots { name } }
		then: score(id: $id, snapshot: $at) { title pages { item { thumbnailUrl } } } node(id: $at) { id } user(id: $u) { scores { nodes { id } edges { cursor } } } }`
	v := vars{"id": id, "at": snapshot, "u": ada.id}
	a := bob.must(read, v)
	assert.Nil(t, a.at("score"))
	assert.Nil(t, a.at("then"))
	assert.Nil(t, a.at("node"))
	for access, listed := range map[string]int{"LIMITED": 0, "PUBLIC": 1} {
		ada.must(`mutation($s: ID!, $a: ScoreAccess!) { updateScore(input: {scoreId: $s, access: $a}) { problem { __typename } } }`, vars{"s": id, "a": access})
		a := bob.must(read, v)
		assert.Equal(t, "Secret", a.str("score.title"))
		assert.Equal(t, "Secret", a.str("then.title"))
		assert.Contains(t, fmt.Sprint(a.list("score.pages")), "http")
		assert.Contains(t, fmt.Sprint(a.list("score.pages")), "useCount:<nil>")
		assert.Len(t, a.list("user.scores.nodes"), listed, access)
	}
	bob.do(updateScore, vars{"input": vars{"scoreId": id, "title": "Mine"}}).fails("FORBIDDEN", "")
	bob.do(requestUpload, vars{"input": vars{"scoreId": id, "name": "x", "type": "text/plain", "size": 1, "sha256": sha256Of(nil)}}).fails("FORBIDDEN", "")
	a = bob.do(`query($id: ID!) { score(id: $id) { items { nodes { id } } } }`, v)
	a.fails("FORBIDDEN", "")
}

// Who knows the id of a limited score may read it: a page of another score does not tell it.
func TestAPageDoesNotTellToWhichScoreItWasUploaded(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	limited := ada.score("Limited", nil)
	item := ada.uploads(staves(t, 6), vars{"scoreId": limited})
	public := ada.score("Public", nil, item)
	for score, access := range map[string]string{limited: "LIMITED", public: "PUBLIC"} {
		ada.must(`mutation($s: ID!, $a: ScoreAccess!) { updateScore(input: {scoreId: $s, access: $a}) { problem { __typename } } }`, vars{"s": score, "a": access})
	}
	const read = `query($u: ID!) { user(id: $u) { scores { nodes { title pages { item { id name url score { id } } } } } } }`
	v := vars{"u": ada.id}
	seen := bob.must(read, v)
	require.Equal(t, "Public", seen.list("user.scores.nodes")[0].(map[string]any)["title"])
	page := seen.list("user.scores.nodes")[0].(map[string]any)["pages"].([]any)[0].(map[string]any)["item"].(map[string]any)
	assert.Nil(t, page["score"])
	assert.Contains(t, page["url"], "http")
	hidden, err := gid.Parse(limited)
	require.NoError(t, err)
	shown, err := gid.Parse(page["id"].(string))
	require.NoError(t, err)
	assert.NotContains(t, shown.Key, hidden.Key[1])
	assert.NotContains(t, seen.body, hidden.Key[1])
	assert.Contains(t, fmt.Sprint(ada.must(read, v).list("user.scores.nodes")), limited, "the owner is told")
}

func TestUploadsThatAreNotWhatWasAnnounced(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	png := staves(t, 4)
	a := ada.requests(png, nil)
	i := vars{"i": a.str("requestUpload.upload.itemId")}
	assert.Equal(t, "NotUploaded", ada.must(completeUpload, i).str("completeUpload.problem.__typename"))
	tampered := bytes.Clone(png)
	tampered[len(tampered)-1] ^= 1
	assert.GreaterOrEqual(t, ada.puts(a, tampered), 400, "other bytes")
	assert.GreaterOrEqual(t, ada.puts(a, append(bytes.Clone(png), 0)), 400, "more bytes")
	assert.Equal(t, http.StatusOK, ada.puts(a, png))
	assert.Equal(t, i["i"], ada.must(completeUpload, i).str("completeUpload.item.id"))
	assert.Equal(t, i["i"], ada.must(completeUpload, i).str("completeUpload.item.id"), "again")

	lie := []byte("<svg onload='alert(1)'/>")
	a = ada.requests(lie, nil)
	require.Equal(t, http.StatusOK, ada.puts(a, lie))
	i = vars{"i": a.str("requestUpload.upload.itemId")}
	a = ada.must(completeUpload, i)
	assert.Equal(t, "UploadRefused", a.str("completeUpload.problem.__typename"))
	assert.Contains(t, a.str("completeUpload.problem.message"), "not of the type image/png")
	bar := bytes.Clone(png) // one that is 40 million pixels high: it is refused by its header
	copy(bar[16:24], []byte{0, 0, 0, 1, 0x02, 0x62, 0x5a, 0x00})
	binary.BigEndian.PutUint32(bar[29:], crc32.ChecksumIEEE(bar[12:29]))
	a = ada.requests(bar, nil)
	require.Equal(t, http.StatusOK, ada.puts(a, bar))
	a = ada.must(completeUpload, vars{"i": a.str("requestUpload.upload.itemId")})
	assert.Equal(t, "UploadRefused", a.str("completeUpload.problem.__typename"))
	assert.Contains(t, a.str("completeUpload.problem.message"), "a side has at most 65535")
	ada.do(completeUpload, i).fails("CONFLICT", "")
	assert.Equal(t, 0., ada.must(`{ viewer { itemUsage { uploadCount } } }`, nil).at("viewer.itemUsage.uploadCount"), "nothing is left")

	a = ada.requests(png, nil)
	i = vars{"i": a.str("requestUpload.upload.itemId")}
	assert.Equal(t, i["i"], ada.must(`mutation($i: ID!) { abortUpload(input: {itemId: $i}) { abortedItemId } }`, i).str("abortUpload.abortedItemId"))
	ada.do(completeUpload, i).fails("CONFLICT", "")

	a = ada.must(requestUpload, vars{"input": vars{"name": "film.mp4", "type": "video/mp4", "size": 200 << 20}})
	assert.Equal(t, 13., a.at("requestUpload.upload.partCount"))
	assert.Nil(t, a.at("requestUpload.upload.put"))
	i = vars{"i": a.str("requestUpload.upload.itemId"), "sum": sha256Of([]byte("part"))}
	a = ada.must(`mutation($i: ID!, $sum: String!) { signUploadPart(input: {itemId: $i, partNumber: 13, sha256: $sum}) { put { method url headers { name value } } } }`, i)
	assert.Equal(t, "PUT", a.str("signUploadPart.put.method"))
	assert.Empty(t, ada.must(`query($i: ID!) { uploadedParts(itemId: $i) { number size etag sha256 } }`, vars{"i": i["i"]}).list("uploadedParts"))
}

func TestQuotaOfItems(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	set := vars{"u": ada.id, "q": 1000}
	const setQuota = `mutation($u: ID!, $q: Int64!) { setItemQuota(input: {userId: $u, quota: $q}) { usage { quota } } }`
	ada.do(setQuota, set).fails("FORBIDDEN", "")
	a := s.admin("root@example.com").must(setQuota, set)
	assert.Equal(t, 1000., a.at("setItemQuota.usage.quota"))
	a = ada.requests(staves(t, 5), nil)
	assert.Equal(t, "QuotaReached", a.str("requestUpload.problem.__typename"))
}

// What was signed is refused after the upload has ended, or counts until it ends; see storetest for what happens then.
func TestWhatWasSignedCannotBeUsedForMore(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	ada := s.user("ada@example.com")
	content := []byte(strings.Repeat("music ", 1000))
	const size = 6000
	root := s.admin("root@example.com")
	quota := func(bytes int) {
		root.must(`mutation($u: ID!, $q: Int64!) { setItemQuota(input: {userId: $u, quota: $q}) { usage { quota } } }`, vars{"u": ada.id, "q": bytes})
	}
	quota(size + 100)
	claims := func(size, claimed float64) {
		t.Helper()
		assert.Equal(t, vars{"size": size, "claimed": claimed}, vars(ada.must(`{ viewer { itemUsage { size claimed } } }`, nil).at("viewer.itemUsage").(map[string]any)))
	}
	const request = `mutation($input: RequestUploadInput!) { requestUpload(input: $input) { upload { itemId
		put { method url headers { name value } } form { url fields { name value } } } problem { __typename } } }`
	input := vars{"input": vars{"name": "notes.txt", "type": "text/plain", "size": len(content), "sha256": sha256Of(content)}}
	begin := func() (put any, form any, item vars) {
		a := ada.must(request, input)
		require.Nil(t, a.at("requestUpload.problem"))
		put = a.at("requestUpload.upload.put")
		assert.Contains(t, a.str("requestUpload.upload.put.url"), "X-Amz-Expires=900")
		require.Equal(t, http.StatusOK, sends(t, put, content))
		return put, a.at("requestUpload.upload.form"), vars{"i": a.str("requestUpload.upload.itemId")}
	}
	again := func(put, form any, when string) {
		t.Helper()
		assert.Equal(t, http.StatusPreconditionFailed, sends(t, put, content), when)
		assert.Equal(t, http.StatusNoContent, posts(t, form, content), when)
		assert.Equal(t, "QuotaReached", ada.must(request, input).str("requestUpload.problem.__typename"), "one more round after it was %s", when)
	}
	put, form, item := begin()
	require.Nil(t, ada.must(completeUpload, item).at("completeUpload.problem"))
	claims(size, size)
	again(put, form, "completed")
	claims(size, size)
	ada.must(`mutation($i: ID!) { deleteItem(input: {itemId: $i}) { deletedItemId } }`, item)
	claims(0, size)
	again(put, form, "deleted")

	quota(2*size + 100)
	put, form, item = begin()
	ada.must(`mutation($i: ID!) { abortUpload(input: {itemId: $i}) { abortedItemId } }`, item)
	claims(0, 2*size)
	again(put, form, "aborted")
	claims(0, 2*size)
}

func TestDetailsOfALargeScore(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	small := []byte(strings.Repeat("music ", 10))
	items := make([]string, 250)
	for i := range items {
		items[i] = ada.uploads(small, vars{"type": "text/plain", "name": "page.txt"})
	}
	// A request may have 3 MiB, and the annotations together have 10 MB.
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = fmt.Sprintf("%04d %s", i, strings.Repeat("a", 9995))
	}
	id := ada.score("Large", texts[:250], items...)
	update := func(annotations ...vars) {
		t.Helper()
		a := ada.must(updateScore, vars{"input": vars{"scoreId": id, "annotations": annotations}})
		require.Nil(t, a.at("updateScore.problem"))
	}
	for at := 250; at < len(texts); at += 250 {
		update(vars{"insert": vars{"at": at, "texts": texts[at : at+250]}})
	}
	snapshot := ada.snapshot(id, "first")
	shown := func(at any) cost {
		t.Helper()
		c := ada.measure(`query($id: ID!, $at: ID) { score(id: $id, snapshot: $at) { title description pages { name item { name url thumbnailUrl } } annotations { text } snapshots { name } } }`, vars{"id": id, "at": at})
		assert.Len(t, c.list("score.pages"), 250)
		assert.Equal(t, map[string]any{"text": texts[999]}, c.list("score.annotations")[999])
		return c
	}
	c := shown(nil)
	assert.LessOrEqual(t, c.Count(), 16, "%v", c.Operations())
	t.Logf("%v", c.Operations())

	update(vars{"edit": vars{"at": 0, "text": "new"}}, vars{"move": vars{"from": 999, "to": 1}})
	a := ada.must(`query($s: ID!) { node(id: $s) { ... on Snapshot { changes { pages { before } annotations { before after text } } } } }`, vars{"s": snapshot})
	assert.Empty(t, a.list("node.changes.pages"))
	require.Len(t, a.list("node.changes.annotations"), 3, "one moved, one went, one came")
	c = shown(snapshot)
	assert.Less(t, c.Count(), 16, "%v", c.Operations())
	t.Logf("%v", c.Operations())
	a = ada.must(`mutation($s: ID!) { restoreSnapshot(input: {snapshotId: $s}) { score { annotationCount } problem { __typename } } }`, vars{"s": snapshot})
	assert.Equal(t, 1000., a.at("restoreSnapshot.score.annotationCount"))
	shown(nil)
}

// A file of more than 100 MiB comes in parts, as clients such as Uppy send them: some, then an interruption, then what is missing.
func TestAFileInParts(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	film := make([]byte, 100<<20+1)
	for i := range film {
		film[i] = byte(i >> 16)
	}
	a := ada.must(`mutation($input: RequestUploadInput!) { requestUpload(input: $input) { upload { itemId partSize partCount put { url } form { url } } } }`,
		vars{"input": vars{"name": "film.bin", "type": "application/x-film", "size": len(film)}})
	item, size, count := a.str("requestUpload.upload.itemId"), int(a.at("requestUpload.upload.partSize").(float64)), int(a.at("requestUpload.upload.partCount").(float64))
	require.Greater(t, count, 2)
	assert.Nil(t, a.at("requestUpload.upload.put"))
	assert.Nil(t, a.at("requestUpload.upload.form"))
	part := func(n int) []byte { return film[(n-1)*size : min(n*size, len(film))] }
	put := func(n int, bytes []byte) int {
		t.Helper()
		a := ada.must(`mutation($i: ID!, $n: Int!, $sum: String!) { signUploadPart(input: {itemId: $i, partNumber: $n, sha256: $sum}) { put { method url headers { name value } } } }`,
			vars{"i": item, "n": n, "sum": sha256Of(part(n))})
		return sends(t, a.at("signUploadPart.put"), bytes)
	}
	for n := 1; n < count; n++ {
		require.Equal(t, http.StatusOK, put(n, part(n)))
	}
	assert.Equal(t, "NotUploaded", ada.must(completeUpload, vars{"i": item}).str("completeUpload.problem.__typename"), "one is missing")
	assert.GreaterOrEqual(t, put(count, []byte("x")), 400, "other bytes than those that were signed")
	there := ada.must(`query($i: ID!) { uploadedParts(itemId: $i) { number size etag } }`, vars{"i": item}).list("uploadedParts")
	require.Len(t, there, count-1)
	assert.Equal(t, float64(size), there[0].(map[string]any)["size"])
	require.Equal(t, http.StatusOK, put(count, part(count)))
	require.Equal(t, item, ada.must(completeUpload, vars{"i": item}).str("completeUpload.item.id"))
	a = ada.must(`query($i: ID!) { node(id: $i) { ... on Item { type size sha256 url thumbnailUrl } } viewer { itemUsage { size claimed uploadCount } } }`, vars{"i": item})
	assert.Equal(t, "application/x-film", a.str("node.type"))
	assert.Regexp(t, fmt.Sprintf(`^.{44}-%d$`, count), a.str("node.sha256"))
	assert.Nil(t, a.at("node.thumbnailUrl"))
	assert.Equal(t, map[string]any{"size": float64(len(film)), "claimed": float64(len(film)), "uploadCount": 0.}, a.at("viewer.itemUsage"))
	resp, file := fetch(t, a.str("node.url"))
	assert.Contains(t, resp.Header.Get("Content-Disposition"), "attachment")
	assert.True(t, bytes.Equal(film, file), "%d bytes", len(file))
}
