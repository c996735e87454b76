package dynamo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// RowKind is a kind of rows that [Checking] knows, and what each of them needs.
type RowKind struct {
	Name  string // such as "a note"
	Table Table
	Is    func(Key) bool
	// Needs returns what the row needs. Its error says why the row cannot be read. It must not keep item.
	Needs func(key Key, item Item) ([]Need, error)
	Mend  Mend // what mends a row that lacks something of which no [Need] says it
}

// Mend is what an operator does about a finding: a command, or a step. It goes on behind "to mend it, ".
type Mend string

// What mends most findings. Where to read more: "Check the data" in docs/operating.md.
const (
	// Restore mends what its owner cannot make again.
	Restore Mend = "restore a backup that passes (`taggie restore`, or point-in-time recovery on AWS)"
	// Remake mends what its owner can make again.
	Remake Mend = Restore + ", or let the owner delete it and make it again"
	// Return mends what lacks an object.
	Return Mend = "bring back the version of the object in the bucket, or " + Remake
	// Upgrade mends what a newer version wrote.
	Upgrade Mend = "use the version of Taggie that wrote it"
	// Rewrite mends what cannot be read.
	Rewrite Mend = "let the program that wrote it write it again, or " + Restore
	// Remove mends an object to which no row points.
	Remove Mend = "run the check again, and delete the object if it is still there (`aws s3 rm`, or its file if the S3 is embedded)"
	// Repeat mends findings that are not listed.
	Repeat Mend = "mend those above and run the check again"
)

// Need is what a row needs: another row, or an object.
type Need struct {
	What  string // such as "its locator"
	Table Table
	Key   Key             // the zero Key for what the row itself has to have, and lacks
	Or    Key             // another row of the table that will do as well; the zero Key for none
	Void  RowID           // the row that says that this is not needed any more; the zero RowID for none
	Holds func(Item) bool // whether the row is as it has to be; nil when any is
	// Object is the key of an object of Size bytes that is needed instead of a row; 0 for an object of any size.
	Object string
	Size   int64
	Mend   Mend // what mends a row that lacks it; "" for what its kind says
}

// Misfit is a row that lacks what it needs.
type Misfit struct {
	Table string // without the prefix
	Key   Key
	Kind  string
	Lacks []string // what it needs and lacks; empty for a row that cannot be read
	Err   error    // why it cannot be read
	Mends []Mend   // what mends what it lacks, each once
}

// ToMend returns what mends the row: what all it lacks needs, or that it can be read.
func (m Misfit) ToMend() []Mend {
	switch {
	case fault.Is(m.Err, fault.Outdated):
		return []Mend{Upgrade}
	case m.Err != nil:
		return []Mend{Rewrite}
	}
	return m.Mends
}

// Checking walks all rows of all tables, and looks whether each has what it needs.
type Checking struct {
	DB    *DB
	Kinds []RowKind // a row is of one at most
	// Size returns how many bytes an object has, and false when there is none.
	Size func(ctx context.Context, object string) (int64, bool, error)
	// Looked is told how many rows were looked at, and how many of them are of no kind; nil for nobody.
	Looked func(rows, unknown int)
}

// checkedRow is a row of which the needs are known.
type checkedRow struct {
	kind  *RowKind
	key   Key
	needs []Need
	err   error
}

// MostMisfits is how many misfits [Checking.Walk] returns; what is beyond is counted.
const MostMisfits = 1000

