package dynamo

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

// atOnce is how many want one more of something at the same moment, and left is how many there is room for.
const (
	atOnce = 50
	left   = 5
)

// patient returns a context in which so many who want the same row have as much time as a busy machine may need.
func patient(t *testing.T) context.Context { return soon(t, 3*time.Minute) }

// boundAtOnce checks that of those who come at the same moment so many get what they want, and all others are told that there is no more.
func boundAtOnce(t *testing.T, room int, one func(n int) error) {
	t.Helper()
	errs := make([]error, atOnce)
	var all sync.WaitGroup
	for n := range errs {
		all.Go(func() { errs[n] = one(n) })
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
	assert.Equal(t, room, created)
}

// counts sets what a row counts.
func (db *DB) counts(t *testing.T, table table, key rowKey, path string, names map[string]string, n int) {
	t.Helper()
	require.NoError(t, db.transact(t.Context(), []action{{table: table, key: key, update: "SET " + path + " = :n", names: names, values: attrs{":n": number(int64(n))}}}, idempotency.Key{}))
}

func TestLimitsOfProjectsHoldAtOnce(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfProjects(t)
	id := func() project.TransferID { return project.TransferID{Project: w.Project.ID, ID: uuid.NewString()} }
	anImport := func(int) error {
		return db.PutImport(patient(t), nil, project.Import{TransferID: id(), Source: project.FromFile, Format: project.CSV, State: project.Awaiting, CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1}, nil, idempotency.Key{})
	}
	anExport := func(int) error {
		return db.PutExport(patient(t), nil, project.Export{TransferID: id(), Format: project.CSV, State: project.Queued, CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1}, nil, idempotency.Key{})
	}
	ended := project.Import{TransferID: id(), Source: project.FromFile, Format: project.CSV, State: project.Queued, CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1}
	require.NoError(t, db.PutImport(patient(t), nil, ended, nil, idempotency.Key{}))
	boundAtOnce(t, project.MaxTransfers-1, anImport)
	boundAtOnce(t, project.MaxTransfers, anExport)
	after, ok := ended.Cancel(w.Clock.Now())
	require.True(t, ok)
	for range 3 { // ends once
		err := db.PutImport(patient(t), &ended, after, nil, idempotency.Key{})
		if err != nil {
			require.ErrorAs(t, err, new(*project.TransferConflict))
		}
	}
	boundAtOnce(t, 1, anImport)
	boundAtOnce(t, 0, anExport)
	other, labels, team := w.Draft(w.Ada, nil, nil)
	require.NoError(t, db.CreateProject(patient(t), other, labels, team, other.Member, idempotency.Key{}))
	db.counts(t, entitiesMaster, entityKey(projectID(other.ID)), "#meta.exports_ever", map[string]string{"#meta": "_meta"}, project.MaxTransfersEver-left)
	boundAtOnce(t, left, func(int) error {
		of := project.TransferID{Project: other.ID, ID: uuid.NewString()}
		return db.PutExport(patient(t), nil, project.Export{TransferID: of, Format: project.CSV, State: project.Queued, CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1}, nil, idempotency.Key{})
	})

	db.counts(t, notesTable, profileKey(w.Ada), "projects", nil, project.MaxProjects-left)
	boundAtOnce(t, left, func(int) error {
		p, labels, team := w.Draft(w.Ada, nil, nil)
		return db.CreateProject(patient(t), p, labels, team, p.Member, idempotency.Key{})
	})
	boundAtOnce(t, project.MaxTeams-1, func(n int) error {
		of := project.Team{TeamID: project.TeamID{Project: w.Project.ID, ID: uuid.NewString()}, Name: fmt.Sprint("team ", n), Type: project.Taggie, CreatedAt: w.Clock.Now()}
		return db.PutTeam(patient(t), of, true, idempotency.Key{})
	})
	users := make([]project.UserID, atOnce)
	for n := range users {
		users[n] = w.SignUp(fmt.Sprint("user", n))
	}
	db.counts(t, entitiesMaster, entityKey(projectID(w.Project.ID)), "#meta.members", map[string]string{"#meta": "_meta"}, project.MaxMembers-left)
	boundAtOnce(t, left, func(n int) error {
		return db.PutMember(patient(t), project.Member{Project: w.Project.ID, User: users[n], Team: w.Team.ID, Type: w.Team.Type, AddedAt: w.Clock.Now()}, idempotency.Key{})
	})
}

// An item whose finish is taken back again and again would have efforts without an end.
func TestLimitsOfEfforts(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfProjects(t)
	w.Lists()
	item := w.Fill(1)[0]
	db.counts(t, entitiesMaster, shardedKey(itemID(item.ItemID)), "#made", map[string]string{"#made": effortsMade}, project.MaxEfforts-1)
	finish := func(i project.Item) (project.Item, error) {
		m := w.Finishing(i, w.Ada, "", "")
		return m.After, Labelling{db}.MoveItem(t.Context(), m, idempotency.Key{})
	}
	last, err := finish(item)
	require.NoError(t, err)
	_, err = finish(last)
	require.True(t, fault.Is(err, fault.Exhausted), "got %v", err)
}

func TestLimitsOfScopesHoldAtOnce(t *testing.T) {
	t.Parallel()
	w, db, _ := openEntityWorld(t)
	ada := w.SignUp("ada")
	w.NewScope("s", ada)
	db.counts(t, notesTable, profileKey(ada), "scopes", nil, entity.MaxScopes-left)
	boundAtOnce(t, left, func(n int) error {
		now := w.Clock.Now()
		s := entity.Scope{ID: fmt.Sprint("scope", n), Name: "scope", Version: 1, CreatedAt: now, UpdatedAt: now, Role: entity.OwnerRole}
		return w.Entities.PutScope(patient(t), nil, s, &entity.Member{Scope: s.ID, User: ada, Role: entity.OwnerRole, AddedAt: now}, nil, idempotency.Key{})
	})
	users := make([]entity.UserID, atOnce)
	for n := range users {
		users[n] = w.SignUp(fmt.Sprint("user", n))
	}
	db.counts(t, entitiesMaster, scopeKey("s"), "#meta.#members", map[string]string{"#meta": "_meta", "#members": "members"}, entity.MaxMembers-left)
	boundAtOnce(t, left, func(n int) error { return w.Put("s", users[n], entity.ReaderRole) })
}

func TestLimitsOfScoresHoldAtOnce(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := openDB(t, clock.Now)
	owner := score.UserID(uuid.NewString())
	db.counts(t, scoresTable, scoreCountKey(owner), "score_count", nil, score.MaxScores-left)
	of := make([]score.Ref, atOnce)
	boundAtOnce(t, left, func(n int) error {
		s := score.Score{Ref: score.Ref{Owner: owner, ID: score.ID(uuid.NewString())}, Title: "t", Access: score.Private, Version: 1, CreatedAt: clock.Now(), UpdatedAt: clock.Now()}
		err := Scores{db}.CreateScore(patient(t), s, nil, idempotency.Key{})
		if err == nil {
			of[n] = s.Ref
		}
		return err
	})
	upload := func(int) error {
		u := score.Upload{ItemRef: score.ItemRef{Owner: owner, Score: score.Library, ID: score.ItemID(uuid.NewString())}, Size: 1, State: score.UploadOpen, CreatedAt: clock.Now(), ExpiresAt: clock.Now()}
		return ScoreItems{db}.OpenUpload(patient(t), u, 1<<40, nil, idempotency.Key{})
	}
	key, names := usageKey(owner), map[string]string{"#of": "kept"}
	db.counts(t, scoresTable, key, "#of", names, score.MaxUploads-left)
	boundAtOnce(t, left, upload)
	db.counts(t, scoresTable, key, "#of", names, 0)
	names["#of"] = "items"
	db.counts(t, scoresTable, key, "#of", names, score.MaxItems-left)
	boundAtOnce(t, left, upload)
}
