package labelling_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/labellingtest"
	"github.com/taggie/taggie/internal/user"
)

// traced is a project in which two users did everything that names them.
type traced struct {
	*labellingtest.World
	db         *dynamo.DB
	gone, also project.UserID
	efforts    []project.Effort // of the first, and at last one of the second
	items      []project.Item   // finished; finished and reviewed by the second; returned to the first; held by the first; finished by the second
}

func newTraced(t *testing.T, db *dynamo.DB, clock *storetest.Clock) *traced {
	w := labellingtest.NewWorld(t, labellingStores(db), clock)
	d := &traced{World: w, db: db, gone: w.SignUp("gone"), also: w.SignUp("also")}
	owl := w.Label("owl").ID
	for n, item := range w.Fill(5) {
		by := d.gone
		if n == 4 {
			by = d.also
		}
		if n == 3 {
			d.items = append(d.items, w.Do(w.Claiming(item, by)))
			continue
		}
		m := w.Finishing(item, by, owl, "")
		item = w.Do(m)
		e := *m.Effort
		if n == 1 || n == 2 {
			clock.Advance(time.Second)
			review := w.Reviewing(item, e, d.also)
			if n == 1 {
				review.After, review.Transition = item, nil
				review.After.Version++
				review.Effort.Review.Verdict = project.Correct
			}
			item = w.Do(review)
			e = *review.Effort
		}
		d.items, d.efforts = append(d.items, item), append(d.efforts, e)
	}
	d.erasing(d.gone)
	d.erasing(d.also)
	return d
}

// erasing has a user be erased from now on.
func (d *traced) erasing(u project.UserID) {
	d.T.Helper()
	db := users.Store{DB: d.db}
	found, errs := db.UsersByID(d.T.Context(), []user.ID{u})
	require.NoError(d.T, errors.Join(errs...))
	before, after := found[0], found[0]
	after.Version, after.Deletion = before.Version+1, domain.Deletion{State: domain.Erasing, By: u, At: d.Clock.Now(), UndoUntil: d.Clock.Now()}
	require.NoError(d.T, db.PutDeletion(d.T.Context(), before, after, nil, idempotency.Key{}))
}

// as returns the pseudonym of a user.
func (d *traced) as(u project.UserID) project.UserID {
	d.T.Helper()
	as, err := users.Store{DB: d.db}.PseudonymOf(d.T.Context(), u, string(d.Project.ID))
	require.NoError(d.T, err)
	return as
}

// erase erases the traces of a user from a position on, and returns the last position that was reached.
func (d *traced) erase(u project.UserID, position string) (string, error) {
	as := users.Store{DB: d.db}.PseudonymOf
	moves := truth.Store{Store: projects.Store{DB: d.db}}
	e := user.TraceEraser{
		Sweeps: []user.Sweep{func(ctx context.Context, id user.ID, position string) (int, string, error) {
			return moves.EraseTraces(ctx, id, position, as)
		}, func(ctx context.Context, id user.ID, position string) (int, string, error) {
			return moves.EraseFromOutbox(ctx, id, position, as)
		}},
		Now: time.Now,
	}
	for calls := 0; ; calls++ {
		require.Less(d.T, calls, 100)
		next, err := e.EraseTraces(d.T.Context(), u, position)
		if _, later := errors.AsType[*user.Later](err); err != nil && !later || next == "" {
			return position, err
		}
		position = next
	}
}

// traces returns the rows that name a user, but for the user's own.
func (d *traced) traces(u project.UserID) (found []string) {
	d.T.Helper()
	for _, table := range []dynamo.Table{dynamo.EntitiesMaster, dynamo.RelationshipEntries, dynamo.IndexEntries} {
		for _, row := range dynamotest.RowsOf(d.T, d.db, table) {
			if raw := dynamo.RowJSON(row); bytes.Contains(raw, []byte(u)) {
				found = append(found, string(raw))
			}
		}
	}
	return found
}

