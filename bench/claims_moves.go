package main

import (
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// These are the changes that the service makes of a claim and a finish, with rows of the same size.

// These stand for those that a labeller would name.
const foundCategory, byTeam = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"

func claiming(before project.Item, by project.UserID) labelling.Move {
	after := changed(before)
	after.Status = project.Claimed
	after.Claim = project.Claim{User: by, Token: uuid.NewString(), Since: after.UpdatedAt, Until: after.UpdatedAt.Add(labelling.Lease)}
	return labelling.Move{Before: before, After: after}
}

func finishing(before project.Item, by project.UserID) labelling.Move {
	after := changed(before)
	after.Status, after.Category, after.Claim, after.LastEffort = project.Finished, foundCategory, project.Claim{}, uuid.NewString()
	after.Efforts, after.EffortsMade = before.Efforts+1, before.EffortsMade+1
	effort := project.Effort{
		EffortID: project.EffortID{Project: after.Project, ID: after.LastEffort}, Item: after.ID, User: by, Team: byTeam, Category: foundCategory,
		FinishedAt: after.UpdatedAt, UpdatedAt: after.UpdatedAt,
	}
	finished := labelling.Transition{
		ID: uuid.NewString(), Cause: labelling.Finished, Project: after.Project, Item: after.ID, Follows: before.LastTransition, Version: after.Version,
		Status: after.Status, User: by, Team: byTeam, Token: before.Claim.Token, Effort: effort.ID, Category: "one", At: after.UpdatedAt,
	}
	after.LastTransition = finished.Ref()
	return labelling.Move{Before: before, After: after, Effort: &effort, Transition: &finished}
}

// changed is an item at its next version.
func changed(i project.Item) project.Item {
	i.Version++
	i.UpdatedAt = time.Now().UTC().Truncate(time.Millisecond)
	return i
}
