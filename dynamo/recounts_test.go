package dynamo_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/entitytest"
	"github.com/taggie/taggie/internal/storetest/filetagtest"
)

// countedThings is somebody whose things of a kind are counted by a row.
type countedThings struct {
	t      *testing.T
	kind   string
	of     string
	db     *dynamo.DB
	inj    *faultinject.Injector
	clock  *storetest.Clock
	create func(db *dynamo.DB) error
	reads  map[string]int // calls that count what is stored
}

// with puts how many things there may be in place of the usual number.
func (c *countedThings) with(most int) *countedThings {
	c.db.SetAllowances(map[string]int{c.kind: most})
	return c
}

// says returns what the row says.
func (c *countedThings) says() int {
	c.t.Helper()
	n, err := c.db.Says(c.t.Context(), c.kind, c.of)
	require.NoError(c.t, err)
	return n
}

// falsify lets the row say more than is true, or less.
func (c *countedThings) falsify(by int) {
	c.t.Helper()
	add := dynamo.Action{Table: dynamo.NotesTable, Key: dynamo.CountKey(dynamo.Allowed{Kind: c.kind, Of: c.of}), Update: "ADD #n :by", Names: map[string]string{"#n": "n"}, Values: dynamo.Attrs{":by": dynamo.Number(int64(by))}}
	require.NoError(c.t, c.db.Transact(c.t.Context(), []dynamo.Action{add}, idempotency.Key{}))
}

func (c *countedThings) creates(n int) {
	c.t.Helper()
	for range n {
		require.NoError(c.t, c.create(c.db))
	}
	countAll(c.t, c.db)
}

func (c *countedThings) refused(db *dynamo.DB) {
	c.t.Helper()
	err := c.create(db)
	require.True(c.t, fault.Is(err, fault.Exhausted), "got %v", err)
}

// steps has servers count again, with what they do each second in between.
func (c *countedThings) steps(servers ...*dynamo.DB) {
	c.t.Helper()
	for range 3 {
		for _, db := range servers {
			require.NoError(c.t, db.RecountAllowances(c.t.Context(), c.kind))
		}
		countAll(c.t, servers...)
		c.clock.Advance(dynamo.RecountSettles)
	}
}

// uploadedStores are stores of tags on items that were uploaded.
func uploadedStores(db *dynamo.DB) filetagtest.Stores {
	return filetagtest.Stores{
		Tags: filetags.Store{DB: db}, Items: scores.Items{DB: db}, Scores: scores.Store{DB: db}, Tasks: dynamo.Tasks{DB: db},
		PutItem: func(ctx context.Context, ref score.ItemRef, setName string) error {
			u := score.Upload{ItemRef: ref, Name: "n", SetName: setName, Size: 1, State: score.UploadOpen, CreatedAt: db.Now(), ExpiresAt: db.Now().Add(time.Hour)}
			if err := (scores.Items{DB: db}).OpenUpload(ctx, u, 1<<40, nil, idempotency.Key{}); err != nil {
				return err
			}
			return scores.Items{DB: db}.CompleteUpload(ctx, u, score.Item{ItemRef: ref, Name: "n", SetName: setName, Size: 1, Total: 1, Object: "o", CreatedAt: db.Now()}, 1<<40, idempotency.Key{})
		},
		Check: func(testing.TB) {},
	}
}

// openUploadedWorld returns a world of tags on a DB of its own.
func openUploadedWorld(t testing.TB) (*filetagtest.World, *dynamo.DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	w := filetagtest.NewWorld(t, uploadedStores(db), clock)
	inj.Recorder().Reset()
	return w, db, inj
}

