package processes

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/config"
)

// The embedded engine knows no time to live: serve removes what has expired while it was away, and leaves the rest.
func TestServeRemovesExpiredRowsOfTheEmbeddedEngine(t *testing.T) {
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	cfg, err := config.Load(env)
	require.NoError(t, err)
	// client reaches the engine that is in the directory; beside a server it is the server's.
	client := func(beside bool) (*dynamodb.Client, *app.Stores) {
		use := app.StoresFor{Beside: beside, Log: slog.New(slog.DiscardHandler)}
		s, err := app.OpenStores(t.Context(), cfg, use)
		require.NoError(t, err)
		c, err := awsclient.DynamoDB(t.Context(), app.EmbeddedClient(s.Engines.DynamoDB))
		require.NoError(t, err)
		return c, s
	}
	notes := aws.String(cfg.TablePrefix + "notes")

	db, s := client(false)
	require.NoError(t, s.Apply(t.Context(), func(string, string, bool) {}))
	const rows = 1_200 // more than one page of the sweep
	for i := range rows {
		item := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "row " + strconv.Itoa(i)}, "SK": &types.AttributeValueMemberS{Value: "row"}}
		if i%3 < 2 {
			at := time.Now().Add(time.Hour)
			if i%3 == 1 {
				at = time.Now().Add(-time.Minute)
			}
			item["expires_at"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(at.Unix(), 10)}
		}
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: notes, Item: item})
		require.NoError(t, err)
	}
	s.Close()

	_, stop := start(t, env, apitest.FreePort(t))
	defer stop()
	db, s = client(true)
	defer s.Close()
	left := func() (kept, expired int) {
		pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: notes})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			require.NoError(t, err)
			for _, item := range page.Items {
				text, is := item["PK"].(*types.AttributeValueMemberS)
				var n int
				if !is || len(text.Value) < 4 || text.Value[:4] != "row " {
					continue
				}
				n, err = strconv.Atoi(text.Value[4:])
				require.NoError(t, err)
				if n%3 == 1 {
					expired++
				} else {
					kept++
				}
			}
		}
		return kept, expired
	}
	require.Eventually(t, func() bool { _, expired := left(); return expired == 0 }, 30*time.Second, 50*time.Millisecond)
	kept, _ := left()
	assert.Equal(t, rows*2/3, kept)
}
