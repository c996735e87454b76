package execution

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/viewer"
)

// forDeleted are the fields that an operation may consist of when the user of the token is deleted.
var forDeleted = map[string]bool{"undoDeleteUser": true, "purgeDeletedUser": true, "__typename": true}

// deletedViewer refuses what somebody may not do whose user is deleted; nil for everybody else, and for what brings the user back or purges the user.
func deletedViewer(ctx context.Context, op *graphql.OperationContext) *gqlerror.Error {
	d := viewer.From(ctx).Deletion
	if d.User == "" || onlyForDeleted(op) {
		return nil
	}
	if d.Erasing {
		refused := refusal.Of(model.ErrorCodeUserDeleted, "the user of this token was deleted, and is being removed: after that, createUser can be used again")
		refused.Extensions["undoUntil"] = nil
		return refused
	}
	until := d.UndoUntil.UTC().Format(time.RFC3339)
	refused := refusal.Of(model.ErrorCodeUserDeleted, "the user of this token was deleted: until %s, undoDeleteUser brings the user back", until)
	refused.Extensions["undoUntil"] = until
	return refused
}

func onlyForDeleted(op *graphql.OperationContext) bool {
	if op.Operation.Operation != ast.Mutation {
		return false
	}
	for _, f := range graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Mutation"}) {
		if !forDeleted[f.Name] {
			return false
		}
	}
	return true
}