// eachCounted runs a test for each kind of things that a row counts.
func eachCounted(t *testing.T, test func(t *testing.T, c *countedThings)) {
	open := map[string]func(t *testing.T) *countedThings{
		"entities": func(t *testing.T) *countedThings {
			clock := storetest.NewClock()
			db, inj := dynamotest.OpenDB(t, clock.Now)
			return &countedThings{of: "scope", db: db, inj: inj, clock: clock, reads: map[string]int{"Scan": 1}, create: func(db *dynamo.DB) error {
				id := entity.ID{Scope: "scope", Type: fmt.Sprint("thing", uuid.NewString()[:2]), ID: uuid.NewString()}
				return entities.Store{DB: db}.PutEntity(dynamotest.Patient(t), nil, entity.Entity{ID: id, Version: 1, CreatedAt: clock.Now(), UpdatedAt: clock.Now()}, nil, idempotency.Key{})
			}}
		},
		"relations": func(t *testing.T) *countedThings {
			w, db, inj := dynamotest.OpenRelationWorld(t)
			subject := w.Things("subject", 1)[0]
			countAll(t, db)
			return &countedThings{of: subject.Scope, db: db, inj: inj, clock: w.Clock, reads: map[string]int{"Scan": 1}, create: func(db *dynamo.DB) error {
				_, err := entities.Store{DB: db}.AddRelations(dynamotest.Patient(t), subject, "p"+uuid.NewString()[:8], entitytest.Objects(subject), idempotency.Key{})
				return err
			}}
		},
		"items": func(t *testing.T) *countedThings {
			w, db, inj := dynamotest.OpenWorldOfProjects(t)
			by, line := w.Import(), 0
			var mu sync.Mutex
			return &countedThings{of: string(w.Project.ID), db: db.DB, inj: inj, clock: w.Clock, reads: map[string]int{"Query": 16}, create: func(db *dynamo.DB) error {
				mu.Lock()
				line++
				items := w.Draw(by, line, 1)
				mu.Unlock()
				_, _, err := projects.Store{DB: db}.ImportItems(dynamotest.Patient(t), items)
				return err
			}}
		},
		"tags": func(t *testing.T) *countedThings {
			w, db, inj := openUploadedWorld(t)
			items := w.NewItems(w.Ada, "set", 200)
			next := make(chan score.ItemRef, len(items))
			for _, item := range items {
				next <- item
			}
			return &countedThings{of: string(w.Ada), db: db, inj: inj, clock: w.Clock, reads: map[string]int{"Scan": 1}, create: func(db *dynamo.DB) error {
				stores := uploadedStores(db)
				rules := filetag.NewService(filetag.Options{Store: stores.Tags, Items: score.NewItems(score.ItemsOptions{Store: stores.Items, Scores: stores.Scores, Now: w.Clock.Now, NewID: uuid.NewString}),
					Scores: score.NewService(score.Options{Store: stores.Scores, Now: w.Clock.Now, NewID: uuid.NewString}), Kept: filetag.Kept{Items: stores.Items, Scores: stores.Scores}, Now: w.Clock.Now, NewID: uuid.NewString})
				_, err := rules.PutTags(w.As(w.Ada), filetag.PutTags{Item: <-next, Tags: []filetag.NewTag{{Value: "v", Public: true}}})
				return err
			}}
		},
	}
	require.Len(t, open, len(dynamo.Recounted(dynamotest.AllAllowances)))
	for _, kind := range dynamo.Recounted(dynamotest.AllAllowances) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := open[kind](t)
			c.t, c.kind = t, kind
			test(t, c)
		})
	}
}

// A row that says too much lets its owner create things again, after few calls.
func TestRecountOfWhatSaysTooMuch(t *testing.T) {
	t.Parallel()
	eachCounted(t, func(t *testing.T, c *countedThings) {
		c.with(20).creates(10)
		c.falsify(1_000)
		c.refusedSoon()
		recount := func() map[string]int {
			return dynamotest.Calls(c.inj, func() { require.NoError(t, c.db.RecountAllowances(t.Context(), c.kind)) })
		}
		assert.Equal(t, map[string]int{"TransactWriteItems": 1, "GetItem": 1}, recount(), "begin")
		assert.Empty(t, recount(), "indexes settle")
		c.clock.Advance(dynamo.RecountSettles)
		assert.Equal(t, c.reads, recount(), "count")
		assert.Empty(t, recount(), "servers add what they created")
		c.clock.Advance(dynamo.RecountSettles)
		assert.Equal(t, map[string]int{"GetItem": 1}, recount(), "correct")
		assert.Empty(t, recount(), "that was all")
		countAll(t, c.db)
		assert.Equal(t, 10, c.says())
		c.creates(10)
		c.refused(c.db)
		assert.Equal(t, 20, c.says())
	})
}