// erased asserts that both users are erased, and what they did is under two pseudonyms.
func (d *traced) erased() {
	t := d.T
	t.Helper()
	gone, also := d.as(d.gone), d.as(d.also)
	assert.NotEqual(t, gone, also)
	assert.Empty(t, d.traces(d.gone))
	assert.Empty(t, d.traces(d.also))
	want := slices.Clone(d.efforts)
	for i := range want {
		for from, to := range map[project.UserID]project.UserID{d.gone: gone, d.also: also} {
			if want[i].User == from {
				want[i].User = to
			}
			if want[i].Review.By == from {
				want[i].Review.By = to
			}
		}
	}
	of := func(u project.UserID) []project.Effort {
		lists, errs := d.Projects.ListEffortsOfMembers(t.Context(), []project.MemberEffortsRequest{(project.Member{Project: d.Project.ID, User: u}).Efforts(page.Window{Limit: 20})})
		require.NoError(t, errsOf(errs))
		return lists[0].Items
	}
	assert.ElementsMatch(t, want[:3], of(gone))
	assert.ElementsMatch(t, want[3:], of(also))
	assert.Empty(t, of(d.gone))
	review, err := d.Projects.ListToReview(t.Context(), project.ReviewsRequest{Project: d.Project.ID, Author: gone, Window: page.Window{Limit: 20}})
	require.NoError(t, err)
	assert.Equal(t, want[:1], review.Items)
	all, err := d.Projects.ListToReview(t.Context(), project.ReviewsRequest{Project: d.Project.ID, Window: page.Window{Limit: 20}})
	require.NoError(t, err)
	assert.ElementsMatch(t, []project.Effort{want[0], want[3]}, all.Items)
	assert.Equal(t, gone, d.Get(d.items[2].ItemID).ReturnedTo)
	assert.Equal(t, gone, d.Get(d.items[3].ItemID).Claim.User)
	for n, i := range d.items {
		item, efforts, err := d.Truth.ItemWithEfforts(t.Context(), i.ItemID)
		require.NoError(t, err)
		assert.Greater(t, item.Version, i.Version, n)
		assert.Equal(t, i.Status, item.Status)
		for _, e := range efforts {
			assert.Contains(t, want, e)
		}
	}
	for _, tr := range d.Outbox() {
		assert.False(t, tr.Names(d.gone) || tr.Names(d.also))
	}
}

func errsOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *traced) eraseBoth() {
	d.T.Helper()
	for _, u := range []project.UserID{d.gone, d.also} {
		_, err := d.erase(u, "")
		require.NoError(d.T, err)
	}
}

func TestTracesOfTwoUsersGetTwoPseudonyms(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	d := newTraced(t, db, clock)
	require.NotEmpty(t, d.traces(d.gone))
	d.eraseBoth()
	d.erased()
	before := dynamotest.RowsOf(t, db, dynamo.EntitiesMaster)
	d.eraseBoth()
	assert.Equal(t, before, dynamotest.RowsOf(t, db, dynamo.EntitiesMaster), "again changes nothing")
	assert.Empty(t, inj.Recorder().Violations())
}

func TestTracesAreErasedWithFaults(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	d := newTraced(t, dynamotest.OpenFaultyDB(t, clock.Now), clock)
	d.eraseBoth()
	d.erased()
}

// A server that erases traces is killed after each of its calls, and another one goes on from the last position that was written down, or from the beginning.
func TestErasuresOfTracesAreKilled(t *testing.T) {
	t.Parallel()
	for n, killed := 0, true; killed; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			clock := storetest.NewClock()
			db, inj := dynamotest.OpenDB(t, clock.Now)
			d := newTraced(t, db, clock)
			rule := inj.KillAfter(n, func(*faultinject.Call) bool { return true })
			position, err := d.erase(d.gone, "")
			rule.Stop()
			if killed = err != nil; !killed {
				require.Greater(t, n, 15, "it was killed after each call")
			}
			if n%3 == 0 {
				position = ""
			}
			_, err = d.erase(d.gone, position)
			require.NoError(t, err)
			_, err = d.erase(d.also, "")
			require.NoError(t, err)
			d.erased()
		})
	}
}

func TestTwoServersEraseTheSameTraces(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	d := newTraced(t, dynamotest.OpenRowByRowDB(t, clock.Now), clock)
	storetest.Together(4, func(n int) {
		u := d.gone
		if n%2 == 0 {
			u = d.also
		}
		_, err := d.erase(u, "")
		assert.NoError(t, err)
	})
	d.erased()
}

// Who read an item and its effort before the user was erased reads them again: the move is refused, and the user does not come back.
func TestAMoveFromBeforeAnErasureIsRefused(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	d := newTraced(t, db, clock)
	review := d.Reviewing(d.items[0], d.efforts[0], d.Ada)
	d.eraseBoth()
	var conflict *project.ItemConflict
	require.ErrorAs(t, d.Truth.MoveItem(t.Context(), review, idempotency.Key{}), &conflict)
	d.erased()

	item, efforts, err := d.Truth.ItemWithEfforts(t.Context(), d.items[0].ItemID)
	require.NoError(t, err)
	d.Do(d.Reviewing(item, efforts[0], d.Ada))
	assert.Empty(t, d.traces(d.gone))
	assert.Equal(t, d.as(d.gone), d.Get(item.ItemID).ReturnedTo)
}

func TestWhatClientsKeepOfAUserStays(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	d := newTraced(t, db, clock)
	scope := uuid.NewString()
	row, err := json.Marshal([]map[string]any{{"_id": "e1", "_scope_type_key": scope + ":Import", "_entity_scope": scope, "created_by": string(d.gone)}})
	require.NoError(t, err)
	dynamotest.PutByHand(t, db, dynamo.EntitiesMaster, string(row))
	d.eraseBoth()
	assert.Len(t, d.traces(d.gone), 1)
}

