package dynamo

import (
	"bytes"
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
)

// Number is a number as DynamoDB takes it.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func idempotencyKey(k idempotency.Key) Key {
	return Key{keys.IdempotencyPK(k.Viewer), keys.IdempotencySK(k.Key)}
}

// FindIdempotencyKey returns *idempotency.Replayed when the key was used for the same input within 24 hours,
// [idempotency.ErrMismatch] when for another, and nil otherwise. TTL deletes rows late, hence the check of the time.
//
// Index: primary. Key: PK = IDEM#<viewer> AND SK = <key>. Cost: 1 GetItem.
func (db *DB) FindIdempotencyKey(ctx context.Context, k idempotency.Key) error {
	var hash []byte
	var expires int
	var result []string
	found, err := db.Get(ctx, NotesTable, idempotencyKey(k), func(item Item) error {
		return Attributes(item, func(name []byte, v Value) (err error) {
			switch string(name) {
			case "hash":
				hash, err = v.binary()
			case "expires_at":
				expires, err = v.Int()
			case "result":
				err = v.List(func(s string) error {
					result = append(result, s)
					return nil
				})
			}
			return err
		})
	})
	switch {
	case err != nil:
		return err
	case !found || int64(expires) <= db.Now().Unix():
		return nil
	}
	return replayed(k, hash, result)
}

func replayed(k idempotency.Key, hash []byte, result []string) error {
	if !bytes.Equal(hash, k.Hash) {
		return idempotency.ErrMismatch
	}
	return &idempotency.Replayed{Result: result}
}

// remember is the action that records the key with the effect, and fails when it was used before.
func (db *DB) remember(k idempotency.Key) Action {
	result := make([]types.AttributeValue, len(k.Result))
	for i, id := range k.Result {
		result[i] = Str(id)
	}
	row := NotesTable.Key(idempotencyKey(k))
	row["hash"] = &types.AttributeValueMemberB{Value: k.Hash}
	row["result"] = &types.AttributeValueMemberL{Value: result}
	row["expires_at"] = Number(k.ExpiresAt.Unix())
	return Action{
		Table: NotesTable, Item: row, remembers: true,
		Condition: "attribute_not_exists(PK) OR expires_at <= :now",
		Values:    Attrs{":now": Number(db.Now().Unix())},
		Failed: func(row Attrs) error {
			hash, _ := row["hash"].(*types.AttributeValueMemberB)
			list, _ := row["result"].(*types.AttributeValueMemberL)
			if hash == nil || list == nil {
				return idempotency.ErrMismatch
			}
			var result []string
			for _, id := range list.Value {
				if id, ok := id.(*types.AttributeValueMemberS); ok {
					result = append(result, id.Value)
				}
			}
			return replayed(k, hash.Value, result)
		},
	}
}
