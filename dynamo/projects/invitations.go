package projects

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

const noSuchInvitation = "there is no such invitation"

// invitationType is the type of the object of an invitation's row; nothing has this type as an entity.
const invitationType = "Invitation"

// invitationOf is that a project has an invitation; they are in the order in which they were created. The object is ours, so that who may write in a
// scope of a client cannot make one.
func invitationOf(id project.InvitationID) entity.Relation {
	return entity.Relation{
		Subject: ProjectID(id.Project), Predicate: "invitation", Index: id.Created,
		Object: entity.ID{Scope: entities.OurScope, Type: invitationType, ID: id.ID},
	}
}

func invitationKey(id project.InvitationID) dynamo.Key { return entities.RelationKey(invitationOf(id)) }

// invitationRows are the attributes that invitations have of their own.
var invitationRows = dynamo.LayoutOf(
	dynamo.OfText("team", func(i *project.Invitation) *string { return &i.Team }),
	dynamo.OfText("type", func(i *project.Invitation) *project.TeamType { return &i.Type }),
	dynamo.OfText("hash", func(i *project.Invitation) *string { return &i.Hash }),
	dynamo.OfText("created_by", func(i *project.Invitation) *project.UserID { return &i.CreatedBy }),
	dynamo.OfInstant("expires_at", func(i *project.Invitation) *time.Time { return &i.ExpiresAt }),
	dynamo.OfWhole("uses", func(i *project.Invitation) *int { return &i.Uses }),
	dynamo.OfWhole("used", func(i *project.Invitation) *int { return &i.Used }),
	dynamo.Optional(dynamo.OfInstant("revoked_at", func(i *project.Invitation) *time.Time { return &i.RevokedAt })),
)

func invitationRow(i project.Invitation) dynamo.Attrs {
	return entities.RelationRow(invitationOf(i.InvitationID), i.CreatedAt(), invitationRows.Row(&i))
}

// decodeInvitation leaves the invitation empty unless its object is ours; see [DecodeProjectMember].
func decodeInvitation(item dynamo.Item, i *project.Invitation) error {
	r, err := entities.DecodeOwnOf(invitationRows, item, i)
	if isOfAnother(item, r, err) {
		*i = project.Invitation{}
		return nil
	}
	i.InvitationID = project.InvitationID{Project: project.ID(r.Subject.ID), Created: r.Index, ID: r.Object.ID}
	return err
}

// ListInvitations reads the invitations of many projects.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, invitation:), descending.
// Cost: 1 Query per project.
func (db Store) ListInvitations(ctx context.Context, ids []project.ID) ([][]project.Invitation, []error) {
	all := make([][]project.Invitation, len(ids))
	return all, db.Each(len(ids), func(n int) error {
		s := LinksOf(ProjectID(ids[n]), "invitation")
		s.Backward = true
		_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var i project.Invitation
			err := decodeInvitation(item, &i)
			if i.ID != "" {
				all[n] = append(all[n], i)
			}
			return true, err
		})
		return err
	})
}

// InvitationsByID reads invitations.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND _predicate_key = invitation:<created>:Invitation:<invitation>.
// Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) InvitationsByID(ctx context.Context, ids []project.InvitationID) ([]project.Invitation, []error) {
	all := make([]project.Invitation, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for n, id := range ids {
		wants[n] = dynamo.Want{Table: dynamo.RelationshipEntries, Key: invitationKey(id), Decode: func(item dynamo.Item) error {
			if err := decodeInvitation(item, &all[n]); err != nil || all[n].ID != "" {
				return err
			}
			return fault.New(fault.NotFound, noSuchInvitation)
		}}
	}
	return all, dynamo.Missing(db.BatchGet(ctx, wants), noSuchInvitation)
}

// CreateInvitation creates an invitation. A member who left, or a project that is being deleted, ends it, so that no row is left behind.
//
// Index: primary. Key: <project>:Project:<project>/invitation:<created>:Invitation:<invitation>, of the new one and of those that are removed;
// <project>:Project:<project>/member:0:User:<user> on condition that it is as it was read; that of the change. Cost: 1 TransactWriteItems of 3 rows, 1 more for
// each that is removed.
func (db Store) CreateInvitation(ctx context.Context, m project.Member, i project.Invitation, over []project.Invitation, once idempotency.Key) error {
	member := dynamo.Action{Table: dynamo.RelationshipEntries, Key: ProjectMemberKey(m.Project, m.User), Failed: func(dynamo.Attrs) error { return &project.InvitationConflict{} }}
	sameMember(&member, m)
	actions := []dynamo.Action{{Table: dynamo.RelationshipEntries, Item: invitationRow(i)}, member}
	for _, o := range over {
		actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Key: invitationKey(o.InvitationID), Remove: true})
	}
	return db.Transact(ctx, append(actions, noted(i.Creation())...), once)
}