// refusedSoon has the server learn what the row says, and refuse.
func (c *countedThings) refusedSoon() {
	c.t.Helper()
	c.clock.Advance(dynamo.CountedElsewhere)
	countAll(c.t, c.db)
	c.refused(c.db)
	countAll(c.t, c.db)
}

// A row that says too little is corrected without anybody's being refused; it may even say less than nothing.
func TestRecountOfWhatSaysTooLittle(t *testing.T) {
	t.Parallel()
	eachCounted(t, func(t *testing.T, c *countedThings) {
		c.with(20).creates(19)
		c.falsify(-30)
		assert.Empty(t, dynamotest.Calls(c.inj, func() { require.NoError(t, c.db.RecountAllowances(t.Context(), c.kind)) }), "nobody was refused, and nothing is known for long")
		c.clock.Advance(dynamo.RecountKnown)
		c.creates(1)
		c.steps(c.db)
		assert.Equal(t, 20, c.says())
		c.refused(c.db)
	})
}

// A recount spoils nothing while two servers create things, and never corrects by more than is wrong.
func TestRecountWhileOthersCreate(t *testing.T) {
	t.Parallel()
	eachCounted(t, func(t *testing.T, c *countedThings) {
		for _, wrong := range []int{0, 100, -100} {
			other := c.db.AnotherServer()
			servers := []*dynamo.DB{c.db, other}
			before := c.says()
			c.falsify(wrong)
			c.clock.Advance(31 * 24 * time.Hour) // since the last count
			require.NoError(t, c.create(other))
			countAll(t, servers...)
			c.clock.Advance(dynamo.RecountKnown)
			created := 1
			for range 3 {
				var all sync.WaitGroup
				for _, db := range servers {
					for range 5 {
						created++
						all.Go(func() { assert.NoError(t, c.create(db)) })
					}
				}
				all.Go(func() { assert.NoError(t, other.RecountAllowances(t.Context(), c.kind)) })
				all.Wait()
				countAll(t, servers...)
				c.clock.Advance(dynamo.RecountSettles)
			}
			countAll(t, servers...)
			require.False(t, other.CountsAgain(c.kind), "it is over")
			truth, most := before+created, before+created+wrong
			assert.GreaterOrEqual(t, c.says(), min(truth, most))
			assert.LessOrEqual(t, c.says(), max(truth, most))
			if wrong != 0 {
				assert.Less(t, max(c.says()-truth, truth-c.says()), 50, "most of it is corrected")
			}
			c.clock.Advance(31 * 24 * time.Hour)
			require.NoError(t, c.create(other))
			countAll(t, other)
			c.clock.Advance(dynamo.RecountKnown)
			c.steps(other)
			assert.Equal(t, truth+1, c.says(), "and the rest when it is quiet")
		}
	})
}

