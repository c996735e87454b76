package users

import (
	"context"
	"errors"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/user"
)

func progressKey(id user.ID) dynamo.Key {
	return dynamo.Key{PK: keys.UserPK(string(id)), SK: keys.ErasureSK}
}

// FindProgress reads how far the erasure of a user is.
//
// Index: primary. Key: PK = USER#<user_id> AND SK = ERASURE. Cost: 1 GetItem.
func (db Store) FindProgress(ctx context.Context, id user.ID) (user.Progress, error) {
	var p user.Progress
	_, err := db.Get(ctx, dynamo.NotesTable, progressKey(id), func(item dynamo.Item) error {
		return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
			switch string(name) {
			case "phase":
				p.Phase, err = v.Str()
			case "position":
				p.Position, err = v.Str()
			case "waits":
				p.Waits, err = v.Int()
			}
			return err
		})
	})
	return p, err
}

// PutProgress keeps how far the erasure of a user is.
//
// Index: primary. Key: USER#<id>/ERASURE; USER#<id>/PROFILE on condition that the user is being erased. Cost: 1 TransactWriteItems of 2 rows.
func (db Store) PutProgress(ctx context.Context, id user.ID, p user.Progress) error {
	row := dynamo.NotesTable.Key(progressKey(id))
	row["phase"], row["position"], row["waits"] = dynamo.Str(p.Phase), dynamo.Str(p.Position), dynamo.Number(int64(p.Waits))
	return db.Transact(ctx, []dynamo.Action{{Table: dynamo.NotesTable, Item: row}, erasing(id, fault.New(fault.NotFound, noSuchUser))}, idempotency.Key{})
}

// erasing is the condition that a user is being erased.
func erasing(id user.ID, failed error) dynamo.Action { return inState(id, domain.Erasing, failed) }

// inState is the condition that the deletion of a user stands at a state.
func inState(id user.ID, state domain.DeletionState, failed error) dynamo.Action {
	return dynamo.Action{Table: dynamo.NotesTable, Key: ProfileKey(id), Condition: "deletion = :state",
		Values: dynamo.Attrs{":state": dynamo.Str(string(state))}, Failed: func(dynamo.Attrs) error { return failed }}
}

// NoteIdentity notes the partition of an identity of a user who is being erased, for [Store.EraseUser]. The identity stays until then: whoever signs in with it is
// no stranger before.
//
// Index: primary. Key: USER#<user>/SUBJECT#<issuer>#<subject>, on condition that USER#<user>/PROFILE is there. Cost: 1 TransactWriteItems of 2 rows.
func (db Store) NoteIdentity(ctx context.Context, id user.ID, pk string) error {
	row := dynamo.Action{Table: dynamo.NotesTable, Item: dynamo.NotesTable.Key(dynamo.Key{PK: keys.UserPK(string(id)), SK: pk})}
	there := dynamo.Action{Table: dynamo.NotesTable, Key: ProfileKey(id), Condition: "attribute_exists(PK)", Failed: dynamo.Moved}
	return dynamo.UnlessMoved(db.Transact(ctx, []dynamo.Action{row, there}, idempotency.Key{}))
}

// identities returns the partitions of the identities that were noted.
func (db Store) identities(ctx context.Context, id user.ID) (noted []string, err error) {
	s := dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(id)), Keys: true}
	s.Low, s.High = dynamo.Prefixed(keys.SubjectPrefix)
	_, err = db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		key, err := dynamo.KeyOf(item, dynamo.NotesTable)
		noted = append(noted, key.SK)
		return true, err
	})
	return noted, err
}

// eraseIdentity is what removes an identity of a user, and that it was noted. Nothing else is removed if it is another user's by now.
func eraseIdentity(id user.ID, pk string) []dynamo.Action {
	return []dynamo.Action{
		{Table: dynamo.NotesTable, Key: dynamo.Key{PK: pk, SK: keys.SubjectSK}, Remove: true, Condition: "attribute_not_exists(PK) OR user_id = :self",
			Values: dynamo.Attrs{":self": dynamo.Str(string(id))}, Failed: dynamo.Moved},
		{Table: dynamo.NotesTable, Key: dynamo.Key{PK: keys.UserPK(string(id)), SK: pk}, Remove: true},
	}
}

