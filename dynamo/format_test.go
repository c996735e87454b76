package dynamo

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
)

// formatted puts a row with a format, nil for none, and returns a function that returns the row as it is stored.
func formatted(t *testing.T, db *DB, key Key, format types.AttributeValue) (stored func() Attrs) {
	t.Helper()
	row := NotesTable.Key(key)
	row["GSI2PK"], row["GSI2SK"], row["LSI1SK"], row["GSI1PK"], row["GSI1SK"] = Str("two"), Str(key.SK), Str(key.SK), Str("one"), Str(key.SK)
	row["note_id"], row["n"], row[ttlAttribute] = Str("id"), Number(7), Number(1)
	if format != nil {
		row[FormatAttribute] = format
	}
	_, err := db.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: db.Table(NotesTable), Item: row})
	require.NoError(t, err)
	return func() Attrs {
		out, err := db.Client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: db.Table(NotesTable), Key: NotesTable.Key(key), ConsistentRead: aws.Bool(true)})
		require.NoError(t, err)
		return out.Item
	}
}

// readers are all the ways to read a row of the notes table. Each returns how many rows it read.
func readers(db *DB, key Key) map[string]func(t *testing.T) (int, error) {
	n := 0
	decode := func(Item) error { n++; return nil }
	each := func(Item) (bool, error) { n++; return true, nil }
	light := db.Projecting(Projections{*db.Table(NotesTable): ProjectionOf("PK", "SK", "n"), *db.IndexName(GSI1): ProjectionOf("n")})
	get := func(errs []error) error {
		if errors.Is(errs[0], ErrMissing) {
			return nil
		}
		return errs[0]
	}
	all := map[string]func(t *testing.T) error{
		"Get": func(t *testing.T) error { _, err := db.Get(t.Context(), NotesTable, key, decode); return err },
		"Get, serializable": func(t *testing.T) error {
			_, err := db.Get(idempotency.Serializable(t.Context()), NotesTable, key, decode)
			return err
		},
		"BatchGet":        func(t *testing.T) error { return get(db.BatchGet(t.Context(), []Want{{NotesTable, key, decode}})) },
		"BatchGet, light": func(t *testing.T) error { return get(light.BatchGet(t.Context(), []Want{{NotesTable, key, decode}})) },
		"BatchGet, at once": func(t *testing.T) error {
			return get(db.BatchGet(idempotency.Serializable(t.Context()), []Want{{NotesTable, key, decode}}))
		},
		"TransactGet": func(t *testing.T) error { return get(db.TransactGet(t.Context(), []Want{{NotesTable, key, decode}})) },
		"TransactGet, light": func(t *testing.T) error {
			return get(light.TransactGet(t.Context(), []Want{{NotesTable, key, decode}}))
		},
		"Query": func(t *testing.T) error {
			_, err := db.Query(t.Context(), Span{Table: NotesTable, PK: key.PK}, each)
			return err
		},
		"Query of keys": func(t *testing.T) error {
			_, err := db.Query(t.Context(), Span{Table: NotesTable, PK: key.PK, Keys: true}, each)
			return err
		},
		"Query, light": func(t *testing.T) error {
			_, err := light.Query(t.Context(), Span{Table: NotesTable, PK: key.PK}, each)
			return err
		},
		"Query of an index, light": func(t *testing.T) error {
			_, err := light.Query(t.Context(), Span{Table: NotesTable, Index: GSI1, PK: "one"}, each)
			return err
		},
		"Query of an index that has some attributes": func(t *testing.T) error {
			_, err := db.Query(t.Context(), Span{Table: NotesTable, Index: GSI2, PK: "two"}, each)
			return err
		},
		"Listing": func(t *testing.T) error {
			_, err := Listing[int]{Span: Span{Table: NotesTable, PK: key.PK}, Decode: func(item Item, _ *int) error { return decode(item) }, Position: func(int) string { return "" }}.
				Read(t.Context(), db, page.Window{Limit: 10})
			return err
		},
		"ScanAll": func(t *testing.T) error { return db.ScanAll(t.Context(), NotesTable, []string{"PK"}, decode) },
		"Exist": func(t *testing.T) error {
			there, err := db.Exist(t.Context(), []Need{{Table: NotesTable, Key: key, Holds: func(Item) bool { n++; return true }}})
			assert.True(t, there[0], "a row of a later format is there")
			return err
		},
	}
	counted := map[string]func(*testing.T) (int, error){}
	for name, read := range all {
		counted[name] = func(t *testing.T) (int, error) {
			n = 0
			err := read(t)
			return n, err
		}
	}
	return counted
}

