package dynamo

import (
	"encoding/json"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// batch are the rows that are wanted of [DB.BatchGet], each once, and what became of the wants.
type batch struct {
	wants  []Want
	errs   []error
	tables []Table // with their full names
	rows   []wantedRow
	at     map[rowID]int // the places of the rows
	next   []int         // the next want of the same row; 0 for none. nil while no row is wanted twice
}

// wantedRow is a row that is wanted by one or more.
type wantedRow struct {
	id          rowID
	first, last int // of its wants
	state       rowState
}

// rowID tells rows of several tables apart.
type rowID struct {
	table int // of the batch
	key   Key
}

type rowState uint8

const (
	asking      rowState = iota
	unprocessed          // DynamoDB left it
	reported
)

func newBatch(wants []Want, prefix string) *batch {
	b := &batch{wants: wants, errs: make([]error, len(wants)), rows: make([]wantedRow, 0, len(wants)), at: make(map[rowID]int, len(wants))}
	for i := range wants {
		w := &wants[i]
		if !w.Key.Possible() {
			b.errs[i] = ErrMissing
			continue
		}
		id := rowID{b.table(w.Table, prefix), w.Key}
		at, twice := b.at[id]
		if !twice {
			b.at[id] = len(b.rows)
			b.rows = append(b.rows, wantedRow{id: id, first: i, last: i})
			continue
		}
		if b.next == nil {
			b.next = make([]int, len(wants))
		}
		row := &b.rows[at]
		b.next[row.last], row.last = i, i
	}
	return b
}

// table returns the place of a table among those of the batch, which are few.
func (b *batch) table(t Table, prefix string) int {
	for i := range b.tables {
		if b.tables[i].Name[len(prefix):] == t.Name {
			return i
		}
	}
	t.Name = prefix + t.Name
	b.tables = append(b.tables, t)
	return len(b.tables) - 1
}

// ask returns a request for the rows that are waited for, whose keys are not spelled: see spell, and narrow, which writes them as they are.
func (b *batch) ask(rows []wantedRow, project Projections) map[string]types.KeysAndAttributes {
	request, many := make(map[string]types.KeysAndAttributes, len(b.tables)), make([]int, len(b.tables))
	for i := range rows {
		if row := &rows[i]; row.state != reported {
			many[row.id.table]++
			row.state = asking
		}
	}
	for i, n := range many {
		if n == 0 {
			continue
		}
		name := b.tables[i].Name
		request[name] = types.KeysAndAttributes{
			Keys: make([]map[string]types.AttributeValue, n), ConsistentRead: aws.Bool(true),
			ProjectionExpression: project[name].Expression, ExpressionAttributeNames: project[name].Names,
		}
	}
	return request
}

// spell puts the keys into a request of ask, in the form of the SDK.
func (b *batch) spell(rows []wantedRow, request map[string]types.KeysAndAttributes) {
	next := make([]int, len(b.tables))
	for i := range rows {
		if id := &rows[i].id; rows[i].state == asking {
			table := &b.tables[id.table]
			request[table.Name].Keys[next[id.table]] = table.Key(id.key)
			next[id.table]++
		}
	}
}

// text is the body of a request of ask: what the SDK would write, without the maps and values that it would write it from.
func (b *batch) text(rows []wantedRow, project Projections) []byte {
	text := make([]byte, 0, 128*len(rows)+1024)
	text = append(text, `{"RequestItems":{`...)
	for of := range b.tables {
		table, first := &b.tables[of], true
		for i := range rows {
			id := &rows[i].id
			if id.table != of || rows[i].state != asking {
				continue
			}
			if first {
				text = appendTable(text, table.Name, project[table.Name])
				first = false
			} else {
				text = append(text, ',')
			}
			text = appendString(append(text, '{'), table.PK)
			text = appendString(append(text, `:{"S":`...), id.key.PK)
			text = appendString(append(text, `},`...), table.SK)
			text = appendString(append(text, `:{"S":`...), id.key.SK)
			text = append(text, `}}`...)
		}
		if !first {
			text = append(text, `]}`...)
		}
	}
	return append(text, `},"ReturnConsumedCapacity":"TOTAL"}`...)
}

// appendTable appends the beginning of what is asked of a table, up to its first key.
func appendTable(text []byte, name string, p Projection) []byte {
	if text[len(text)-1] != '{' {
		text = append(text, ',')
	}
	text = append(appendString(text, name), `:{"ConsistentRead":true,`...)
	if p.Expression != nil {
		text = append(appendString(append(text, `"ProjectionExpression":`...), *p.Expression), `,"ExpressionAttributeNames":{`...)
		for alias, attribute := range p.Names {
			text = append(appendString(text, alias), ':')
			text = append(appendString(text, attribute), ',')
		}
		text[len(text)-1] = '}'
		text = append(text, ',')
	}
	return append(text, `"Keys":[`...)
}

// appendString appends a text as JSON.
func appendString(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, _ := json.Marshal(s) // which every string can be
			return append(to, quoted...)
		}
	}
	return append(append(append(to, '"'), s...), '"')
}

// wanted are the wants of a row.
func (b *batch) wanted(row *wantedRow) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := row.first; yield(i) && i != row.last; i = b.next[i] {
		}
	}
}

// find returns the place of the row of which an item, or key, of the answer is, -1 where nobody waits for it. The rows are some of the batch's. Engines that
// answer in the order of the question are served without a map: the row at next is looked at first.
func (b *batch) find(rows []wantedRow, next int, item found) (int, error) {
	for i, t := range b.tables {
		if t.Name != item.table {
			continue
		}
		pk, sk := item.keyed(t)
		if pk == nil || sk == nil {
			return -1, fmt.Errorf("a row of %s came without its key", t.Name)
		}
		if next < len(rows) {
			if id := &rows[next].id; id.table == i && id.key.SK == string(sk) && id.key.PK == string(pk) && rows[next].state != reported {
				return next, nil
			}
		}
		at, there := b.at[rowID{i, Key{string(pk), string(sk)}}]
		if at -= b.at[rows[0].id]; there && 0 <= at && at < len(rows) && rows[at].state != reported {
			return at, nil
		}
	}
	return -1, nil
}

// report tells those who want a row what became of it.
func (b *batch) report(row *wantedRow, item Item, err error) {
	row.state = reported
	for i := range b.wanted(row) {
		if b.errs[i] = err; err == nil {
			b.errs[i] = b.wants[i].Read(item)
		}
	}
}

func (b *batch) reportAll(rows []wantedRow, err error) {
	for i := range rows {
		if rows[i].state != reported {
			b.report(&rows[i], Item{}, err)
		}
	}
}

// waiting is how many of the rows are waited for.
func waiting(rows []wantedRow) (n int) {
	for i := range rows {
		if rows[i].state != reported {
			n++
		}
	}
	return n
}