// What was made of a user's items, and who began imports, names the user by other forms of the id.
func TestTracesOfItemsOfAUserAreErased(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	d := newTraced(t, db, clock)
	original := project.OriginalID{Owner: d.gone, Score: uuid.Nil.String(), ID: uuid.NewString()}
	begun := project.Import{
		TransferID: project.TransferID{Project: d.Project.ID, ID: uuid.NewString()}, Source: project.FromItems, Format: project.JSONLines, State: project.Queued,
		CreatedBy: d.gone, CreatedAt: clock.Now(), Version: 1, Items: []project.OriginalID{original},
	}
	require.NoError(t, d.Projects.PutImport(t.Context(), "", nil, begun, nil, idempotency.Key{}))
	item := d.Draw(d.Import(), 100, 1)[0]
	item.Original = original
	row, err := projects.ItemRow(item)
	require.NoError(t, err)
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{{Table: dynamo.EntitiesMaster, Item: row}}, idempotency.Key{}))

	d.eraseBoth()
	for _, row := range dynamotest.RowsOf(t, db, dynamo.EntitiesMaster) {
		assert.NotContains(t, string(dynamo.RowJSON(row)), keys.EncodeUUID(string(d.gone)))
	}
	imports, errs := d.Projects.ImportsByID(t.Context(), []project.TransferID{begun.TransferID})
	require.NoError(t, errsOf(errs))
	assert.Equal(t, user.Erased, imports[0].CreatedBy)
	assert.Empty(t, imports[0].Items)
	original.Owner = d.as(d.gone)
	is := d.Get(item.ItemID)
	assert.Equal(t, original, is.Original)
	assert.Equal(t, 2, is.Version)
}

// The outbox of a project whose queue has been away for long is read a page at a time.
func TestALongOutboxIsErasedInPages(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	const n, each = 1_100, 5 // one in five names the user
	rows := make([]map[string]any, n)
	for i := range rows {
		tr := labelling.Transition{ID: strconv.Itoa(i), Project: "p1", Item: "one", User: "stays", At: clock.Now().Add(time.Duration(i) * time.Second)}
		if i%each == 0 {
			tr.User = "gone"
		}
		body, err := json.Marshal(tr)
		require.NoError(t, err)
		rows[i] = map[string]any{"_subject_key": keys.OutboxSubjectKey(tr.Item), "_predicate_key": keys.OutboxKey(tr.At, tr.ID), "transition": string(body)}
	}
	text, err := json.Marshal(rows)
	require.NoError(t, err)
	dynamotest.PutByHand(t, db, dynamo.RelationshipEntries, string(text))

	store, as := truth.Store{Store: projects.Store{DB: db}}, func(context.Context, user.ID, string) (user.ID, error) { return user.Erased, nil }
	pass := func() (met int) {
		for position, pages := "", 0; ; pages++ {
			require.Less(t, pages, 20)
			some, next, err := store.EraseFromOutbox(t.Context(), "gone", position, as)
			require.NoError(t, err)
			if met += some; next == "" {
				return met
			}
			position = next
		}
	}
	inj.Recorder().Reset()
	assert.Equal(t, n/each, pass())
	assert.Equal(t, map[string]int{"Query": 16 + 2, "TransactWriteItems": n / each}, dynamotest.Made(inj))
	assert.Zero(t, pass())
	all, err := store.ListOutbox(t.Context(), clock.Now().Add(24*time.Hour), n)
	require.NoError(t, err)
	require.Len(t, all, n)
	for i, tr := range all {
		assert.Equal(t, map[bool]user.ID{true: user.Erased, false: "stays"}[i%each == 0], tr.User)
	}
}

// An effort that is left without its item, or never had one, names a user, too. The erasure meets it, and ends.
func TestTracesOfEffortsWithoutItemsAreErased(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	d := newTraced(t, db, clock)
	lone := d.efforts[0]
	lone.EffortID.ID, lone.Item = uuid.NewString(), ""
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{
		{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(projects.ItemID(d.items[0].ItemID)), Remove: true},
		{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(projects.ItemID(d.items[1].ItemID)), Remove: true},
		{Table: dynamo.EntitiesMaster, Item: projects.EffortRow(lone)},
	}, idempotency.Key{}))

	d.eraseBoth()
	assert.Empty(t, d.traces(d.gone))
	assert.Empty(t, d.traces(d.also))
	found, errs := d.Projects.EffortsByID(t.Context(), []project.EffortID{d.efforts[0].EffortID, d.efforts[1].EffortID, lone.EffortID})
	require.NoError(t, errsOf(errs))
	gone, also := d.as(d.gone), d.as(d.also)
	assert.Equal(t, []project.UserID{gone, gone, gone}, []project.UserID{found[0].User, found[1].User, found[2].User})
	assert.Equal(t, also, found[1].Review.By)
	lists, errs := d.Projects.ListEffortsOfMembers(t.Context(), []project.MemberEffortsRequest{(project.Member{Project: d.Project.ID, User: gone}).Efforts(page.Window{Limit: 20})})
	require.NoError(t, errsOf(errs))
	require.Len(t, lists[0].Items, 1, "the one that has its item")
	assert.Equal(t, d.efforts[2].EffortID, lists[0].Items[0].EffortID)
}
