package dynamo

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

func TestExpiredRowsAreSwept(t *testing.T) {
	t.Parallel()
	now := time.Now()
	db, inj := openDB(t, func() time.Time { return now })
	at := func(d time.Duration) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(d).Unix(), 10)}
	}
	put := func(pk string, expires types.AttributeValue) {
		item := map[string]types.AttributeValue{"PK": Str(pk), "SK": Str("row")}
		if expires != nil {
			item[ttlAttribute] = expires
		}
		_, err := db.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: db.Table(NotesTable), Item: item})
		require.NoError(t, err)
	}
	for i := range 12 {
		put(fmt.Sprint("expired ", i), at(-time.Duration(i)*time.Hour))
	}
	put("later", at(time.Hour))
	put("never", nil)
	put("text", Str("1")) // DynamoDB looks at numbers only
	put("renewed", at(-time.Hour))
	// Between the look at it and its removal, somebody renews a row.
	gate := inj.Hold(faultinject.Nth(1), faultinject.Operation("DeleteItem"), func(c *faultinject.Call) bool { return strings.Contains(string(c.Body), `"renewed"`) })
	swept := make(chan error, 1)
	go func() { swept <- db.sweepExpired(t.Context(), 5, time.Millisecond) }()
	require.NoError(t, gate.Wait(t.Context(), 1))
	put("renewed", at(time.Hour))
	gate.Open()
	require.NoError(t, <-swept)

	out, err := db.Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: db.Table(NotesTable)})
	require.NoError(t, err)
	var left []string
	for _, item := range out.Items {
		left = append(left, item["PK"].(*types.AttributeValueMemberS).Value)
	}
	assert.ElementsMatch(t, []string{"later", "never", "text", "renewed"}, left)
}
