package dynamo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// building lets new indexes be built for a while, as DynamoDB does: the engine has them at once.
type building struct {
	http.RoundTripper
	looks   atomic.Int64 // that show an index being built still
	added   atomic.Int64
	refuses chan string // why the next requests to change a table are refused
	status  string      // "" for CREATING
	bodies  chan []byte // of requests to change a table, if anybody wants them
}

func (b *building) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if operation == "UpdateTable" {
		select {
		case why := <-b.refuses:
			return respond(r, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#`+why+`","message":"not now"}`), nil
		default:
			b.added.Add(1)
		}
		if b.bodies != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			b.bodies <- body
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
	}
	resp, err := b.RoundTripper.RoundTrip(r)
	if err != nil || operation != "DescribeTable" || b.looks.Load() <= 0 || b.added.Load() == 0 && b.status == "" {
		return resp, err
	}
	b.looks.Add(-1)
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	body = bytes.ReplaceAll(body, []byte(`"IndexStatus":"ACTIVE"`), []byte(`"IndexStatus":"`+cmp.Or(b.status, "CREATING")+`"`))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("X-Amz-Crc32")
	resp.Header.Del("Content-Length")
	return resp, err
}

// older makes the tables as an earlier version had them: without four indexes of entities, scores and tags.
func older(t *testing.T, b *building, changes ...func(*dynamodb.CreateTableInput)) *DB {
	t.Helper()
	db, _ := openDBOn(t, nil, func(engine http.RoundTripper) http.RoundTripper {
		b.RoundTripper = engine
		return b
	})
	db.prefix += "older-"
	for _, in := range db.Tables() {
		later := []string{*db.IndexName(EntitiesByScope), *db.IndexName(ItemsByName), *db.IndexName(TagsByAuthor), *db.IndexName(ScoresByTitle)}
		in.GlobalSecondaryIndexes = slices.DeleteFunc(in.GlobalSecondaryIndexes, func(i types.GlobalSecondaryIndex) bool { return slices.Contains(later, *i.IndexName) })
		in.AttributeDefinitions = slices.DeleteFunc(in.AttributeDefinitions, func(a types.AttributeDefinition) bool {
			return slices.Contains([]string{EntitiesByScope.PK, ItemsByName.PK, ItemsByName.SK, TagsByAuthor.PK, ScoresByTitle.PK, ScoresByTitle.SK}, *a.AttributeName)
		})
		if len(in.GlobalSecondaryIndexes) == 0 {
			in.GlobalSecondaryIndexes = nil // DynamoDB refuses an empty list
		}
		for _, change := range changes {
			change(&in)
		}
		_, err := db.Client.CreateTable(t.Context(), &in)
		require.NoError(t, err)
	}
	return db
}

func TestApplyAddsIndexesToTablesThatExist(t *testing.T) {
	t.Parallel()
	b := &building{}
	b.looks.Store(3)
	db := older(t, b)
	for i, id := range []string{"with", "without"} {
		row := EntitiesMaster.Key(Key{PK: id, SK: "films:Film"})
		if row["_updated"] = Str("2026-01-01T00:00:00.000Z"); i == 0 {
			row[EntitiesByScope.PK] = Str("films")
		}
		_, err := db.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: db.Table(EntitiesMaster), Item: row})
		require.NoError(t, err)
	}
	missing := "index " + *db.IndexName(EntitiesByScope) + " is missing, want (HASH _entity_scope S, RANGE _scope_type_key S, projection KEYS_ONLY)"
	require.ErrorContains(t, db.Ready(t.Context()), missing)
	check := func(report func(Step)) error { return db.CheckTables(t.Context(), report) }
	apply := func(report func(Step)) error { return db.ApplyTables(t.Context(), report) }
	assert.Contains(t, stepsOf(t, check), "PROBLEM "+missing)
	assert.Zero(t, b.added.Load(), "a check changes nothing")

	steps := stepsOf(t, apply)
	assert.Contains(t, steps, "adding index "+*db.IndexName(EntitiesByScope))
	assert.Contains(t, steps, "adding index "+*db.IndexName(ItemsByName))
	assert.Contains(t, steps, "adding index "+*db.IndexName(TagsByAuthor))
	assert.Contains(t, steps, "adding index "+*db.IndexName(ScoresByTitle))
	assert.NotContains(t, strings.Join(steps, "\n"), "PROBLEM")
	assert.Zero(t, b.looks.Load(), "it waits")
	assert.EqualValues(t, 4, b.added.Load())
	require.NoError(t, db.Ready(t.Context()))
	assert.NotContains(t, strings.Join(stepsOf(t, apply), "\n"), "adding")
	assert.EqualValues(t, 4, b.added.Load())

	var found []string
	_, err := db.Query(t.Context(), Span{Table: EntitiesMaster, Index: EntitiesByScope, PK: "films", Keys: true}, func(item Item) (bool, error) {
		key, err := KeyOf(item, EntitiesMaster)
		found = append(found, key.PK)
		return true, err
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"with"}, found, "rows from before are in it, if they have its key")
}