// identitiesAtOnce is how many identities go together with the profile; a user has one, but for those of other programs.
const identitiesAtOnce = 40

// erasePage is how many rows are read before they are removed.
const erasePage = 500

// erasePartition removes all rows of a partition but those to be kept.
func (db Store) erasePartition(ctx context.Context, pk string, kept ...string) error {
	s := dynamo.Span{Table: dynamo.NotesTable, PK: pk, Limit: erasePage, Single: true, Keys: true}
	for {
		var rows []dynamo.RowID
		next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			key, err := dynamo.KeyOf(item, dynamo.NotesTable)
			for _, sk := range kept {
				if key.SK == sk {
					return true, err
				}
			}
			rows = append(rows, dynamo.RowID{Table: dynamo.NotesTable, Key: key})
			return true, err
		})
		if err == nil {
			err = db.BatchDelete(ctx, rows)
		}
		if err != nil || next == nil {
			return err
		}
		s.Start = next
	}
}

// EraseUser removes what is left of a user: what idempotency keys of the user and of the noted identities recorded, all rows of the user's partition, what tells
// servers of the revocation, and at last the profile with the lock of the address and the identities, on condition that they are the user's.
//
// Index: primary. Key: PK = IDEM#<user> and IDEM#<issuer> <subject>; PK = USER#<user>; REVOCATIONS#<day>/<instant>#<user>; USER#<user>/PROFILE, REVOKED, ERASURE and
// SUBJECT#<issuer>#<subject>, SUBJECT#<issuer>#<subject>/USER, and EMAIL#<email>/UNIQUE_EMAILS unless it is another user's. Cost: 1 BatchGetItem, 3 Queries and 1 for
// each identity, more for each 500 rows, ⌈n/25⌉ BatchWriteItem and 1 TransactWriteItems of 4 rows and 2 for each identity.
func (db Store) EraseUser(ctx context.Context, u user.User) error {
	accesses, errs := db.AccessByID(ctx, []user.ID{u.ID})
	if errs != nil {
		return errs[0]
	}
	identities, err := db.identities(ctx, u.ID)
	if err != nil {
		return err
	}
	viewers := []string{string(u.ID)}
	for _, pk := range identities {
		viewers = append(viewers, keys.Part(pk, 1)+" "+keys.Part(pk, 2))
	}
	for _, v := range viewers {
		if err := db.erasePartition(ctx, keys.IdempotencyPK(v)); err != nil {
			return err
		}
	}
	if err := db.erasePartition(ctx, keys.UserPK(string(u.ID)), append([]string{keys.ProfileSK, keys.RevokedSK, keys.ErasureSK}, identities...)...); err != nil {
		return err
	}
	if at := accesses[0].Revoked; !at.IsZero() {
		if err := db.BatchDelete(ctx, []dynamo.RowID{{Table: dynamo.NotesTable, Key: newsKey(u.ID, at)}}); err != nil {
			return err
		}
	}
	profile := erasing(u.ID, dynamo.ErrDone)
	profile.Remove = true
	actions := []dynamo.Action{profile, {Table: dynamo.NotesTable, Key: revokedKey(u.ID), Remove: true}, {Table: dynamo.NotesTable, Key: progressKey(u.ID), Remove: true}}
	for i, pk := range identities {
		if i < len(identities)-identitiesAtOnce {
			if err := db.Transact(ctx, eraseIdentity(u.ID, pk), idempotency.Key{}); err != nil {
				return err
			}
			continue
		}
		actions = append(actions, eraseIdentity(u.ID, pk)...)
	}
	lock := dynamo.Action{Table: dynamo.NotesTable, Key: emailKey(user.FoldEmail(u.Email)), Remove: true, Condition: "attribute_not_exists(PK) OR user_id = :self",
		Values: dynamo.Attrs{":self": dynamo.Str(string(u.ID))}, Failed: func(dynamo.Attrs) error { return user.ErrEmailTaken }}
	err = db.Transact(ctx, append(actions, lock), idempotency.Key{})
	if errors.Is(err, user.ErrEmailTaken) { // by rows of another program
		err = db.Transact(ctx, actions, idempotency.Key{})
	}
	if errors.Is(err, dynamo.ErrDone) {
		return nil
	}
	return err
}
