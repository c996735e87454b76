package capacity

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// table is what the request says that created it.
type table struct {
	name            string // without the prefix
	partition, sort string
	indexes         map[string]index // without the prefix
}

// index is how rows are found, and which of their attributes it has.
type index struct {
	partition, sort string
	local           bool
	all             bool            // its rows are whole
	included        map[string]bool // else these attributes of them, keys among them
}

// creating is the part of CreateTable that matters here.
type creating struct {
	TableName              string
	KeySchema              []keyElement
	GlobalSecondaryIndexes []creatingIndex
	LocalSecondaryIndexes  []creatingIndex
}

type creatingIndex struct {
	IndexName  string
	KeySchema  []keyElement
	Projection struct {
		ProjectionType   string
		NonKeyAttributes []string
	}
}

type keyElement struct{ AttributeName, KeyType string }

// tableOf reads the request that creates a table, and returns its full name, too.
func tableOf(body []byte, prefix string) (name string, t *table, err error) {
	var in creating
	if err := json.Unmarshal(body, &in); err != nil {
		return "", nil, fmt.Errorf("read what creates a table: %w", err)
	}
	t = &table{name: strings.TrimPrefix(in.TableName, prefix), indexes: map[string]index{}}
	t.partition, t.sort = keysOf(in.KeySchema)
	for n, of := range slices.Concat(in.GlobalSecondaryIndexes, in.LocalSecondaryIndexes) {
		i := index{local: n >= len(in.GlobalSecondaryIndexes), all: of.Projection.ProjectionType == "ALL"}
		i.partition, i.sort = keysOf(of.KeySchema)
		i.included = map[string]bool{t.partition: true, t.sort: true, i.partition: true, i.sort: true}
		for _, attribute := range of.Projection.NonKeyAttributes {
			i.included[attribute] = true
		}
		t.indexes[strings.TrimPrefix(of.IndexName, prefix)] = i
	}
	return in.TableName, t, nil
}

func keysOf(schema []keyElement) (partition, sort string) {
	for _, e := range schema {
		if e.KeyType == "HASH" {
			partition = e.AttributeName
		} else {
			sort = e.AttributeName
		}
	}
	return partition, sort
}

// row is what is remembered of a row.
type row struct {
	size    int
	entries map[string]entry // by index
}

// entry is what an index has of a row. Two are equal when the index need not be written.
type entry struct {
	partition, sort string
	size            int
	text            string // all that it has, spelled in one way
}

// rowOf returns what is to be remembered of an item.
func (t *table) rowOf(of item) *row {
	r := &row{size: of.size(), entries: map[string]entry{}}
	for name, i := range t.indexes {
		if _, has := of[i.partition]; !has {
			continue
		}
		if _, has := of[i.sort]; !has {
			continue
		}
		projected := item{}
		for attribute, v := range of {
			if i.all || i.included[attribute] {
				projected[attribute] = v
			}
		}
		r.entries[name] = entry{of[i.partition].text(), of[i.sort].text(), projected.size(), spell(projected)}
	}
	return r
}

// spell writes an item in one way: encoding/json sorts the attributes, and sets have no order.
func spell(of item) string {
	ordered := make(map[string]value, len(of))
	for name, v := range of {
		ordered[name] = v.ordered()
	}
	text, err := json.Marshal(ordered)
	if err != nil {
		panic(fmt.Sprintf("capacity: write what came from JSON: %v", err))
	}
	return string(text)
}

// ordered is the value with sets in order.
func (v value) ordered() value {
	v.SS, v.NS, v.BS = slices.Sorted(slices.Values(v.SS)), slices.Sorted(slices.Values(v.NS)), slices.Sorted(slices.Values(v.BS))
	v.L = slices.Clone(v.L)
	for i := range v.L {
		v.L[i] = v.L[i].ordered()
	}
	v.M = maps.Clone(v.M)
	for name := range v.M {
		v.M[name] = v.M[name].ordered()
	}
	return v
}

// rowKey is the primary key of an item, or of the key of one.
type rowKey struct{ table, partition, sort string }

func (t *table) keyOf(of item) rowKey {
	return rowKey{t.name, of[t.partition].text(), of[t.sort].text()}
}