// Whoever runs it again waits for what was begun, and begins nothing twice.
func TestApplyThatWasEndedGoesOnWaiting(t *testing.T) {
	t.Parallel()
	b := &building{}
	b.looks.Store(1 << 40)
	db := older(t, b)
	patient := db.Pause
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	db.Pause = func(context.Context, int) bool {
		cancel(enough)
		return false
	}
	err := db.ApplyTables(ctx, func(Step) {})
	require.ErrorIs(t, err, enough)
	assert.ErrorContains(t, err, "is still being built")
	assert.EqualValues(t, 1, b.added.Load())

	db.Pause = patient
	b.looks.Store(3)
	require.NoError(t, db.ApplyTables(t.Context(), func(Step) {}))
	assert.EqualValues(t, 4, b.added.Load())
	assert.NoError(t, db.Ready(t.Context()))
}

// A table may be changed by somebody else, and other tables get indexes: what was refused is asked for again.
func TestApplyAsksAgainForAnIndexThatWasRefused(t *testing.T) {
	t.Parallel()
	b := &building{refuses: make(chan string, 20)}
	db := older(t, b)
	for range 10 { // the SDK asks again a few times by itself
		b.refuses <- "LimitExceededException"
	}
	b.refuses <- "ResourceInUseException"
	steps := stepsOf(t, func(report func(Step)) error { return db.ApplyTables(t.Context(), report) })
	assert.Empty(t, b.refuses)
	assert.EqualValues(t, 4, b.added.Load())
	told := 0
	for _, step := range steps {
		if strings.HasPrefix(step, "waiting to add index "+*db.IndexName(EntitiesByScope)) {
			told++
			assert.Contains(t, step, "not now")
		}
	}
	assert.Equal(t, 1, told, "%v", steps)
	require.NoError(t, db.Ready(t.Context()))

	another := older(t, b)
	another.Pause = func(context.Context, int) bool { return false }
	b.refuses <- "ResourceInUseException"
	var refused *types.ResourceInUseException
	assert.ErrorAs(t, another.ApplyTables(t.Context(), func(Step) {}), &refused, "it says what it waited for")
}

// An index that is being deleted is none.
func TestApplyWaitsForAnIndexThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	b := &building{status: "DELETING"}
	db := older(t, b)
	require.NoError(t, db.ApplyTables(t.Context(), func(Step) {}))
	b.looks.Store(3)
	assert.Contains(t, stepsOf(t, func(report func(Step)) error { return db.ApplyTables(t.Context(), report) }), "adding index GSI1")
	assert.Zero(t, b.looks.Load())
}

// Indexes of a table with provisioned capacity need theirs.
func TestAnAddedIndexHasTheCapacityOfItsTable(t *testing.T) {
	t.Parallel()
	for _, provided := range []bool{false, true} {
		const indexes = 4                              // that an older table lacks
		b := &building{bodies: make(chan []byte, 100)} // more than there are: nobody takes them yet
		db := older(t, b, func(in *dynamodb.CreateTableInput) {
			if !provided {
				return
			}
			capacity := &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(7), WriteCapacityUnits: aws.Int64(3)}
			in.BillingMode, in.ProvisionedThroughput = types.BillingModeProvisioned, capacity
			for i := range in.GlobalSecondaryIndexes {
				in.GlobalSecondaryIndexes[i].ProvisionedThroughput = capacity
			}
		})
		require.NoError(t, db.ApplyTables(t.Context(), func(Step) {}))
		require.Len(t, b.bodies, indexes)
		for range indexes {
			body := string(<-b.bodies)
			assert.Equal(t, provided, strings.Contains(body, `"ProvisionedThroughput":{"ReadCapacityUnits":7,"WriteCapacityUnits":3}`), body)
			assert.Equal(t, provided, strings.Contains(body, "ProvisionedThroughput"), body)
		}
	}
}
