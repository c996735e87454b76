package apitest

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/blob"
)

// Mentions walks over all rows of all tables, all objects in S3, those in archives included, and all keys of Redis, and returns where it finds one of the texts, one
// line each. A text is found as it is, within other text that is encoded in Base64, and, if it is a UUID, in each form in which keys have UUIDs.
func (s *Server) Mentions(texts ...string) (found []string) {
	s.T.Helper()
	var sought [][]byte
	for _, text := range texts {
		sought = append(sought, forms(text)...)
	}
	look := func(where string, content []byte) {
		if slices.ContainsFunc(sought, func(form []byte) bool { return bytes.Contains(content, form) || bytes.Contains([]byte(where), form) }) {
			found = append(found, fmt.Sprintf("%s: %.2000s", where, content))
		}
	}
	for _, table := range []dynamo.Table{dynamo.NotesTable, dynamo.EntitiesMaster, dynamo.RelationshipEntries, dynamo.IndexEntries, dynamo.ScoresTable, dynamo.TagsTable} {
		for key, row := range dynamotest.RowsOf(s.T, s.DB, table) {
			look(table.Name+" "+key.PK+" "+key.SK, dynamo.RowJSON(row))
		}
	}
	require.NoError(s.T, s.Bucket.Walk(s.T.Context(), func(page []blob.Listed) error {
		for _, o := range page {
			s.lookAt(o.Key, look)
		}
		return nil
	}))
	client := s.App.Stores.Redis
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		some, next, err := client.Scan(s.T.Context(), cursor, "*", 1_000).Result()
		require.NoError(s.T, err)
		for _, key := range some {
			look("redis "+key, []byte(ContentOf(s.T, client, key)))
		}
		cursor = next
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// lookAt shows an object, and of an archive the files in it.
func (s *Server) lookAt(key string, look func(where string, content []byte)) {
	s.T.Helper()
	body, err := s.Bucket.Open(s.T.Context(), key, 0)
	require.NoError(s.T, err)
	content, err := io.ReadAll(body)
	require.NoError(s.T, err)
	require.NoError(s.T, body.Close())
	look("s3 "+key, content)
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return // it is none
	}
	for _, f := range archive.File {
		r, err := f.Open()
		require.NoError(s.T, err)
		part, err := io.ReadAll(r)
		require.NoError(s.T, err)
		require.NoError(s.T, r.Close())
		look("s3 "+key+" "+f.Name, part)
	}
}

// ContentOf returns what is kept under a key of Redis, as text; "" where it is gone.
func ContentOf(t testing.TB, client redis.UniversalClient, key string) string {
	t.Helper()
	ctx := t.Context()
	kind, err := client.Type(ctx, key).Result()
	require.NoError(t, err)
	var content any
	switch kind {
	case "string":
		content, err = client.Get(ctx, key).Result()
	case "list":
		content, err = client.LRange(ctx, key, 0, -1).Result()
	case "set":
		content, err = client.SMembers(ctx, key).Result()
	case "zset":
		content, err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
	case "hash":
		content, err = client.HGetAll(ctx, key).Result()
	case "stream":
		content, err = client.XRange(ctx, key, "-", "+").Result()
	}
	if err != nil {
		require.ErrorIs(t, err, redis.Nil, key)
		return ""
	}
	return fmt.Sprint(content)
}

// forms are the spellings in which a text may be somewhere.
func forms(text string) [][]byte {
	plain := [][]byte{[]byte(text)}
	if id, err := uuid.Parse(text); err == nil {
		plain = append(plain, id[:], []byte(hex.EncodeToString(id[:])), []byte(keys.EncodeUUID(text)))
		if swapped, err := base64.StdEncoding.DecodeString(keys.EncodeUUID(text)); err == nil {
			plain = append(plain, swapped)
		}
	}
	all := slices.Clone(plain)
	for _, p := range plain {
		for before := range 3 { // bytes before it within the Base64
			padded := append(make([]byte, before), p...)
			whole := base64.RawStdEncoding.EncodeToString(padded[:len(padded)/3*3])
			inner := whole[(before*8+5)/6:]
			all = append(all, []byte(inner), []byte(strings.NewReplacer("+", "-", "/", "_").Replace(inner)))
		}
	}
	return slices.DeleteFunc(all, func(form []byte) bool { return len(form) < 6 }) // anything may have so little
}
