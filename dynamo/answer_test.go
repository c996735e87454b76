package dynamo

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A buffer that was given back is never seen through the answer that had it.
func TestReleasedBuffersAreNotShared(t *testing.T) {
	for range 100 { // a pool may drop what it is given
		a := &answer{scanned: &scanner{text: make([]byte, 8, 64)}}
		a.release()
		a.scanned = &scanner{text: []byte("of the next attempt")}
		got := scanners.Get().(*scanner)
		assert.NotEqual(t, "of the next attempt", string(got.text))
	}
}

// answered is a DB of which each call is answered with a text.
func answered(text func() string) *DB {
	return New(Options{Client: dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String("http://engine"), Credentials: aws.AnonymousCredentials{}, RetryMaxAttempts: 1,
		HTTPClient: engineFunc(func(r *http.Request) (*http.Response, error) { return respond(r, http.StatusOK, text()), nil }),
	})})
}

func textOf(item Item) (text string, err error) {
	err = Attributes(item, func(name []byte, v Value) (err error) {
		if string(name) == "text" {
			text, err = v.Str()
		}
		return err
	})
	return text, err
}

const twoRows = `{"ConsumedCapacity":{"TableName":"notes","CapacityUnits":1.5e0,"Table":{"CapacityUnits":1}},"Items":[{"text":{"S":"a"}},
	{"SK":{"S":"2"},"text":{"S":"b"}}], "Count":2,"Unheard":[{"of":[null,true,-0.5E+3]}],"LastEvaluatedKey":{"PK":{"S":"p"},"SK":{"S":"2"},"n":{"N":"7"}}}`

func TestAnswersAreReadOnce(t *testing.T) {
	t.Parallel()
	text := twoRows
	db := answered(func() string { return text })
	query := func() (texts []string, next Attrs, err error) {
		next, err = db.Query(t.Context(), Span{Table: NotesTable, PK: "p", Single: true}, func(item Item) (bool, error) {
			text, err := textOf(item)
			texts = append(texts, text)
			return true, err
		})
		return texts, next, err
	}
	texts, next, err := query()
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, texts)
	assert.Equal(t, Attrs{"PK": Str("p"), "SK": Str("2"), "n": Number(7)}, next)

	text = " \n{\t\"LastEvaluatedKey\" : null , \"Items\" : null, \"ConsumedCapacity\":null } \r\n"
	texts, next, err = query()
	require.NoError(t, err)
	assert.Empty(t, texts)
	assert.Nil(t, next)

	for cut := range twoRows { // nothing is decoded of what is not whole
		text = twoRows[:cut]
		texts, _, err = query()
		require.Error(t, err, text)
		require.Empty(t, texts, text)
	}
	for _, text = range []string{
		twoRows + "x", twoRows + twoRows, twoRows + ",", "null", "[]", `{"Items":{}}`, `{"Items":[[]]}`, `{"Items":[null]}`, `{"Items":[{}],}`, `{"Items":[{},]}`,
		`{"Items":[{"text":{"S":"a"}} {"text":{"S":"b"}}]}`, `{"LastEvaluatedKey":[]}`, `{"ConsumedCapacity":{"CapacityUnits":"1"}}`, `{"ConsumedCapacity":[{"TableName":1}]}`,
		`{"Count":01}`, `{"Count":1.}`, `{"Count":+1}`, `{"Count":1e}`, `{"Count":-}`, `{"Count":NaN}`, `{"Count":tru}`, `{"Count" 1}`, `{Count:1}`, `{'Count':1}`,
	} {
		texts, _, err = query()
		require.Error(t, err, text)
		require.Empty(t, texts, text)
	}
}

// Rows of a batch come in any order, and with others between them.
func TestRowsOfABatchAreFoundByTheirKeys(t *testing.T) {
	t.Parallel()
	row := func(id string) string {
		return `{"text":{"S":"` + id + `"},"SK":{"S":"` + id + `"},"x":{"L":[]},"PK":{"S":"p"}}`
	}
	for name, rows := range map[string]string{
		"in order": row("1") + "," + row("2") + "," + row("3"), "backwards": row("3") + "," + row("2") + "," + row("1"),
		"with strangers and twice": row("9") + "," + row("2") + "," + row("2") + "," + row("3") + `,{"PK":{"S":"q"},"SK":{"S":"1"}},` + row("\\u0031"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			texts := make([]string, 5)
			var wants []Want
			for i, id := range []string{"1", "2", "3", "2", "4"} {
				wants = append(wants, Want{NotesTable, Key{"p", id}, func(item Item) (err error) { texts[i], err = textOf(item); return err }})
			}
			db := answered(func() string {
				return `{"Responses":{"notes":[` + rows + `],"others":[` + row("4") + `]},"UnprocessedKeys":{}}`
			})
			assert.Equal(t, []error{nil, nil, nil, nil, ErrMissing}, db.BatchGet(t.Context(), wants))
			assert.Equal(t, []string{"1", "2", "3", "2", ""}, texts)
		})
	}
}

func TestARowWithoutItsKeyIsNotTakenForMissing(t *testing.T) {
	t.Parallel()
	for _, item := range []string{`{"PK":{"S":"p"}}`, `{"PK":{"S":"p"},"SK":{"N":"1"}}`, `{}`} {
		db := answered(func() string { return `{"Responses":{"notes":[` + item + `]}}` })
		err := db.BatchGet(t.Context(), []Want{{NotesTable, Key{"p", "1"}, func(Item) error { return nil }}})[0]
		require.Error(t, err)
		assert.NotEqual(t, ErrMissing, err)
	}
}

func TestUnprocessedKeysAreAskedForAgain(t *testing.T) {
	t.Parallel()
	answers := []string{
		`{"Responses":{"notes":[{"PK":{"S":"p"},"SK":{"S":"2"},"text":{"S":"b"}}]},"UnprocessedKeys":{"notes":{"ConsistentRead":true,"Keys":[{"SK":{"S":"3"},"PK":{"S":"p"}}]}}}`,
		`{"Responses":{"notes":[{"PK":{"S":"p"},"SK":{"S":"3"},"text":{"S":"c"}}]}}`,
	}
	db := answered(func() string {
		text := answers[0]
		answers = answers[1:]
		return text
	})
	db.Pause = func(context.Context, int) bool { return true }
	var texts [3]string
	var wants []Want
	for i, id := range []string{"1", "2", "3"} {
		wants = append(wants, Want{NotesTable, Key{"p", id}, func(item Item) (err error) { texts[i], err = textOf(item); return err }})
	}
	assert.Equal(t, []error{ErrMissing, nil, nil}, db.BatchGet(t.Context(), wants))
	assert.Equal(t, [3]string{"", "b", "c"}, texts)
	assert.Empty(t, answers)
}
