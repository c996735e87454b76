package dynamo_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/entitytest"
	"github.com/taggie/taggie/internal/tag"
)

// countAll has servers count what they created.
func countAll(t *testing.T, servers ...*dynamo.DB) {
	t.Helper()
	for _, db := range servers {
		require.NoError(t, db.CountAllowances(t.Context()))
	}
}

// boundAboutAtOnce checks that of those who come at the same moment, at two servers, so many get what they want, and at most a tenth of
// all that is allowed more. All others are told that there is no more.
func boundAboutAtOnce(t *testing.T, room, most int, servers []*dynamo.DB, one func(db *dynamo.DB, n int) error) {
	t.Helper()
	errs := make([]error, dynamotest.AtOnce)
	var all sync.WaitGroup
	for n := range errs {
		all.Go(func() { errs[n] = one(servers[n%len(servers)], n) })
	}
	all.Wait()
	created := 0
	for _, err := range errs {
		if err == nil {
			created++
			continue
		}
		assert.True(t, fault.Is(err, fault.Exhausted), "got %v", err)
	}
	assert.GreaterOrEqual(t, created, room)
	assert.LessOrEqual(t, created, room+most/10)
}

// TestAllowancesHoldAtOnce fills an allowance but for some, then has many come at the same moment, at one server and at two.
func TestAllowancesHoldAtOnce(t *testing.T) {
	t.Parallel()
	const most, room = 100, 10
	newNote := func(owner note.UserID, w *storetest.Clock) note.Note {
		return note.Note{ID: note.ID(uuid.NewString()), Owner: owner, Title: "t", Version: 1, CreatedAt: w.Now(), UpdatedAt: w.Now(), Tags: []tag.Tag{}}
	}
	for name, prepare := range map[string]func(t *testing.T, db *dynamo.DB, clock *storetest.Clock) func(db *dynamo.DB, n int) error{
		"notes": func(t *testing.T, db *dynamo.DB, clock *storetest.Clock) func(db *dynamo.DB, n int) error {
			owner := note.UserID(uuid.NewString())
			return func(db *dynamo.DB, _ int) error {
				return notes.Store{DB: db}.CreateNote(dynamotest.Patient(t), newNote(owner, clock), idempotency.Key{})
			}
		},
		"keys": func(t *testing.T, db *dynamo.DB, clock *storetest.Clock) func(db *dynamo.DB, n int) error {
			viewer := uuid.NewString()
			return func(db *dynamo.DB, _ int) error {
				owner := note.UserID(uuid.NewString())
				return notes.Store{DB: db}.CreateNote(dynamotest.Patient(t), newNote(owner, clock), idempotency.Key{Viewer: viewer, Key: uuid.NewString(), Hash: []byte("h"), ExpiresAt: clock.Now().Add(idempotency.TTL)})
			}
		},
		"shares": func(t *testing.T, db *dynamo.DB, clock *storetest.Clock) func(db *dynamo.DB, n int) error {
			n := newNote(note.UserID(uuid.NewString()), clock)
			require.NoError(t, notes.Store{DB: db}.CreateNote(dynamotest.Patient(t), n, idempotency.Key{}))
			return func(db *dynamo.DB, i int) error {
				with := note.UserID(uuid.NewString())
				row := dynamo.NotesTable.Key(users.ProfileKey(with))
				if err := db.Transact(dynamotest.Patient(t), []dynamo.Action{{Table: dynamo.NotesTable, Item: row}}, idempotency.Key{}); err != nil {
					return err
				}
				_, err := notes.Store{DB: db}.PutShare(dynamotest.Patient(t), n, note.Share{Note: n.ID, Owner: n.Owner, User: with, Permission: note.View, SharedAt: clock.Now()}, idempotency.Key{})
				return err
			}
		},
		"entities": func(t *testing.T, db *dynamo.DB, clock *storetest.Clock) func(db *dynamo.DB, n int) error {
			return func(db *dynamo.DB, _ int) error {
				e := entity.Entity{ID: entity.ID{Scope: "scope", Type: "thing", ID: uuid.NewString()}, Version: 1, CreatedAt: clock.Now(), UpdatedAt: clock.Now()}
				return entities.Store{DB: db}.PutEntity(dynamotest.Patient(t), nil, e, nil, idempotency.Key{})
			}
		},
	} {
		for _, servers := range []int{1, 2} {
			t.Run(fmt.Sprint(name, " at ", servers), func(t *testing.T) {
				t.Parallel()
				clock := storetest.NewClock()
				db, _ := dynamotest.OpenDB(t, clock.Now)
				db.SetAllowances(map[string]int{name: most})
				one := prepare(t, db, clock)
				all := []*dynamo.DB{db, db.AnotherServer()}[:servers]
				for n := range most - room {
					require.NoError(t, one(all[n%servers], n))
				}
				for range 2 { // the first one learns of the last
					clock.Advance(dynamo.CountedElsewhere)
					countAll(t, all...)
				}
				boundAboutAtOnce(t, room, most, all, one)
				if servers == 1 {
					require.True(t, fault.Is(one(db, 0), fault.Exhausted), "and from then on")
				}
				clock.Advance(dynamo.CountedAgain)
				countAll(t, all...)
				again := db.AnotherServer()
				_ = one(again, 0) // nobody here knows yet
				countAll(t, again)
				require.True(t, fault.Is(one(again, 1), fault.Exhausted), "a new server learns of it")
			})
		}
	}
}

