package labelling

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func outboxKey(item string, r project.TransitionRef) dynamo.Key {
	return dynamo.Key{PK: keys.OutboxSubjectKey(item), SK: keys.OutboxKey(r.At, r.ID)}
}

// outboxRow is a transition on its way to the queue. It is no relationship, and in no index.
func outboxRow(t labelling.Transition) (dynamo.Attrs, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write transition %s: %w", t.ID, err)
	}
	row := dynamo.RelationshipEntries.Key(outboxKey(t.Item, t.Ref()))
	row["transition"] = dynamo.Str(string(body))
	return row, nil
}

func decodeOutbox(item dynamo.Item, t *labelling.Transition) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) error {
		if string(name) != "transition" {
			return nil
		}
		body, err := v.Str()
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(body), t)
	})
}

// ListOutbox reads the shards concurrently. Transitions of an item that happened within the same millisecond are in the order
// of its versions.
//
// Index: primary. Key: _subject_key = taggie:Outbox:<shard> AND _predicate_key BETWEEN outbox: AND outbox:<before>, for each
// shard. Cost: 1 Query per shard (16), one more per started megabyte.
func (db Store) ListOutbox(ctx context.Context, before time.Time, limit int) ([]labelling.Transition, error) {
	low, high := keys.OutboxRange(before)
	shards := keys.OutboxSubjectKeys()
	found := make([][]labelling.Transition, len(shards))
	errs := db.Each(len(shards), func(i int) error {
		s := dynamo.Span{Table: dynamo.RelationshipEntries, PK: shards[i], Low: low, High: high, Limit: limit}
		_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var t labelling.Transition
			err := decodeOutbox(item, &t)
			found[i] = append(found[i], t)
			return true, err
		})
		return err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b labelling.Transition) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Version, b.Version), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// DeleteOutbox removes transitions; item, instant and id are enough to find them, and one that is not there does no harm.
//
// Index: primary. Key: _subject_key = taggie:Outbox:<shard> AND _predicate_key = outbox:<at>:Transition:<id>.
// Cost: ⌈n/25⌉ BatchWriteItem.
func (db Store) DeleteOutbox(ctx context.Context, done []labelling.Transition) error {
	writes := make([]dynamo.RowID, 0, len(done))
	seen := make(map[dynamo.Key]bool, len(done))
	for _, t := range done {
		if key := outboxKey(t.Item, t.Ref()); !seen[key] {
			seen[key] = true
			writes = append(writes, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: key})
		}
	}
	return db.BatchDelete(ctx, writes)
}

// FindOutbox looks for a transition.
//
// Index: primary. Key: _subject_key = taggie:Outbox:<shard> AND _predicate_key = outbox:<at>:Transition:<id>. Cost: 1 GetItem.
func (db Store) FindOutbox(ctx context.Context, item string, r project.TransitionRef) (t labelling.Transition, there bool, err error) {
	there, err = db.Get(ctx, dynamo.RelationshipEntries, outboxKey(item, r), func(raw dynamo.Item) error { return decodeOutbox(raw, &t) })
	return t, there, err
}

// LastPending looks for the last transition of each item.
//
// Index: primary. Key: _subject_key = taggie:Outbox:<shard> AND _predicate_key = outbox:<at>:Transition:<id>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) LastPending(ctx context.Context, items []project.Item) ([]bool, error) {
	pending := make([]bool, len(items))
	wants, at := make([]dynamo.Want, 0, len(items)), make([]int, 0, len(items))
	for n, i := range items {
		if i.LastTransition.ID == "" {
			continue
		}
		key := outboxKey(i.ID, i.LastTransition)
		wants = append(wants, dynamo.Want{Table: dynamo.RelationshipEntries, Key: key, Decode: func(dynamo.Item) error { return nil }})
		at = append(at, n)
	}
	for n, err := range db.BatchGet(ctx, wants) {
		switch {
		case err == nil:
			pending[at[n]] = true
		case !errors.Is(err, dynamo.ErrMissing):
			return nil, err
		}
	}
	return pending, nil
}
