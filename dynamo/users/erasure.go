package users

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

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

// EraseMentions removes what names a user in the partitions of others, and by what the user signed in: identities with what their idempotency keys
// recorded, blocks by others with their counts, and how many notes the user gave others. It reads a page of the whole table, since no index finds them.
//
// Index: primary. Key: all rows, eventually consistent; SUBJECT#<issuer>#<subject>/USER, IDEM#<issuer> <subject>, USER#<other>/BLOCKED#<user> and
// USER#<other>/GIVEN#<user>. Cost: 1 Scan of a megabyte; for each block 1 TransactWriteItems of 2 rows; for each identity 1 Query, ⌈n/25⌉ BatchWriteItem and 1 more.
func (db Store) EraseMentions(ctx context.Context, id user.ID, position string) (next string, err error) {
	blocked, given := keys.BlockedSK(string(id)), keys.GivenSK(string(id))
	in := dynamodb.ScanInput{
		TableName: db.Table(dynamo.NotesTable), FilterExpression: aws.String("SK = :blocked OR SK = :given OR SK = :subject AND begins_with(PK, :subjects) AND user_id = :user"),
		ProjectionExpression: aws.String("PK, SK"),
		ExpressionAttributeValues: dynamo.Attrs{
			":blocked": dynamo.Str(blocked), ":given": dynamo.Str(given), ":subject": dynamo.Str(keys.SubjectSK), ":subjects": dynamo.Str(keys.SubjectPrefix), ":user": dynamo.Str(string(id)),
		},
	}
	if position != "" {
		pk, sk, _ := strings.Cut(position, "\n")
		in.ExclusiveStartKey = dynamo.NotesTable.Key(dynamo.Key{PK: pk, SK: sk})
	}
	var found []dynamo.Key
	last, err := db.ScanPage(ctx, dynamo.NotesTable, &in, func(item dynamo.Item) error {
		key, err := dynamo.KeyOf(item, dynamo.NotesTable)
		found = append(found, key)
		return err
	})
	if err != nil {
		return "", err
	}
	for _, key := range found {
		switch key.SK {
		case blocked:
			err = db.UnblockUser(ctx, user.ID(keys.Part(key.PK, 1)), id, idempotency.Key{})
		case given:
			err = db.BatchDelete(ctx, []dynamo.RowID{{Table: dynamo.NotesTable, Key: key}})
		default:
			err = db.eraseIdentity(ctx, key)
		}
		if err != nil {
			return "", err
		}
	}
	if last == nil {
		return "", nil
	}
	return dynamo.Text(last["PK"]) + "\n" + dynamo.Text(last["SK"]), dynamo.Rest(ctx, dynamo.SweepPause)
}

// eraseIdentity removes an identity, after what was recorded for it.
func (db Store) eraseIdentity(ctx context.Context, key dynamo.Key) error {
	if err := db.erasePartition(ctx, keys.IdempotencyPK(keys.Part(key.PK, 1)+" "+keys.Part(key.PK, 2))); err != nil {
		return err
	}
	return db.BatchDelete(ctx, []dynamo.RowID{{Table: dynamo.NotesTable, Key: key}})
}

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

// EraseUser removes what is left of a user: what idempotency keys recorded, all rows of the user's partition, what tells servers of the revocation, and at last
// the profile with the lock of the address.
//
// Index: primary. Key: PK = IDEM#<user>; PK = USER#<user>; REVOCATIONS#<day>/<instant>#<user>; USER#<user>/PROFILE, REVOKED and ERASURE, and EMAIL#<email>/UNIQUE_EMAILS unless it
// is another user's. Cost: 1 BatchGetItem, 2 Queries, more for each 500 rows, ⌈n/25⌉ BatchWriteItem and 1 TransactWriteItems of 4 rows.
func (db Store) EraseUser(ctx context.Context, u user.User) error {
	accesses, errs := db.AccessByID(ctx, []user.ID{u.ID})
	if errs != nil {
		return errs[0]
	}
	if err := db.erasePartition(ctx, keys.IdempotencyPK(string(u.ID))); err != nil {
		return err
	}
	if err := db.erasePartition(ctx, keys.UserPK(string(u.ID)), keys.ProfileSK, keys.RevokedSK, keys.ErasureSK); err != nil {
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
	lock := dynamo.Action{Table: dynamo.NotesTable, Key: emailKey(user.FoldEmail(u.Email)), Remove: true, Condition: "attribute_not_exists(PK) OR user_id = :self",
		Values: dynamo.Attrs{":self": dynamo.Str(string(u.ID))}, Failed: func(dynamo.Attrs) error { return user.ErrEmailTaken }}
	err := db.Transact(ctx, append(actions, lock), idempotency.Key{})
	if errors.Is(err, user.ErrEmailTaken) { // by rows of another program
		err = db.Transact(ctx, actions, idempotency.Key{})
	}
	if errors.Is(err, dynamo.ErrDone) {
		return nil
	}
	return err
}