// What goes makes room.
func TestAllowancesComeBack(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenRelationWorld(t)
	db.SetAllowances(map[string]int{"entities": 4, "relations": 3})
	things := w.Things("t", 4)
	full := w.PutEntity(dynamotest.Patient(t), nil, entity.Entity{ID: w.Thing("more"), Version: 1, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now()}, nil, idempotency.Key{})
	require.True(t, fault.Is(full, fault.Exhausted), "got %v", full)
	w.Add(things[0], "p", things[1], things[2], things[3])
	_, full = w.AddRelations(t.Context(), things[1], "p", entitytest.Objects(things[2]), idempotency.Key{})
	require.True(t, fault.Is(full, fault.Exhausted), "got %v", full)
	w.Add(things[0], "p", things[1]) // it is there already
	w.Replace(things[0], "p", things[2])
	w.Add(things[1], "p", things[2], things[3])
	countAll(t, db)
	_, full = w.AddRelations(t.Context(), things[2], "q", entitytest.Objects(things[3]), idempotency.Key{})
	require.True(t, fault.Is(full, fault.Exhausted), "got %v", full)
	w.Delete(things[1]) // and with it two relations
	w.Make(w.Thing("more"))
	w.Add(things[2], "q", things[3], things[0])
	countAll(t, db)
	for kind, want := range map[string]int{"entities": 4, "relations": 3} {
		n, err := db.ReadTally(t.Context(), dynamo.Allowed{Kind: kind, Of: "scope"})
		require.NoError(t, err)
		assert.Equal(t, want, n, kind)
	}
}

// A share that is there already can be changed by whoever has most of them.
func TestAllowancesLetSharesChange(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorld(t)
	db.SetAllowances(map[string]int{"shares": 1})
	_, asAda := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	bob, _ := w.SignUp("bob")
	n := w.Create(asAda, note.Create{Title: "n"})
	w.Share(asAda, n.ID, grace, note.View)
	w.Share(asAda, n.ID, grace, note.Edit)
	_, err := w.Rules.Share(asAda, note.PutShare{Note: n.ID, User: bob, Permission: note.View})
	require.True(t, fault.Is(err, fault.Exhausted), "got %v", err)
	require.NoError(t, w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}))
	w.Clock.Advance(dynamo.CountedFull)
	countAll(t, db)
	w.Share(asAda, n.ID, bob, note.View)
}

// Items that are in the project already are told as such, also when there is no room for others.
func TestAllowancesOfItems(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorldOfProjects(t)
	db.SetAllowances(map[string]int{"items": 5})
	items := w.Fill(5)
	other := w.Import()
	created, there, err := db.ImportItems(t.Context(), append(again(items, other), w.Draw(other, 10, 2)...))
	require.True(t, fault.Is(err, fault.Exhausted), "got %v", err)
	assert.Zero(t, created)
	assert.Len(t, there, 5)
	countAll(t, db.DB)
	counted, err := labelling.Store{Store: db}.CountItems(t.Context(), w.Project.ID)
	require.NoError(t, err)
	assert.Equal(t, 5, counted)
}

// again is the same items, as another import brings them.
func again(items []project.Item, by project.Import) []project.Item {
	same := make([]project.Item, len(items))
	for n, i := range items {
		i.Import, i.Line = by.ID, n+1
		same[n] = i
	}
	return same
}

