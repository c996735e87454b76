package dynamo

import (
	"context"
	"fmt"
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

// backups answers for the backups of tables, which the engine does not have: as DynamoDB does for a new table, they are
// unavailable at first.
type backups struct {
	http.RoundTripper
	unavailable int64
	asked       atomic.Int64
	on          atomic.Bool
}

func (b *backups) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	status, body := http.StatusOK, `{}`
	switch operation {
	case "DescribeContinuousBackups":
		state := "DISABLED"
		if b.on.Load() {
			state = "ENABLED"
		}
		body = fmt.Sprintf(`{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":%q}}}`, state)
	case "UpdateContinuousBackups":
		if b.asked.Add(1) <= b.unavailable {
			status, body = http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#ContinuousBackupsUnavailableException","message":"Backups are being enabled for the table"}`
			break
		}
		b.on.Store(true)
	default:
		return b.RoundTripper.RoundTrip(r)
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Request: r, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func stepsOf(t *testing.T, do func(func(Step)) error) []string {
	t.Helper()
	var texts []string
	require.NoError(t, do(func(s Step) {
		text := s.Text
		if !s.OK {
			text = "PROBLEM " + text
		}
		texts = append(texts, text)
	}))
	return texts
}

func TestApplyWaitsForTheBackupsOfANewTable(t *testing.T) {
	t.Parallel()
	b := &backups{unavailable: 3}
	db, _ := openDBOn(t, nil, func(engine http.RoundTripper) http.RoundTripper {
		b.RoundTripper = engine
		return b
	})
	assert.EqualValues(t, 4, b.asked.Load(), "the first run has made the table and waited")
	assert.True(t, b.on.Load())
	apply := func(report func(Step)) error { return db.ApplyTables(t.Context(), report) }
	assert.Contains(t, stepsOf(t, apply), "point-in-time recovery is on")

	b.asked.Store(0)
	b.on.Store(false)
	again := stepsOf(t, apply)
	at := slices.Index(again, "waiting for backups")
	require.GreaterOrEqual(t, at, 0)
	assert.Equal(t, "point-in-time recovery switched on", again[at+1])
	assert.NotContains(t, again[at+1:], "waiting for backups", "it says so once")

	b.asked.Store(-1 << 40)
	b.on.Store(false)
	db.Pause = func(_ context.Context, idle int) bool { return idle < 3 } // the deadline comes during the third pause
	err := db.ApplyTables(t.Context(), func(Step) {})
	var unavailable *types.ContinuousBackupsUnavailableException
	assert.ErrorAs(t, err, &unavailable, "until the deadline")
}

// wrongly makes a table that differs from what it should be.
func wrongly(t *testing.T, change func(*dynamodb.CreateTableInput)) *DB {
	t.Helper()
	db, _ := openDB(t, nil)
	db.prefix += "wrong-"
	spec := db.Tables()[0]
	change(&spec)
	_, err := db.Client.CreateTable(t.Context(), &spec)
	require.NoError(t, err)
	return db
}

func TestWhatDiffersIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*dynamodb.CreateTableInput)
		want   string
	}{
		"projection of an index": {func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[1].Projection = &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
		}, "index GSI2 is (HASH GSI2PK S, RANGE GSI2SK S, projection KEYS_ONLY), want (HASH GSI2PK S, RANGE GSI2SK S, projection INCLUDE of _format note_id owner_id permission shared_at user_id)"},
		"attributes of a projection": {func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[1].Projection.NonKeyAttributes = []string{"user_id", "note_id", "owner_id", "permission"}
		}, "index GSI2 is (HASH GSI2PK S, RANGE GSI2SK S, projection INCLUDE of note_id owner_id permission user_id), want"},
		"kind of a key": {func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].KeySchema = []types.KeySchemaElement{
				{AttributeName: aws.String("GSI1SK"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("GSI1PK"), KeyType: types.KeyTypeRange},
			}
		}, "index GSI1 is (HASH GSI1SK S, RANGE GSI1PK S, projection ALL), want"},
		"type of an attribute": {func(in *dynamodb.CreateTableInput) {
			for i, a := range in.AttributeDefinitions {
				if *a.AttributeName == "LSI1SK" {
					in.AttributeDefinitions[i].AttributeType = types.ScalarAttributeTypeN
				}
			}
		}, "index LSI1 is (HASH PK S, RANGE LSI1SK N, projection KEYS_ONLY), want"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := wrongly(t, test.change)
			err := db.Ready(t.Context())
			require.ErrorContains(t, err, test.want, "a server does not start with it")
			assert.ErrorContains(t, err, "wrong-notes")
			for _, do := range []func(func(Step)) error{
				func(report func(Step)) error { return db.CheckTables(t.Context(), report) },
				func(report func(Step)) error { return db.ApplyTables(t.Context(), report) },
			} {
				problems := strings.Join(stepsOf(t, do), "\n")
				assert.Contains(t, problems, "PROBLEM "+test.want)
			}
		})
	}
}

