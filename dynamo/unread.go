package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/taggie/taggie/internal/fault"
)

// Unread are rows that a walk through a table had to leave out, because they could not be handled: mostly they cannot be read.
type Unread struct {
	Rows  []UnreadRow // the first [MostMisfits]
	Count int
}

// UnreadRow is a row that could not be handled.
type UnreadRow struct {
	Table string // without the prefix
	Key   Key
	Err   error
}

// Note notes a row that err is about, and returns nil; err itself where it is not about the row: the store has refused something or is away, or the
// context has ended. About the row are faults of kind Outdated, and what is no fault, as that its attributes are not what they have to be.
func (u *Unread) Note(ctx context.Context, t Table, key Key, err error) error {
	if of, is := errors.AsType[*fault.Error](err); err == nil || ctx.Err() != nil || is && of.Kind != fault.Outdated {
		return err
	}
	if u.Count++; len(u.Rows) < MostMisfits {
		u.Rows = append(u.Rows, UnreadRow{t.Name, key, err})
	}
	return nil
}

// Err returns an error that names the rows; nil when there are none.
func (u Unread) Err() error {
	if u.Count == 0 {
		return nil
	}
	all := []error{fmt.Errorf("%d rows could not be handled, and stay as they are", u.Count)}
	for _, row := range u.Rows {
		all = append(all, fmt.Errorf("row %q, %q of %s: %w", row.Key.PK, row.Key.SK, row.Table, row.Err))
	}
	return errors.Join(all...)
}

// WalkAll reads some attributes of all rows of a table as [DB.ScanAll] does, the key among them. It goes on behind a row that read cannot decode, or that
// has a later format than [NewestFormat]: such rows are noted. What is read is handed to work, up to [MaxBatchGet] rows at a time; its error ends the walk.
// read returns false for a row that is left out.
func WalkAll[T any](ctx context.Context, db *DB, t Table, names []string, unread *Unread, read func(key Key, item Item, into *T) (bool, error), work func([]T) error) error {
	var some []T
	flush := func() error {
		err := work(some)
		some = some[:0]
		return err
	}
	err := db.scanAll(ctx, t, names, func(item Item) error {
		key, err := KeyOf(item, t)
		if err == nil {
			err = db.readable(t, item)
		}
		var one T
		counts := false
		if err == nil {
			counts, err = read(key, item, &one)
		}
		if err != nil || !counts {
			return unread.Note(ctx, t, key, err)
		}
		if some = append(some, one); len(some) < MaxBatchGet {
			return nil
		}
		return flush()
	})
	if err != nil || len(some) == 0 {
		return err
	}
	return flush()
}
