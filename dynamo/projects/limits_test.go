package projects_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

func TestLimitsOfProjectsHoldAtOnce(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorldOfProjects(t)
	id := func() project.TransferID { return project.TransferID{Project: w.Project.ID, ID: uuid.NewString()} }
	anImport := func(int) error {
		return db.PutImport(dynamotest.Patient(t), "", nil, project.Import{TransferID: id(), Source: project.FromFile, Format: project.CSV, State: project.Awaiting, CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1}, nil, idempotency.Key{})
	}
	anExport := func(int) error {
		return db.PutExport(dynamotest.Patient(t), nil, project.Export{TransferID: id(), Format: project.CSV, State: project.Queued, CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1}, nil, idempotency.Key{})
	}
	ended := project.Import{TransferID: id(), Source: project.FromFile, Format: project.CSV, State: project.Queued, CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1}
	require.NoError(t, db.PutImport(dynamotest.Patient(t), "", nil, ended, nil, idempotency.Key{}))
	dynamotest.BoundAtOnce(t, project.MaxTransfers-1, anImport)
	dynamotest.BoundAtOnce(t, project.MaxTransfers, anExport)
	after, ok := ended.Cancel(w.Clock.Now())
	require.True(t, ok)
	for range 3 { // ends once
		err := db.PutImport(dynamotest.Patient(t), "", &ended, after, nil, idempotency.Key{})
		if err != nil {
			require.ErrorAs(t, err, new(*project.TransferConflict))
		}
	}
	dynamotest.BoundAtOnce(t, 1, anImport)
	dynamotest.BoundAtOnce(t, 0, anExport)
	other, labels, team := w.Draft(w.Ada, nil, nil)
	require.NoError(t, db.CreateProject(dynamotest.Patient(t), other, labels, team, other.Member, idempotency.Key{}))
	dynamotest.SetCount(t, db.DB, dynamo.EntitiesMaster, entities.EntityKey(projects.ProjectID(other.ID)), "#meta.exports_ever", map[string]string{"#meta": "_meta"}, project.MaxTransfersEver-dynamotest.Left)
	dynamotest.BoundAtOnce(t, dynamotest.Left, func(int) error {
		of := project.TransferID{Project: other.ID, ID: uuid.NewString()}
		return db.PutExport(dynamotest.Patient(t), nil, project.Export{TransferID: of, Format: project.CSV, State: project.Queued, CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1}, nil, idempotency.Key{})
	})

	dynamotest.SetCount(t, db.DB, dynamo.NotesTable, users.ProfileKey(w.Ada), "projects", nil, project.MaxProjects-dynamotest.Left)
	dynamotest.BoundAtOnce(t, dynamotest.Left, func(int) error {
		p, labels, team := w.Draft(w.Ada, nil, nil)
		return db.CreateProject(dynamotest.Patient(t), p, labels, team, p.Member, idempotency.Key{})
	})
	dynamotest.BoundAtOnce(t, project.MaxTeams-1, func(n int) error {
		of := project.Team{TeamID: project.TeamID{Project: w.Project.ID, ID: uuid.NewString()}, Name: fmt.Sprint("team ", n), Type: project.Taggie, CreatedAt: w.Clock.Now()}
		return db.PutTeam(dynamotest.Patient(t), "", of, true, idempotency.Key{})
	})
	users := make([]project.UserID, dynamotest.AtOnce)
	for n := range users {
		users[n] = w.SignUp(fmt.Sprint("user", n))
	}
	dynamotest.SetCount(t, db.DB, dynamo.EntitiesMaster, entities.EntityKey(projects.ProjectID(w.Project.ID)), "#meta.members", map[string]string{"#meta": "_meta"}, project.MaxMembers-dynamotest.Left)
	dynamotest.BoundAtOnce(t, dynamotest.Left, func(n int) error {
		return db.PutMember(dynamotest.Patient(t), "", project.Member{Project: w.Project.ID, User: users[n], Team: w.Team.ID, Type: w.Team.Type, AddedAt: w.Clock.Now()}, idempotency.Key{})
	})
}