func TestTheOrderOfWhatAnEngineTellsDoesNotMatter(t *testing.T) {
	t.Parallel()
	db, _ := openDB(t, nil)
	require.NoError(t, db.Ready(t.Context()))
	want := db.Tables()[0]
	have, err := db.describe(t.Context(), want.TableName)
	require.NoError(t, err)
	for i := range want.GlobalSecondaryIndexes {
		names := want.GlobalSecondaryIndexes[i].Projection.NonKeyAttributes
		for a, b := 0, len(names)-1; a < b; a, b = a+1, b-1 {
			names[a], names[b] = names[b], names[a]
		}
		schema := want.GlobalSecondaryIndexes[i].KeySchema
		schema[0], schema[1] = schema[1], schema[0]
	}
	wrong, dated := db.differences(&want, have)
	assert.Empty(t, wrong)
	assert.Empty(t, dated)
}

// Indexes that were made without the formats of rows will do until there is a second format.
func TestIndexesWithoutFormatsAreToldOf(t *testing.T) {
	t.Parallel()
	db := wrongly(t, func(in *dynamodb.CreateTableInput) {
		included := in.GlobalSecondaryIndexes[1].Projection
		included.NonKeyAttributes = slices.DeleteFunc(included.NonKeyAttributes, func(name string) bool { return name == FormatAttribute })
	})
	require.ErrorContains(t, db.Ready(t.Context()), "entities_master does not exist", "nothing is wrong with the first table")
	told := func() string {
		return strings.Join(stepsOf(t, func(report func(Step)) error { return db.CheckTables(t.Context(), report) }), "\n")
	}
	assert.Contains(t, told(), "index GSI2 lacks _format, which later versions of Taggie need")
	assert.NotContains(t, told(), "PROBLEM index")
	db.newest = FirstFormat + 1
	require.ErrorContains(t, db.Ready(t.Context()), "index GSI2 is (HASH GSI2PK S, RANGE GSI2SK S, projection INCLUDE of note_id")
	assert.Contains(t, told(), "PROBLEM index GSI2")
}

// Clients name attributes of entities as they like: an expires_at of theirs must not make DynamoDB remove rows.
func TestOnlyNotesExpire(t *testing.T) {
	t.Parallel()
	db, _ := openDB(t, nil)
	for _, name := range db.TableNames() {
		out, err := db.Client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		require.NoError(t, err)
		on := out.TimeToLiveDescription != nil && out.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled
		assert.Equal(t, strings.HasSuffix(name, NotesTable.Name), on, name)
	}
	for _, do := range []func(func(Step)) error{
		func(report func(Step)) error { return db.CheckTables(t.Context(), report) },
		func(report func(Step)) error { return db.ApplyTables(t.Context(), report) },
	} {
		require.NoError(t, do(func(s Step) {
			assert.True(t, s.OK, s.Text)
			assert.True(t, s.Table == *db.Table(NotesTable) || !strings.Contains(s.Text, "time to live"), "%s: %s", s.Table, s.Text)
		}))
	}
}
