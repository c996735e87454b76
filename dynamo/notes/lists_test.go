package notes_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
)

var queries = faultinject.Operation("Query")

// put writes rows as they are, 25 at a time.
func put(t *testing.T, db *dynamo.DB, rows []dynamo.Attrs) {
	t.Helper()
	for len(rows) > 0 {
		n := min(dynamo.MaxBatchWrite, len(rows))
		puts := make([]types.WriteRequest, n)
		for i, row := range rows[:n] {
			puts[i] = types.WriteRequest{PutRequest: &types.PutRequest{Item: row}}
		}
		rows = rows[n:]
		_, err := db.Client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*db.Table(dynamo.NotesTable): puts}})
		require.NoError(t, err)
	}
}

// shared puts shares of the notes of one owner, the given number for each note.
func shared(t *testing.T, db *dynamo.DB, owner note.UserID, perNote ...int) []note.AccessRequest {
	t.Helper()
	var rows []dynamo.Attrs
	var requests []note.AccessRequest
	for n, many := range perNote {
		id := note.ID(fmt.Sprintf("note-%04d", n))
		requests = append(requests, note.AccessRequest{Note: id, Owner: owner, Window: page.Window{Limit: page.Max}})
		for u := range many {
			rows = append(rows, notes.ShareRow(note.Share{Note: id, Owner: owner, User: note.UserID(fmt.Sprintf("user-%04d", u)), Permission: note.View, SharedAt: time.Now()}))
		}
	}
	put(t, db, rows)
	return requests
}

func checkAccess(t *testing.T, lists []page.Slice[note.Share], errs []error, perNote ...int) {
	t.Helper()
	require.Nil(t, errs)
	for i, many := range perNote {
		require.Len(t, lists[i].Items, many, "note %d", i)
		for u, s := range lists[i].Items {
			require.Equal(t, note.ID(fmt.Sprintf("note-%04d", i)), s.Note)
			require.Equal(t, note.UserID(fmt.Sprintf("user-%04d", u)), s.User)
		}
	}
}

func TestAccessListsOfAnOwnerAreOneQuery(t *testing.T) {
	t.Parallel()
	_, db, inj := dynamotest.OpenWorld(t)
	perNote := make([]int, 100)
	for i := range perNote {
		perNote[i] = i % 6
	}
	requests := shared(t, db, "ada", perNote...)
	inj.Recorder().Reset()
	lists, errs := notes.Store{DB: db}.AccessLists(t.Context(), requests)
	checkAccess(t, lists, errs, perNote...)
	require.Equal(t, 1, inj.Recorder().Count())
	assert.Equal(t, "GSI1", inj.Recorder().Calls()[0].Index)

	inj.Recorder().Reset()
	lists, errs = notes.Store{DB: db}.AccessLists(t.Context(), requests[5:6])
	checkAccess(t, append(make([]page.Slice[note.Share], 5), lists...), errs, 0, 0, 0, 0, 0, 5)
	assert.Equal(t, "GSI2", inj.Recorder().Calls()[0].Index, "a single note has an index of its own")
}

func TestAccessListsOfManyOwnersAreOneQueryEach(t *testing.T) {
	t.Parallel()
	_, db, inj := dynamotest.OpenWorld(t)
	db.Concurrency = 4
	var requests []note.AccessRequest
	for i := range 12 {
		requests = append(requests, shared(t, db, note.UserID(fmt.Sprint("owner ", i)), 2, 2)...)
	}
	// The owners' notes have equal ids here; the rows of the last one win, and each sees its own only.
	inj.Recorder().Reset()
	_, errs := notes.Store{DB: db}.AccessLists(t.Context(), requests)
	require.Nil(t, errs)
	assert.Equal(t, 12, inj.Recorder().Count(queries))
	assert.LessOrEqual(t, inj.Recorder().MaxConcurrent(queries), 4)
}

// Above 2,000 shares what was not covered is read note by note, also the note that the limit cut in two.
func TestAccessListsAbove2000Shares(t *testing.T) {
	t.Parallel()
	_, db, inj := dynamotest.OpenWorld(t)
	perNote := []int{450, 450, 450, 450, 450, 3, 0, 450} // the limit falls into the fifth
	requests := shared(t, db, "ada", perNote...)
	inj.Recorder().Reset()
	lists, errs := notes.Store{DB: db}.AccessLists(t.Context(), requests)
	checkAccess(t, lists, errs, perNote...)
	assert.Equal(t, 1, inj.Recorder().Count(faultinject.Index("GSI1")))
	assert.Equal(t, 4, inj.Recorder().Count(faultinject.Index("GSI2")))
}

