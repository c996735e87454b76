package capacity

import "net/http"

// change is what a call does to a row.
type change struct {
	t      *table
	key    rowKey
	after  *row // nil for a row that is removed
	checks bool // the row stays as it is
}

// write charges a call that writes, and remembers what it wrote.
func (b *bill) write(c call) {
	if c.status != http.StatusOK && !c.failed() {
		return
	}
	times := 1.0
	if c.operation == "TransactWriteItems" {
		times = 2
		if c.status == http.StatusOK && b.replayed(c) {
			return
		}
	}
	for _, w := range b.changes(c) {
		before := b.rows[w.key]
		if w.checks {
			w.after = before
		}
		bytes := 0
		for _, r := range []*row{before, w.after} {
			if r != nil {
				bytes = max(bytes, r.size)
			}
		}
		b.charges = append(b.charges, charge{Key{Table: w.t.name, Partition: w.key.partition}, w.key.sort, Units{Write: times * writeUnits(bytes)}})
		if c.status != http.StatusOK {
			continue // indexes follow only what is written
		}
		b.index(w, before, times)
		if w.after == nil {
			delete(b.rows, w.key)
		} else {
			b.rows[w.key] = w.after
		}
	}
}

// replayed charges a transaction that was carried out before: what it wrote is read.
func (b *bill) replayed(c call) bool {
	token := c.in.ClientRequestToken
	if token == "" || !b.tokens[token] {
		b.tokens[token] = true
		return false
	}
	for _, w := range b.changes(c) {
		bytes := 0
		if known := b.rows[w.key]; known != nil {
			bytes = known.size
		}
		b.charges = append(b.charges, charge{Key{Table: w.t.name, Partition: w.key.partition}, w.key.sort, Units{Read: 2 * readUnits(bytes)}})
	}
	return true
}

// index charges what the indexes of a table take for a change of one of its rows.
func (b *bill) index(w change, before *row, times float64) {
	if before == nil {
		before = &row{}
	}
	after := w.after
	if after == nil {
		after = &row{}
	}
	for name, i := range w.t.indexes {
		was, had := before.entries[name]
		is, has := after.entries[name]
		by := 1.0
		if i.local {
			by = times
		}
		spend := func(e entry, bytes int) {
			b.charges = append(b.charges, charge{Key{w.t.name, name, e.partition}, e.sort, Units{Write: by * writeUnits(bytes)}})
		}
		switch {
		case had && has && was == is:
		case had && has && was.partition == is.partition && was.sort == is.sort:
			spend(is, max(was.size, is.size))
		default:
			if had {
				spend(was, was.size)
			}
			if has {
				spend(is, is.size)
			}
		}
	}
}

// changes returns what a call does, or would have done, to rows.
func (b *bill) changes(c call) (all []change) {
	put := func(name string, i item) {
		if t := b.table(name); t != nil {
			all = append(all, change{t: t, key: t.keyOf(i), after: t.rowOf(i)})
		}
	}
	other := func(name string, key item, kind string) {
		t := b.table(name)
		if t == nil {
			return
		}
		w := change{t: t, key: t.keyOf(key), checks: kind == "ConditionCheck"}
		if kind == "Update" {
			if i := c.updated[w.key]; i != nil {
				w.after = t.rowOf(i)
			} else {
				w.checks = true // it failed
			}
		}
		all = append(all, w)
	}
	switch c.operation {
	case "PutItem":
		put(c.in.TableName, c.in.Item)
	case "UpdateItem":
		other(c.in.TableName, c.in.Key, "Update")
	case "DeleteItem":
		other(c.in.TableName, c.in.Key, "Delete")
	case "BatchWriteItem":
		b.batchWrite(c, put, other)
	case "TransactWriteItems":
		for _, entry := range c.in.TransactItems {
			for kind, a := range entry {
				if kind == "Put" {
					put(a.TableName, a.Item)
				} else {
					other(a.TableName, a.Key, kind)
				}
			}
		}
	}
	return all
}

// batchWrite returns the writes of a batch that were carried out.
func (b *bill) batchWrite(c call, put func(string, item), other func(string, item, string)) {
	for name, list := range c.in.written {
		t := b.table(name)
		if t == nil {
			continue
		}
		left := map[rowKey]bool{}
		for _, w := range c.out.UnprocessedItems[name] {
			left[t.keyOf(w.row())] = true
		}
		for _, w := range list {
			switch {
			case left[t.keyOf(w.row())]:
			case w.PutRequest != nil:
				put(name, w.PutRequest.Item)
			default:
				other(name, w.row(), "Delete")
			}
		}
	}
}

// row returns the item that is put, or the key of the one that is deleted.
func (w written) row() item {
	if w.PutRequest != nil {
		return w.PutRequest.Item
	}
	if w.DeleteRequest != nil {
		return w.DeleteRequest.Key
	}
	return nil
}