// writers are all the ways to write over a row or delete it.
func writers(db *DB, key Key) map[string]func(t *testing.T) error {
	transact := func(actions ...Action) func(t *testing.T) error {
		return func(t *testing.T) error { return db.Transact(t.Context(), actions, idempotency.Key{}) }
	}
	failed := func(Attrs) error { return errors.New("the condition failed") }
	one := Attrs{":one": Number(1)}
	row := func() Attrs { row := NotesTable.Key(key); row["n"] = Number(1); return row }
	return map[string]func(t *testing.T) error{
		"put":                      transact(Action{Table: NotesTable, Item: row()}),
		"put on a condition":       transact(Action{Table: NotesTable, Item: row(), Condition: "n < :one OR n > :one", Values: one, Failed: failed}),
		"put of what is new":       transact(Action{Table: NotesTable, Item: row(), Condition: "attribute_not_exists(PK)", Failed: failed}),
		"update":                   transact(Action{Table: NotesTable, Key: key, Update: "SET n = :one", Values: one}),
		"count":                    transact(Action{Table: NotesTable, Key: key, Update: "ADD n :one", Values: one}),
		"signed update":            transact(Action{Table: NotesTable, Key: key, Update: "SET n = :one", Signed: true, Names: map[string]string{}, Values: Attrs{":one": Number(1)}}),
		"delete":                   transact(Action{Table: NotesTable, Key: key, Remove: true}),
		"update of a version":      transact(Action{Table: NotesTable, Key: key, Update: "SET n = :one", Values: one, Failed: failed}.IfVersion(FirstVersion, "version")),
		"update of what else is":   transact(Action{Table: NotesTable, Key: Key{"other", "row"}, Update: "SET n = :one", Values: one}, Action{Table: NotesTable, Key: key, Condition: "n = :seven", Values: Attrs{":seven": Number(7)}, Failed: failed}),
		"after a failed condition": transact(Action{Table: NotesTable, Key: Key{"other", "row"}, Condition: "attribute_exists(n)", Failed: failed}, Action{Table: NotesTable, Key: key, Remove: true}),
	}
}

// What a newer server wrote, an older one neither reads nor changes.
func TestRowsOfLaterFormatsAreRefused(t *testing.T) {
	t.Parallel()
	db, _ := openDB(t, nil)
	key := Key{"p", "s"}
	for name, format := range map[string]types.AttributeValue{"the next": Number(NewestFormat + 1), "a later one": Number(70_000), "a text": Str("2"), "a fraction": &types.AttributeValueMemberN{Value: "1.5"}} {
		stored := formatted(t, db, key, format)
		before := stored()
		outdated := func(err error, how string) {
			t.Helper()
			require.True(t, fault.Is(err, fault.Outdated), "%s, %s: %v", name, how, err)
			known, _ := errors.AsType[*fault.Error](err)
			assert.Equal(t, MessageNewer, known.Message)
			assert.Contains(t, err.Error(), "of notes has format")
		}
		for how, read := range readers(db, key) {
			n, err := read(t)
			assert.Zero(t, n, "%s, %s", name, how)
			if how != "Exist" {
				outdated(err, how)
			}
		}
		for how, write := range writers(db, key) {
			outdated(write(t), how)
			require.Equal(t, before, stored(), "%s, %s", name, how)
		}
		require.NoError(t, db.sweepExpired(t.Context(), 5, 0))
		require.Equal(t, before, stored(), "%s: it is not swept", name)
		found, err := db.Get(t.Context(), NotesTable, Key{"other", "row"}, func(Item) error { return nil })
		require.NoError(t, err)
		require.False(t, found, "%s: nothing else was changed", name)
	}
}