// Walk looks at all rows, and returns those that lack something, and how many more do, also together with an error. Somebody may be writing meanwhile: what lacks
// something is read again, each row before or after each transaction as a whole. Changes in several steps may still look like misfits: see
// [Checking.Again].
//
// Index: primary. Key: all rows, strongly consistent; that of each row that another one needs. Cost: 1 Scan per megabyte of each table, and
// ⌈n/100⌉ BatchGetItem for the n rows that the rows of a page need, with a pause after each page.
func (c Checking) Walk(ctx context.Context) (found []Misfit, further int, err error) {
	var tables []Table
	for _, k := range c.Kinds {
		if !slices.Contains(tables, k.Table) {
			tables = append(tables, k.Table)
		}
	}
	for _, t := range tables {
		in := dynamodb.ScanInput{TableName: c.DB.Table(t), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
		for {
			var rows []checkedRow
			unknown, all := 0, 0
			next, err := c.DB.scanPage(ctx, &in, func(item Item) error {
				key, err := KeyOf(item, t)
				if all++; err != nil {
					return err
				}
				kind := c.kind(t, key)
				if kind == nil {
					unknown++
					if c.DB.readable(t, item) == nil {
						return nil
					}
					kind = anyKind(t)
				}
				rows = append(rows, c.row(kind, key, item))
				return nil
			})
			if err != nil {
				return found, further, err
			}
			misfits, err := c.lacking(ctx, rows)
			more := max(len(misfits)-(MostMisfits-len(found)), 0)
			if err == nil {
				misfits, err = c.Again(ctx, misfits[:len(misfits)-more])
			}
			if found, further = append(found, misfits...), further+more; err != nil {
				return found, further, err
			}
			if c.Looked != nil {
				c.Looked(all, unknown)
			}
			if next == nil {
				break
			}
			in.ExclusiveStartKey = next
			if err := Rest(ctx, SweepPause); err != nil {
				return found, further, err
			}
		}
	}
	return found, further, nil
}

// Again returns those of the misfits that still are. Each row, and what it needs, are read before or after each transaction as a whole.
//
// Index: primary. Key: of each row, and of each that it needs. Cost: 1 TransactGetItems for each row, and ⌈n/10⌉ for the n rows that it needs,
// concurrently within the bound.
func (c Checking) Again(ctx context.Context, misfits []Misfit) ([]Misfit, error) {
	ctx = idempotency.Serializable(ctx)
	still := make([][]Misfit, len(misfits))
	errs := c.DB.Each(len(misfits), func(i int) error {
		m := misfits[i]
		kind := anyKind(tableOf(m.Table))
		if at := slices.IndexFunc(c.Kinds, func(k RowKind) bool { return k.Name == m.Kind && k.Table.Name == m.Table }); at >= 0 {
			kind = &c.Kinds[at]
		}
		var row checkedRow
		there, err := c.DB.Get(ctx, kind.Table, m.Key, func(item Item) error {
			row = c.row(kind, m.Key, item)
			return nil
		})
		if err == nil && there {
			still[i], err = c.lacking(ctx, []checkedRow{row})
		}
		if fault.Is(err, fault.Outdated) {
			still[i], err = []Misfit{{Table: m.Table, Key: m.Key, Kind: m.Kind, Err: err}}, nil
		}
		return err
	})
	return slices.Concat(still...), errors.Join(errs...)
}

// anyKind is the kind of rows of a table that are of no kind. They need nothing, but have to be readable.
func anyKind(t Table) *RowKind {
	return &RowKind{Name: "a row", Table: t, Needs: func(Key, Item) ([]Need, error) { return nil, nil }}
}

// kind returns the kind of a row, nil when it is of none.
func (c Checking) kind(t Table, key Key) *RowKind {
	for i := range c.Kinds {
		if k := &c.Kinds[i]; k.Table == t && k.Is(key) {
			return k
		}
	}
	return nil
}

func (c Checking) row(kind *RowKind, key Key, item Item) checkedRow {
	r := checkedRow{kind: kind, key: key}
	r.needs, r.err = func() (_ []Need, err error) {
		defer fault.Recovered(&err)
		if err := c.DB.readable(kind.Table, item); err != nil {
			return nil, err
		}
		return kind.Needs(key, item)
	}()
	return r
}

// lacking returns those of the rows that lack something, or cannot be read.
func (c Checking) lacking(ctx context.Context, rows []checkedRow) ([]Misfit, error) {
	var needs, objects []Need
	for _, r := range rows {
		for _, n := range r.needs {
			if n.Object == "" {
				needs = append(needs, n)
			} else {
				objects = append(objects, n)
			}
		}
	}
	there, err := c.DB.Exist(ctx, needs)
	if err != nil {
		return nil, err
	}
	stored := make([]bool, len(objects))
	if err := errors.Join(c.DB.Each(len(objects), func(i int) error {
		size, found, err := c.Size(ctx, objects[i].Object)
		stored[i] = found && (objects[i].Size == 0 || size == objects[i].Size)
		return err
	})...); err != nil {
		return nil, err
	}
	var found []Misfit
	for _, r := range rows {
		m := Misfit{Table: r.kind.Table.Name, Key: r.key, Kind: r.kind.Name, Err: r.err}
		for _, n := range r.needs {
			of := &there
			if n.Object != "" {
				of = &stored
			}
			if !(*of)[0] {
				m.Lacks = append(m.Lacks, n.What)
				if mend := cmp.Or(n.Mend, r.kind.Mend); !slices.Contains(m.Mends, mend) {
					m.Mends = append(m.Mends, mend)
				}
			}
			*of = (*of)[1:]
		}
		if m.Err != nil || m.Lacks != nil {
			found = append(found, m)
		}
	}
	return found, nil
}

// existWidth is how many rows are read within one deadline: 500 texts of a score have at most 5 MB.
const existWidth = 500

// Exist reports for each of the needs whether there is a row that does, or one that makes it void. A row of a format that this build does not read is
// taken for one that does.
//
// Index: primary. Key: of each row. Cost: ⌈n/100⌉ BatchGetItem.
func (db *DB) Exist(ctx context.Context, needs []Need) ([]bool, error) {
	there := make([]bool, len(needs))
	var wants []Want
	var of []int
	for i, n := range needs {
		if n.Void != (RowID{}) {
			of = append(of, i)
			wants = append(wants, Want{Table: n.Void.Table, Key: n.Void.Key, Decode: func(Item) error { return nil }})
		}
		for _, key := range []Key{n.Key, n.Or} {
			if key == (Key{}) {
				continue
			}
			of = append(of, i)
			wants = append(wants, Want{Table: n.Table, Key: key, Decode: func(item Item) error {
				if n.Holds == nil || n.Holds(item) {
					return nil
				}
				return ErrMissing
			}})
		}
	}
	for first := 0; first < len(wants); first += existWidth {
		for i, err := range db.BatchGet(ctx, wants[first:min(first+existWidth, len(wants))]) {
			switch {
			case err == nil, fault.Is(err, fault.Outdated): // which row it is, only a newer server can tell
				there[of[first+i]] = true
			case !errors.Is(err, ErrMissing):
				return nil, err
			}
		}
	}
	return there, nil
}

// KeyBegins is, for a [RowKind], whether partition and sort key begin so.
func KeyBegins(partition, sort string) func(Key) bool {
	return func(k Key) bool { return strings.HasPrefix(k.PK, partition) && strings.HasPrefix(k.SK, sort) }
}

// HasText is, for a [Need], whether an attribute of the row is this text.
func HasText(name, text string) func(Item) bool {
	return func(item Item) bool { return TextOf(item, name) == text }
}

// TextOf returns a text among the attributes of a row; "" when there is none.
func TextOf(item Item, name string) (text string) {
	_ = Attributes(item, func(of []byte, v Value) (err error) {
		if string(of) == name {
			text, err = v.Str()
		}
		return err
	})
	return text
}