// RevokeInvitation revokes an invitation.
//
// Index: primary. Key: <project>:Project:<project>/invitation:<created>:Invitation:<invitation> on condition that it is as it was read;
// that of the change. Cost: 1 BatchGetItem and 1 TransactWriteItems of 2 rows.
func (db Store) RevokeInvitation(ctx context.Context, by project.UserID, id project.InvitationID, at time.Time, once idempotency.Key) (i project.Invitation, err error) {
	err = db.UntilSettled(ctx, func() error {
		found, errs := db.InvitationsByID(ctx, []project.InvitationID{id})
		if errs != nil && errs[0] != nil {
			return errs[0]
		}
		if i = found[0]; !i.RevokedAt.IsZero() {
			return db.Transact(ctx, nil, once)
		}
		i.RevokedAt = at
		return db.Transact(ctx, append(notedBy(by, i.Revocation(by)), dynamo.Action{
			Table: dynamo.RelationshipEntries, Key: invitationKey(id), Update: "SET #revoked = :at",
			Condition: "#used = :used AND attribute_not_exists(#revoked)", Names: map[string]string{"#revoked": "revoked_at", "#used": "used"},
			Values: dynamo.Attrs{":at": dynamo.Str(keys.Instant(at)), ":used": dynamo.Number(int64(i.Used))}, Failed: stale,
		}), once)
	})
	return i, err
}

// AcceptInvitation makes a user a member by an invitation.
//
// Index: primary. Key: <project>:Project:<project>/member:0:User:<user> on condition that it is not there;
// <project>:Project:<project>/invitation:<created>:Invitation:<invitation> on condition that it is not over; taggie:User:<user>/project:0:Project:<project>;
// the counters of <project>/<project>:Project; that of the change; on condition that USER#<user>/PROFILE and <team>/<project>:Team exist. Cost: 1 BatchGetItem
// and 1 TransactWriteItems of 7 rows; the BatchGetItem alone for who is a member.
func (db Store) AcceptInvitation(ctx context.Context, id project.InvitationID, m project.Member, once idempotency.Key) (is project.Member, joined bool, err error) {
	err = db.UntilSettled(ctx, func() error {
		before, there, err := db.member(ctx, m.Project, m.User)
		if err != nil {
			return err
		}
		if there {
			is, joined = before, false
			return db.Transact(ctx, nil, once)
		}
		team := hasTeam(m)
		team.Failed = invitationInvalid
		actions := []dynamo.Action{
			{
				Table: dynamo.RelationshipEntries, Item: projectMemberRow(m), Condition: "attribute_not_exists(#subject)",
				Names: map[string]string{"#subject": "_subject_key"}, Failed: stale,
			},
			useInvitation(id, m),
			team,
			users.There(m.User, &project.UnknownUser{}),
			{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(projectOf(m.User, m.Project), m.AddedAt, nil)},
		}
		actions = append(actions, noted(m.Joining())...)
		err = db.Transact(ctx, append(actions, counted(m.Project, 1, managers(m))...), once)
		if fault.Is(err, fault.NotFound) { // the project was deleted
			return project.ErrInvitationInvalid
		}
		is, joined = m, err == nil
		return err
	})
	return is, joined, err
}

func invitationInvalid(dynamo.Attrs) error { return project.ErrInvitationInvalid }

// useInvitation counts that a user joins by an invitation that is not over. Its row keeps who has joined by it, so that nobody who was removed
// since joins again, nor uses it up: at most [project.MaxInvitationUses] ids.
func useInvitation(id project.InvitationID, m project.Member) dynamo.Action {
	return dynamo.Action{
		Table: dynamo.RelationshipEntries, Key: invitationKey(id), Update: "SET #used = #used + :one ADD #joined :joining",
		Condition: "#used < #uses AND #expires > :now AND attribute_not_exists(#revoked) AND NOT contains(#joined, :user)",
		Names:     map[string]string{"#used": "used", "#uses": "uses", "#expires": "expires_at", "#revoked": "revoked_at", "#joined": "joined"},
		Values: dynamo.Attrs{
			":one": dynamo.Number(1), ":now": dynamo.Str(keys.Instant(m.AddedAt)), ":user": dynamo.Str(string(m.User)),
			":joining": &types.AttributeValueMemberSS{Value: []string{string(m.User)}},
		},
		Failed: invitationInvalid,
	}
}
