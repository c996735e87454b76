package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// row is an item as it came over the wire, with its keys taken out.
type row struct {
	keys  map[string]string
	item  json.RawMessage
	parts []part
}

// part is an attribute of a row, as it came over the wire: with its name, and what is between them.
type part struct {
	name string
	text []byte
}

// partsOf takes an item apart. The order of its attributes stays.
func partsOf(item json.RawMessage) ([]part, error) {
	d := json.NewDecoder(bytes.NewReader(item))
	if _, err := d.Token(); err != nil { // the beginning of the object
		return nil, err
	}
	var parts []part
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		parts = append(parts, part{fmt.Sprint(name), fmt.Appendf(nil, "%q:%s", name, value)})
	}
	return parts, nil
}

// projected returns of an item what is asked for: everything when nothing is named.
func (r *row) projected(attributes []string) []byte {
	if attributes == nil {
		return r.item
	}
	out := []byte{'{'}
	for _, p := range r.parts {
		if !slices.Contains(attributes, p.name) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, p.text...)
	}
	return append(out, '}')
}

// keyAttributes are the key attributes of the table and its indexes.
var keyAttributes = []string{"PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"}

// table keeps rows by primary key and, in the order of their sort keys, by each index.
type table struct {
	mu         sync.RWMutex
	rows       map[[2]string]*row
	partitions map[[2]string][]*row // by partition key attribute and value
}

func newTable() *table {
	return &table{rows: map[[2]string]*row{}, partitions: map[[2]string][]*row{}}
}

// text is an attribute value of type S.
type text struct{ S string }

// put stores an item. One that exists cannot be replaced: loading writes each row once.
func (t *table) put(item json.RawMessage) error {
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal(item, &attributes); err != nil {
		return err
	}
	r := &row{keys: map[string]string{}, item: slices.Clone(item)}
	var err error
	if r.parts, err = partsOf(r.item); err != nil {
		return err
	}
	for _, name := range keyAttributes {
		var value text
		if attributes[name] != nil && json.Unmarshal(attributes[name], &value) == nil {
			r.keys[name] = value.S
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{r.keys["PK"], r.keys["SK"]}
	if t.rows[key] != nil {
		return fmt.Errorf("the row %s exists already", key)
	}
	t.rows[key] = r
	for _, index := range []string{"", "GSI1", "GSI2"} {
		pk, sk := index+"PK", index+"SK"
		if _, indexed := r.keys[pk]; !indexed {
			continue
		}
		partition := [2]string{pk, r.keys[pk]}
		rows := t.partitions[partition]
		at, _ := slices.BinarySearchFunc(rows, r.keys[sk], func(other *row, key string) int { return strings.Compare(other.keys[sk], key) })
		t.partitions[partition] = slices.Insert(rows, at, r)
	}
	return nil
}

// get returns the row with the key, nil when there is none.
func (t *table) get(pk, sk string) *row {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.rows[[2]string{pk, sk}]
}

// between returns the rows of a partition whose sort keys lie in a closed range.
func (t *table) between(pkName, skName, pk, low, high string) []*row {
	t.mu.RLock()
	defer t.mu.RUnlock()
	rows := t.partitions[[2]string{pkName, pk}]
	from, _ := slices.BinarySearchFunc(rows, low, func(r *row, key string) int { return strings.Compare(r.keys[skName], key) })
	to := from
	for to < len(rows) && rows[to].keys[skName] <= high {
		to++
	}
	return slices.Clone(rows[from:to])
}
