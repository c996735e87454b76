package projects

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
)

const (
	invitationCreator = "created_by"
	invitationJoined  = "joined"
)

// EraseFromInvitations erases a user from the invitations on one page of the table, from a position on: [user.Erased] takes the user's place as who created one,
// and who joined by one is no longer in it, though counted. It returns how many invitations it met that name the user, and where to go on; "" at the end.
//
// Index: primary, by Scan. Key: all rows of relationship_entries; <project>:Project:<project>/invitation:<created>:Invitation:<invitation>, on condition
// that it names the user still. Cost: 1 consistent Scan of up to 1 MB; for each row that it shows 1 BatchGetItem and 1 TransactWriteItems of 1 row.
func (db Store) EraseFromInvitations(ctx context.Context, id user.ID, position string) (met int, next string, err error) {
	found, next, err := db.Traces(ctx, dynamo.Traced{
		Table: dynamo.RelationshipEntries, Attributes: []string{invitationCreator}, Or: "contains(#joined, :id)", Names: map[string]string{"#joined": invitationJoined},
	}, string(id), position)
	if err != nil {
		return 0, "", err
	}
	ours := found[:0]
	var ids []project.InvitationID
	for _, t := range found { // relations of clients have attributes of these names, too
		if id, is := invitationAt(t.Key); is {
			ours, ids = append(ours, t), append(ids, id)
		}
	}
	_, errs := db.InvitationsByID(ctx, ids)
	var named []dynamo.Trace
	for i, t := range ours {
		switch {
		case errs == nil || errs[i] == nil:
			named = append(named, t)
		case !fault.Is(errs[i], fault.NotFound):
			return 0, "", errs[i]
		}
	}
	return len(named), next, dynamo.EraseEach(db.DB, named, func(t dynamo.Trace) error {
		a := dynamo.Action{
			Table: dynamo.RelationshipEntries, Key: t.Key, Update: "DELETE #joined :erased", Condition: "attribute_exists(#joined)",
			Names: map[string]string{"#joined": invitationJoined}, Values: dynamo.Attrs{":erased": &types.AttributeValueMemberSS{Value: []string{string(id)}}}, Failed: dynamo.Moved,
		}
		actions := []dynamo.Action{a}
		if len(t.Attributes) > 0 {
			actions = []dynamo.Action{t.Replacing(dynamo.RelationshipEntries, string(id), string(user.Erased))}
		}
		return db.Transact(ctx, actions, idempotency.Key{})
	})
}

// invitationAt reads the id of an invitation from its key.
func invitationAt(key dynamo.Key) (id project.InvitationID, is bool) {
	of, by := keys.Split(key.PK), keys.Split(key.SK)
	if len(of) != 3 || len(by) != 4 {
		return id, false
	}
	created, err := strconv.ParseInt(by[1], 10, 64)
	id = project.InvitationID{Project: project.ID(of[0]), Created: created, ID: by[3]}
	return id, err == nil && invitationKey(id) == key
}
