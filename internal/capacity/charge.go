package capacity

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
)

// charge is what one row, or one entry of an index, took.
type charge struct {
	key   Key
	sort  string // of the row; "" where there are several
	units Units
}

// bill is what a call took.
type bill struct {
	*Recorder
	charges []charge
	err     error
}

// count counts a call, and remembers the rows that it wrote.
func (r *Recorder) count(c call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := bill{Recorder: r}
	switch c.operation {
	case "CreateTable":
		name, t, err := tableOf(c.body, r.prefix)
		if c.status == http.StatusOK && err == nil {
			r.tables[name] = t
		}
		b.err = err
		r.bills(c.operation, b)
		return
	case "GetItem":
		b.read(c.in.TableName, c.in.Key, reading(c.in.ConsistentRead))
	case "BatchGetItem":
		b.batchGet(c)
	case "TransactGetItems":
		for _, entry := range c.in.TransactItems {
			b.read(entry["Get"].TableName, entry["Get"].Key, 2)
		}
	case "Query", "Scan":
		b.span(c)
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems":
		b.write(c)
	default:
		return // it takes no units
	}
	r.used.Calls[c.operation]++
	r.bills(c.operation, b)
	r.compares(c, b)
}

// bills adds up what a call took.
func (r *Recorder) bills(operation string, b bill) {
	if b.err != nil {
		r.doubts[operation+": "+b.err.Error()]++
	}
	for _, c := range b.charges {
		r.used.Units[c.key] = r.used.Units[c.key].plus(c.units)
		if known, is := r.used.Rows[c.key]; c.sort != "" && (!is || c.sort < known) {
			r.used.Rows[c.key] = c.sort
		}
	}
}

// compares notes where the engine says something else of a table and its indexes together.
func (r *Recorder) compares(c call, b bill) {
	if c.status != http.StatusOK {
		return
	}
	own := map[string]float64{}
	for _, c := range b.charges {
		own[c.key.Table] += c.units.Read + c.units.Write
	}
	for name, units := range c.consumed() {
		if t := r.tables[name]; t != nil && math.Abs(own[t.name]-units) > 1e-9 {
			r.apart[c.operation]++
			return
		}
	}
}

// table returns a table by its full name; nil, and an error of the bill, for one that was not created.
func (b *bill) table(name string) *table {
	t := b.tables[name]
	if t == nil {
		b.err = errors.Join(b.err, fmt.Errorf("table %s was not seen when it was created", strings.TrimPrefix(name, b.prefix)))
	}
	return t
}

// reading is how many units a started 4 KB takes.
func reading(consistent bool) float64 {
	if consistent {
		return 1
	}
	return 0.5
}

// read charges a row that is read.
func (b *bill) read(name string, key item, times float64) {
	t := b.table(name)
	if t == nil {
		return
	}
	of, bytes := t.keyOf(key), 0
	if known := b.rows[of]; known != nil {
		bytes = known.size
	}
	b.charges = append(b.charges, charge{Key{Table: t.name, Partition: of.partition}, of.sort, Units{Read: times * readUnits(bytes)}})
}

func (b *bill) batchGet(c call) {
	if c.status != http.StatusOK {
		return
	}
	for name, wanted := range c.in.asked {
		t := b.table(name)
		if t == nil {
			continue
		}
		left := map[rowKey]bool{}
		for _, key := range c.out.UnprocessedKeys[name].Keys {
			left[t.keyOf(key)] = true
		}
		for _, key := range wanted.Keys {
			if !left[t.keyOf(key)] {
				b.read(name, key, reading(wanted.ConsistentRead))
			}
		}
	}
}

// span charges a Query or Scan, by what the engine says.
func (b *bill) span(c call) {
	t := b.table(c.in.TableName)
	if t == nil || c.status != http.StatusOK {
		return
	}
	key := Key{Table: t.name, Index: strings.TrimPrefix(c.in.IndexName, b.prefix)}
	if c.operation == "Query" {
		by := t.partition
		if key.Index != "" {
			by = t.indexes[key.Index].partition
		}
		if key.Partition = c.in.partition(by); key.Partition == "" {
			b.err = fmt.Errorf("no partition key in %q", c.in.KeyConditionExpression)
			return
		}
	}
	units, told := c.consumed()[c.in.TableName]
	if !told {
		b.err = errors.New("the engine does not tell the units")
		return
	}
	b.charges = append(b.charges, charge{key: key, units: Units{Read: units}})
}

// partition returns the value that a key condition wants of an attribute; "" where it is not spelled as name = value.
func (in request) partition(attribute string) string {
	for condition := range strings.SplitSeq(in.KeyConditionExpression, " AND ") {
		name, placeholder, equal := strings.Cut(condition, "=")
		if name = strings.TrimSpace(name); strings.HasPrefix(name, "#") {
			name = in.ExpressionAttributeNames[name]
		}
		if equal && name == attribute {
			return in.ExpressionAttributeValues[strings.TrimSpace(placeholder)].text()
		}
	}
	return ""
}