func TestAllowancesAreCountedRarely(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	db.SetAllowances(map[string]int{"notes": 1000})
	owner := note.UserID(uuid.NewString())
	create := func(n int) {
		for range n {
			require.NoError(t, notes.Store{DB: db}.CreateNote(dynamotest.Patient(t), note.Note{ID: note.ID(uuid.NewString()), Owner: owner, Title: "t", Version: 1, CreatedAt: clock.Now(), UpdatedAt: clock.Now()}, idempotency.Key{}))
		}
	}
	counted := func() int { return dynamotest.Calls(inj, func() { countAll(t, db) })["Query"] }
	assert.Zero(t, counted(), "nobody creates anything")
	create(1)
	assert.Equal(t, 1, counted())
	create(10)
	assert.Zero(t, counted())
	create(1)
	assert.Equal(t, 1, counted(), "more than a hundredth")
	create(1)
	clock.Advance(dynamo.CountedAgain)
	assert.Equal(t, 1, counted())
	clock.Advance(dynamo.AllowancesIdle + 1)
	assert.Zero(t, counted())
	assert.Zero(t, db.Known(), "forgotten")
}

func TestChangesOfANoteEnd(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	n := note.Note{ID: note.ID(uuid.NewString()), Owner: "ada", Title: "t", Version: note.MaxVersion - 1, CreatedAt: clock.Now(), UpdatedAt: clock.Now()}
	require.NoError(t, notes.Store{DB: db}.CreateNote(dynamotest.Patient(t), n, idempotency.Key{}))
	change := func(before note.Note, keep bool) (note.Note, error) {
		after := before
		after.Version, after.Title = before.Version+1, before.Title+"!"
		var version *note.Version
		if keep {
			version = &note.Version{VersionID: note.VersionID{Note: n.ID, Number: before.Version}, Title: before.Title, UpdatedAt: before.UpdatedAt}
		}
		return after, notes.Store{DB: db}.UpdateNote(t.Context(), "ada", before, after, version, idempotency.Key{})
	}
	last, err := change(n, true)
	require.NoError(t, err)
	_, err = change(last, true)
	require.True(t, fault.Is(err, fault.Exhausted), "got %v", err)
	_, err = change(last, false)
	require.NoError(t, err, "tags and deadlines make no version")
}

func TestCheckAllowances(t *testing.T) {
	t.Parallel()
	require.NoError(t, dynamo.CheckAllowances(dynamotest.AllAllowances, nil))
	require.NoError(t, dynamo.CheckAllowances(dynamotest.AllAllowances, map[string]int{"notes": 1, "relations": 5}))
	for _, wrong := range []map[string]int{{"note": 1}, {"notes": 0}} {
		err := dynamo.CheckAllowances(dynamotest.AllAllowances, wrong)
		require.Error(t, err)
		assert.True(t, strings.HasPrefix(err.Error(), "expected"), "%v", err)
	}
	assert.NotEqual(t, keys.CountPK("notes", "a#b"), keys.CountPK("notes#a", "b"))
}

// What was added to a row that counts is added once, also when nobody could tell whether it was, or what the row has now.
func TestWhatIsCountedIsCountedOnce(t *testing.T) {
	for what, fails := range map[string]func(*faultinject.Injector){
		"it is not read back": func(inj *faultinject.Injector) {
			inj.Fail(http.StatusInternalServerError, "InternalServerError", faultinject.Always, faultinject.Operation("GetItem"))
		},
		"the answer is lost": func(inj *faultinject.Injector) {
			inj.ResetAfter(faultinject.Always, faultinject.Operation("TransactWriteItems"))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			db, inj := dynamotest.OpenDB(t, clock.Now)
			for range 10 {
				e := entity.Entity{ID: entity.ID{Scope: "scope", Type: "thing", ID: uuid.NewString()}, Version: 1, CreatedAt: clock.Now(), UpdatedAt: clock.Now()}
				require.NoError(t, entities.Store{DB: db}.PutEntity(dynamotest.Patient(t), nil, e, nil, idempotency.Key{}))
			}
			fails(inj)
			soon, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			require.Error(t, db.CountAllowances(soon))
			inj.Clear()
			countAll(t, db, db)
			n, err := db.ReadTally(t.Context(), dynamo.Allowed{Kind: "entities", Of: "scope"})
			require.NoError(t, err)
			assert.Equal(t, 10, n)
		})
	}
}