// One server counts at a time. When it is killed, after any call, another one counts after a while, and the row is right then.
func TestRecountKilled(t *testing.T) {
	t.Parallel()
	eachCounted(t, func(t *testing.T, c *countedThings) {
		c.with(10).creates(5)
		for n := 0; ; n++ {
			c.clock.Advance(24 * time.Hour)
			c.falsify(15 - c.says())
			doomed, next := c.db.AnotherServer(), c.db.AnotherServer()
			for _, db := range []*dynamo.DB{doomed, next} {
				db.Meet(allowanceOf(c.kind), c.of) // somebody has just come here
				countAll(t, db)
				c.refused(db)
				countAll(t, db)
			}
			soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			rule := c.inj.KillAfter(n)
			killed := false
			for range 3 {
				for _, do := range []func(context.Context) error{func(ctx context.Context) error { return doomed.RecountAllowances(ctx, c.kind) }, doomed.CountAllowances} {
					killed = killed || do(soon) != nil
				}
				c.clock.Advance(dynamo.RecountSettles)
			}
			rule.Stop()
			cancel()
			if n > 0 { // it had begun
				assert.Equal(t, map[string]int{"TransactWriteItems": 1}, dynamotest.Calls(c.inj, func() { require.NoError(t, next.RecountAllowances(t.Context(), c.kind)) }), "nobody else begins")
				assert.False(t, next.CountsAgain(c.kind))
			}
			c.clock.Advance(24 * time.Hour)
			last := c.db.AnotherServer()
			last.Meet(allowanceOf(c.kind), c.of)
			countAll(t, last)
			_ = last.Want(allowanceOf(c.kind), c.of, 11) // somebody wants too much
			c.steps(last)
			require.Equal(t, 5, c.says(), "killed after %d calls", n)
			if !killed {
				require.Greater(t, n, 4, "there are calls")
				return
			}
		}
	})
}

// A read that fails costs a try, and not the time until the next count; who fails again and again leaves it to the next one.
func TestRecountGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	eachCounted(t, func(t *testing.T, c *countedThings) {
		c.with(20).creates(10)
		c.falsify(1_000)
		c.refusedSoon()
		fails := func(operation string) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.inj.Fail(500, "InternalServerError", func(int) bool { cancel(); return true }, faultinject.Operation(operation))
			assert.Error(t, c.db.RecountAllowances(ctx, c.kind))
			c.inj.Clear()
		}
		count := "Scan"
		if c.reads["Query"] > 0 {
			count = "Query"
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c.inj.ResetAfter(func(n int) bool {
			if n == 2 {
				cancel()
			}
			return true
		}, faultinject.Operation("TransactWriteItems"))
		assert.Error(t, c.db.RecountAllowances(ctx, c.kind), "it has begun, and does not know it")
		c.inj.Clear()
		c.clock.Advance(time.Second)
		fails("GetItem") // after it has begun
		require.NoError(t, c.db.RecountAllowances(t.Context(), c.kind))
		c.clock.Advance(dynamo.RecountSettles)
		fails(count)
		c.steps(c.db)
		assert.Equal(t, 10, c.says())

		c.clock.Advance(24 * time.Hour)
		c.falsify(1_000)
		c.db = c.db.AnotherServer()
		c.db.Meet(allowanceOf(c.kind), c.of) // somebody has just come here
		c.refusedSoon()
		require.NoError(t, c.db.RecountAllowances(t.Context(), c.kind))
		c.clock.Advance(dynamo.RecountSettles)
		for range dynamo.RecountFails {
			require.True(t, c.db.CountsAgain(c.kind))
			fails(count)
		}
		assert.False(t, c.db.CountsAgain(c.kind), "somebody else may do better")
	})
}

func allowanceOf(kind string) dynamo.Allowance {
	for _, a := range dynamotest.AllAllowances {
		if a.Kind == kind {
			return a
		}
	}
	panic(kind)
}

// What was counted corrects a row in the right direction, by at most what is wrong with it.
func TestOutside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		truth, wrong, created := rapid.IntRange(0, 100).Draw(t, "truth"), rapid.IntRange(-100, 100).Draw(t, "wrong"), rapid.IntRange(0, 50).Draw(t, "created")
		seen := rapid.IntRange(0, created).Draw(t, "seen")
		by := dynamo.Outside(truth+seen, truth+wrong, truth+created+wrong)
		left := wrong + by
		require.LessOrEqual(t, min(wrong, 0), left)
		require.GreaterOrEqual(t, max(wrong, 0), left)
		if created == 0 {
			require.Zero(t, left)
		}
	})
}
