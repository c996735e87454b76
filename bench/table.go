package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// row is an item as it came over the wire, with its keys taken out.
type row struct {
	keys map[string]string
	item json.RawMessage
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

// get returns the item with the key, nil when there is none.
func (t *table) get(pk, sk string) json.RawMessage {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if r := t.rows[[2]string{pk, sk}]; r != nil {
		return r.item
	}
	return nil
}

// between returns the items of a partition whose sort keys lie in a closed range.
func (t *table) between(pkName, skName, pk, low, high string) []json.RawMessage {
	t.mu.RLock()
	defer t.mu.RUnlock()
	rows := t.partitions[[2]string{pkName, pk}]
	from, _ := slices.BinarySearchFunc(rows, low, func(r *row, key string) int { return strings.Compare(r.keys[skName], key) })
	var items []json.RawMessage
	for _, r := range rows[from:] {
		if r.keys[skName] > high {
			break
		}
		items = append(items, r.item)
	}
	return items
}
