package projects

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// changeRow is the row of a change. No index has it.
type changeRow struct {
	project.Change
	key dynamo.Key
}

var changedFieldRows = dynamo.LayoutOf(
	dynamo.OfText("name", func(f *project.ChangedField) *string { return &f.Name }),
	dynamo.Optional(dynamo.OfText("before", func(f *project.ChangedField) *string { return &f.Old })),
	dynamo.Optional(dynamo.OfText("after", func(f *project.ChangedField) *string { return &f.New })),
)

var changeRows = dynamo.LayoutOf(
	dynamo.OfText("PK", func(r *changeRow) *string { return &r.key.PK }),
	dynamo.OfText("SK", func(r *changeRow) *string { return &r.key.SK }),
	dynamo.OfText("id", func(r *changeRow) *string { return &r.ID }),
	dynamo.OfInstant("at", func(r *changeRow) *time.Time { return &r.At }),
	dynamo.OfText("type", func(r *changeRow) *project.ChangeType { return &r.Type }),
	dynamo.Optional(dynamo.OfText(keys.HistoryBy, func(r *changeRow) *project.UserID { return &r.By })),
	dynamo.Optional(dynamo.OfText(keys.HistoryMember, func(r *changeRow) *project.UserID { return &r.Member })),
	dynamo.Optional(dynamo.OfText("subject", func(r *changeRow) *string { return &r.Name })),
	dynamo.OfMaps("fields", func(r *changeRow) *[]project.ChangedField { return &r.Fields }, changedFieldRows),
)

// noted records a change in the history of its project, in the transaction of the change; nothing for the zero Change.
func noted(c project.Change) []dynamo.Action {
	if c.Type == "" {
		return nil
	}
	c.ID = uuid.NewString()
	return []dynamo.Action{{Table: dynamo.NotesTable, Item: rowOfChange(c)}}
}

func rowOfChange(c project.Change) dynamo.Attrs {
	row := changeRows.Row(&changeRow{c, dynamo.Key{PK: keys.HistoryPK(string(c.Project), c.At), SK: keys.HistorySK(c.At, c.ID)}})
	row["expires_at"] = dynamo.Number(c.At.Add(project.HistoryKept).Unix())
	return row
}

func decodeChange(item dynamo.Item, c *project.Change) error {
	var r changeRow
	err := changeRows.Decode(item, &r)
	*c = r.Change
	c.Project = project.ID(keys.Part(r.key.PK, 1))
	return err
}

// notedBy is the same of what somebody asked for; what runs by itself is not in the history.
func notedBy(by project.UserID, c project.Change) []dynamo.Action {
	if by == "" {
		return nil
	}
	return noted(c)
}

// ListHistory lists the changes of a project that are not too old, the newest first. Rows that are too old, which go later, are not read.
//
// Index: primary. Key: PK = PROJECT_HISTORY#<project>#<year>-<quarter> AND SK BETWEEN <a year ago> AND <now>, descending, for each quarter until the page is
// full. Cost: 1 Query for each quarter that is read (at most 5), one more per started megabyte; the same again of one row when the window probes its other side.
func (db Store) ListHistory(ctx context.Context, id project.ID, w page.Window) (page.Slice[project.Change], error) {
	found, err := db.changes(ctx, id, !w.Backward, w.From, false, w.Limit+1)
	if err != nil {
		return page.Slice[project.Change]{}, err
	}
	slice := page.Fill(w, found, func(c project.Change) string { return keys.HistorySK(c.At, c.ID) })
	slice.Other = w.From != ""
	if w.From == "" || !w.Probe {
		return slice, nil
	}
	other, err := db.changes(ctx, id, w.Backward, w.From, true, 1)
	slice.Other = len(other) > 0
	return slice, err
}

// changes reads up to limit changes from a position on, or from an end of the history; the position itself only if that is wanted.
func (db Store) changes(ctx context.Context, id project.ID, newestFirst bool, from string, inclusive bool, limit int) (all []project.Change, err error) {
	for _, s := range db.historySpans(id, newestFirst, from, inclusive) {
		s.Limit = limit - len(all)
		if _, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var c project.Change
			err := decodeChange(item, &c)
			all = append(all, c)
			return true, err
		}); err != nil {
			return nil, err
		}
		if len(all) == limit {
			break
		}
	}
	return all, nil
}

// historySpans are the parts of a history in the order in which they are read. A clock that is ahead by less than a minute hides nothing.
func (db Store) historySpans(id project.ID, newestFirst bool, from string, inclusive bool) []dynamo.Span {
	now := db.Now()
	oldest, newest := now.Add(-project.HistoryKept), now.Add(time.Minute)
	low, high := keys.Instant(oldest), keys.Instant(newest)
	within := low < from && from < high
	switch {
	case from != "" && !within && newestFirst == (from <= low): // nothing follows the position
		return nil
	case within && newestFirst:
		newest = keys.HistoryAt(from)
	case within:
		oldest = keys.HistoryAt(from)
	}
	var spans []dynamo.Span
	for quarter := quarterOf(oldest); !quarter.After(newest); quarter = quarter.AddDate(0, 3, 0) {
		spans = append(spans, dynamo.Span{Table: dynamo.NotesTable, PK: keys.HistoryPK(string(id), quarter), Low: low, High: high, Backward: newestFirst})
	}
	if newestFirst {
		slices.Reverse(spans)
	}
	if within {
		switch s := &spans[0]; {
		case !inclusive:
			s.Start = s.Table.Key(dynamo.Key{PK: s.PK, SK: from})
		case newestFirst:
			s.High = from
		default:
			s.Low = from
		}
	}
	return spans
}

// quarterOf is when the quarter of a year began in which an instant is.
func quarterOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), (t.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
}

// eraseHistory removes the history of a project.
func (db Store) eraseHistory(ctx context.Context, id project.ID) error {
	for _, s := range db.historySpans(id, false, "", false) {
		s.Low, s.High = "", ""
		if _, err := db.eraseFound(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