// The limit falls exactly between two notes: the last one read is not known to be whole.
func TestAccessListsOfExactly2000Shares(t *testing.T) {
	t.Parallel()
	_, db, inj := dynamotest.OpenWorld(t)
	perNote := []int{500, 500, 500, 500, 1}
	requests := shared(t, db, "ada", perNote...)
	inj.Recorder().Reset()
	lists, errs := notes.Store{DB: db}.AccessLists(t.Context(), requests)
	checkAccess(t, lists, errs, perNote...)
	assert.Equal(t, 2, inj.Recorder().Count(faultinject.Index("GSI2")))
}

func TestAccessListsFailPerNote(t *testing.T) {
	t.Parallel()
	_, db, inj := dynamotest.OpenWorld(t)
	requests := shared(t, db, "ada", 1, 1, 1)
	inj.Fail(400, "ValidationException", faultinject.Always, faultinject.Index("GSI1"))
	inj.Fail(400, "ValidationException", faultinject.Always, faultinject.Index("GSI2"), func(c *faultinject.Call) bool {
		return bytes.Contains(c.Body, []byte(requests[1].Note))
	})
	lists, errs := notes.Store{DB: db}.AccessLists(t.Context(), requests)
	require.Len(t, errs, 3)
	failed := 0
	for i, err := range errs {
		if err != nil {
			assert.True(t, fault.Is(err, fault.Internal))
			failed++
			continue
		}
		assert.Len(t, lists[i].Items, 1)
	}
	assert.Equal(t, 1, failed)
}

// A tag that is on many notes costs no more than one that is on a few, and is spelled the same from both ends.
func TestTagsSkipScanCost(t *testing.T) {
	t.Parallel()
	_, db, inj := dynamotest.OpenWorld(t)
	var rows []dynamo.Attrs
	want := []string{"a", "b!", "b", "c#", "d"} // as the rows sort: "!" before "#"
	for _, key := range want {
		for n := range 3 * notes.TagRows {
			value := strings.ToUpper(key)
			if n == 0 {
				value = "first " + key
			}
			rows = append(rows, notes.TagRow("ada", note.ID(fmt.Sprintf("%04d", n)), tag.Tag{Word: tag.Word{Value: value, Key: key}}))
		}
	}
	put(t, db, rows)
	for _, backward := range []bool{false, true} {
		inj.Recorder().Reset()
		s, err := notes.Store{DB: db}.ListTags(t.Context(), "ada", "", page.Window{Limit: 10, Backward: backward})
		require.NoError(t, err)
		assert.Equal(t, want, s.Positions)
		for i, found := range s.Items {
			assert.Equal(t, "first "+want[i], found.Value, "backward %t", backward)
		}
		scans, spellings := 0, 0
		for _, c := range inj.Recorder().Calls(queries) {
			assert.True(t, c.Consistent)
			if c.Limit == 1 {
				spellings++
				continue
			}
			assert.Equal(t, notes.TagRows, c.Limit)
			scans++
		}
		assert.LessOrEqual(t, scans, len(want)+1, "one Query per tag and one more, not one per 200 rows")
		if !backward {
			assert.Zero(t, spellings)
		}
		assert.LessOrEqual(t, spellings, len(want), "one row of each tag that was jumped over")
	}
}

// dangling puts shares of notes that were deleted, with ids from first on.
func dangling(t *testing.T, db *dynamo.DB, with note.UserID, first, n int) {
	t.Helper()
	var rows []dynamo.Attrs
	for i := range n {
		rows = append(rows, notes.ShareRow(note.Share{Note: note.ID(fmt.Sprintf("%04d", first+i)), Owner: "gone", User: with, Permission: note.View, SharedAt: time.Now()}))
	}
	put(t, db, rows)
}