// A server reads and changes the formats that it knows, and rows that say none.
func TestRowsOfKnownFormatsAreRead(t *testing.T) {
	t.Parallel()
	db, _ := openDB(t, nil)
	db.newest = 3
	key := Key{"p", "s"}
	for _, format := range []types.AttributeValue{nil, Number(1), Number(2), Number(3)} {
		formatted(t, db, key, format)
		for how, read := range readers(db, key) {
			n, err := read(t)
			require.NoError(t, err, how)
			assert.Equal(t, 1, n, how)
		}
		for how, write := range writers(db, key) {
			stored := formatted(t, db, key, format)
			before := stored()
			switch err := write(t); how {
			case "put of what is new", "after a failed condition":
				require.EqualError(t, err, "the condition failed", how)
			default:
				require.NoError(t, err, how)
				if how != "update of what else is" {
					assert.NotEqual(t, before, stored(), how)
				}
			}
			require.NoError(t, db.BatchDelete(t.Context(), []RowID{{NotesTable, Key{"other", "row"}}}))
		}
		stored := formatted(t, db, key, format)
		require.NoError(t, db.SweepExpired(t.Context()))
		assert.Nil(t, stored())
	}
}

// A row that cannot be read is its own error in a batch, and that of the page in a list.
func TestOneRowOfALaterFormatAmongOthers(t *testing.T) {
	t.Parallel()
	db, _ := openDB(t, nil)
	var wants []Want
	for i := range 3 {
		var format types.AttributeValue
		if i == 1 {
			format = Number(2)
		}
		formatted(t, db, Key{"p", fmt.Sprint(i)}, format)
		wants = append(wants, Want{NotesTable, Key{"p", fmt.Sprint(i)}, func(Item) error { return nil }})
	}
	errs := db.BatchGet(t.Context(), wants)
	require.NoError(t, errs[0])
	assert.True(t, fault.Is(errs[1], fault.Outdated))
	require.NoError(t, errs[2])
	rows := 0
	_, err := db.Query(t.Context(), Span{Table: NotesTable, PK: "p", High: "0"}, func(Item) (bool, error) { rows++; return true, nil })
	require.NoError(t, err)
	assert.Equal(t, 1, rows, "what is not on its page is read")
}

// record is a row whose format tells in which unit its time is.
type record struct {
	format, seconds int
}

// A layout that says so writes its format, and reads that of a row.
func TestALayoutHasAFormat(t *testing.T) {
	t.Parallel()
	layout := func(writes int) *Layout[record] {
		return LayoutOf(InFormat(writes, func(r *record) *int { return &r.format }), OfWhole("seconds", func(r *record) *int { return &r.seconds }))
	}
	first := layout(FirstFormat).Row(&record{seconds: 5})
	assert.Equal(t, Attrs{"seconds": Number(5)}, first, "a row of the first format is as small as before")
	second := layout(2).Row(&record{seconds: 5})
	assert.Equal(t, Attrs{"seconds": Number(5), FormatAttribute: Number(2)}, second)
	for _, row := range []Attrs{first, second} {
		var r record
		require.NoError(t, layout(2).Decode(ItemOf(row), &r))
		assert.Equal(t, 5, r.seconds)
		assert.Equal(t, max(FirstFormat, r.format), ItemOf(row).format())
		assert.Equal(t, formatOfRow(row), ItemOf(row).format())
	}
	assert.Contains(t, layout(FirstFormat).Light(), FormatAttribute)
}

// The replayed answer of a mutation comes before what has become of its rows since.
func TestAReplayComesBeforeALaterFormat(t *testing.T) {
	t.Parallel()
	db, _ := openDB(t, nil)
	key := Key{"p", "s"}
	once := idempotency.Key{Viewer: "ada", Key: "k", Hash: []byte("hash"), Result: []string{"r"}, ExpiresAt: db.Now().Add(time.Hour)}
	put := func() error {
		row := NotesTable.Key(key)
		row["n"] = Number(1)
		return db.Transact(t.Context(), []Action{{Table: NotesTable, Item: row}}, once)
	}
	require.NoError(t, put())
	formatted(t, db, key, Number(2))
	replayed, is := errors.AsType[*idempotency.Replayed](put())
	require.True(t, is)
	assert.Equal(t, []string{"r"}, replayed.Result)
}
