package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func outboxKey(item string, r project.TransitionRef) rowKey {
	return rowKey{keys.OutboxSubjectKey(item), keys.OutboxKey(r.At, r.ID)}
}

// outboxRow is a transition on its way to the queue. It is no relationship, and in no index.
func outboxRow(t labelling.Transition) (attrs, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write transition %s: %w", t.ID, err)
	}
	row := relationshipEntries.key(outboxKey(t.Item, t.Ref()))
	row["transition"] = str(string(body))
	return row, nil
}

func decodeOutbox(item []byte, t *labelling.Transition) error {
	return attributes(item, func(name []byte, v value) error {
		if string(name) != "transition" {
			return v.skip()
		}
		body, err := v.str()
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
func (db Labelling) ListOutbox(ctx context.Context, before time.Time, limit int) ([]labelling.Transition, error) {
	low, high := keys.OutboxRange(before)
	shards := keys.OutboxSubjectKeys()
	found := make([][]labelling.Transition, len(shards))
	errs := db.each(len(shards), func(i int) error {
		s := span{table: relationshipEntries, pk: shards[i], low: low, high: high, limit: limit}
		_, err := db.query(ctx, s, func(item []byte) (bool, error) {
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
func (db Labelling) DeleteOutbox(ctx context.Context, done []labelling.Transition) error {
	writes := make([]write, 0, len(done))
	seen := make(map[rowKey]bool, len(done))
	for _, t := range done {
		if key := outboxKey(t.Item, t.Ref()); !seen[key] {
			seen[key] = true
			writes = append(writes, write{table: relationshipEntries, key: key})
		}
	}
	return db.batchWrite(ctx, writes)
}

// FindOutbox looks for a transition.
//
// Index: primary. Key: _subject_key = taggie:Outbox:<shard> AND _predicate_key = outbox:<at>:Transition:<id>. Cost: 1 GetItem.
func (db Labelling) FindOutbox(ctx context.Context, item string, r project.TransitionRef) (t labelling.Transition, there bool, err error) {
	there, err = db.get(ctx, relationshipEntries, outboxKey(item, r), func(raw []byte) error { return decodeOutbox(raw, &t) })
	return t, there, err
}