// Every row that counts is found although hundreds before it do not: 600 shares of deleted notes cost four Queries, of 2,
// 100, 200 and 400 rows, each with one round of batches for the locators and the last with one for the note that is there.
func TestDeletedNotesDoNotCostACallEach(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	_, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n"})
	dangling(t, db, grace, 0, 600)
	put(t, db, []dynamo.Attrs{notes.ShareRow(note.Share{Note: "~", Owner: n.Owner, User: grace, Permission: note.View, SharedAt: time.Now()})})
	last := n
	last.ID = "~" // behind all others
	put(t, db, []dynamo.Attrs{notes.NoteRow(last), notes.LocatorRow(last)})
	inj.Recorder().Reset()
	s, err := w.Rules.ListShared(asGrace, grace, page.Window{Limit: 1})
	require.NoError(t, err)
	require.Len(t, s.Items, 1)
	assert.Equal(t, last.ID, s.Items[0].ID)
	assert.False(t, s.More)
	assert.Equal(t, map[string]int{"Query": 4, "BatchGetItem": 1 + 1 + 2 + 3 + 1}, inj.Recorder().Operations())
	limits := []int{}
	for _, c := range inj.Recorder().Calls(queries) {
		limits = append(limits, c.Limit)
	}
	assert.Equal(t, []int{2, 100, 200, 400}, limits)
}

// What lies on the other side of a page is what the list would show there, and that is asked for only when somebody wants
// to know.
func TestTheOtherSideOfAPageCountsWhatTheListShows(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	var ids []note.ID
	for range 2 {
		n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"work"}})
		w.Share(asAda, n.ID, grace, note.View)
		ids = append(ids, n.ID)
	}
	slices.Sort(ids)
	var rows []dynamo.Attrs
	work := tag.Tag{Word: tag.Word{Value: "work", Key: "work"}}
	for _, side := range []string{"!", "~"} { // before and behind all ids
		for i := range 150 {
			id := note.ID(fmt.Sprintf("%s%03d", side, i))
			rows = append(rows, notes.ShareRow(note.Share{Note: id, Owner: ada, User: grace, Permission: note.View, SharedAt: time.Now()}), notes.TagRow(ada, id, work))
		}
	}
	put(t, db, rows)
	for name, list := range map[string]func(page.Window) ([]string, bool){
		"shared": func(win page.Window) ([]string, bool) {
			s, err := w.Rules.ListShared(asGrace, grace, win)
			require.NoError(t, err)
			return s.Positions, s.Other
		},
		"by tag": func(win page.Window) ([]string, bool) {
			s, err := w.ListByTag(asAda, tag.ID{Author: ada, Key: "work"}, win)
			require.NoError(t, err)
			return s.Positions, s.Other
		},
	} {
		both := []string{string(ids[0]), string(ids[1])}
		for from, backward := range map[string]bool{"~000": true, "!149": false} {
			positions, other := list(page.Window{Limit: 2, From: from, Backward: backward, Probe: true})
			assert.Equal(t, both, positions, name)
			assert.False(t, other, "%s: behind %s is nothing that is shown", name, from)
		}
		positions, other := list(page.Window{Limit: 2, From: "~100", Backward: true, Probe: true})
		assert.Equal(t, both, positions)
		assert.False(t, other, name)
		_, other = list(page.Window{Limit: 2, From: both[1], Backward: true, Probe: true})
		assert.True(t, other, "%s: the note itself", name)
		_, other = list(page.Window{Limit: 2, From: "!100", Backward: true, Probe: true})
		assert.True(t, other, "%s: notes behind fifty rows that do not count", name)
		inj.Recorder().Reset()
		_, _ = list(page.Window{Limit: 2, From: both[1], Backward: false})
		probed := 0
		for _, c := range inj.Recorder().Calls(queries) {
			if c.Limit == 1 {
				probed++
			}
		}
		assert.Zero(t, probed, "%s: nobody asked", name)
	}
}

// 300 shared notes with everything one asks for with them: the lower bound, and no key twice.
func TestSharedNotesCostTheLowerBound(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	ada, _ := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	var rows []dynamo.Attrs
	for i := range 300 {
		n := note.Note{ID: note.ID(fmt.Sprintf("%04d", i)), Owner: ada, Title: "n", Content: "c", Version: 1, CreatedAt: time.Now(), UpdatedAt: time.Now()}
		rows = append(rows, notes.NoteRow(n), notes.LocatorRow(n), notes.ShareRow(note.Share{Note: n.ID, Owner: ada, User: grace, Permission: note.Edit, SharedAt: time.Now()}))
	}
	put(t, db, rows)
	inj.Recorder().Reset()
	s, err := w.Notes.ListSharedNotes(t.Context(), grace, page.Window{Limit: 300})
	require.NoError(t, err)
	require.Len(t, s.Items, 300)
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 6}, inj.Recorder().Operations(), "three for the locators, three for the notes")
	assert.Empty(t, inj.Recorder().ReadTwice())
	assert.Empty(t, inj.Recorder().Violations())
}
