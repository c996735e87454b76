package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

// DataCheck is what [Stores.CheckData] found.
type DataCheck struct {
	Rows    int // that were looked at
	Unknown int // of which Taggie knows nothing that they need
	Objects int
	Misfits []dynamo.Misfit
	// Leftovers are objects of which no row tells. What is younger than [leftoverAge] is not counted: its row may be on its way.
	Leftovers []blob.Listed
	Tasks     int // that are due: their work may still be half done; at most [tasksShown]
}

const (
	leftoverAge = time.Hour
	tasksShown  = 100
)

// RowKinds are the kinds of rows of which it is known what they need.
func RowKinds() []dynamo.RowKind {
	return slices.Concat(users.Kinds(), notes.Kinds(), entities.Kinds(), projects.Kinds(), scores.Kinds(), filetags.Kinds())
}

// CheckData walks all rows and all objects, and looks whether each has what it needs. Servers may be running. It calls progress from time to time.
func (s *Stores) CheckData(ctx context.Context, progress func(DataCheck)) (DataCheck, error) {
	var c DataCheck
	rows := dynamo.Checking{DB: s.DB, Size: s.Size, Looked: func(rows, unknown int) {
		c.Rows, c.Unknown = c.Rows+rows, c.Unknown+unknown
		progress(c)
	}, Kinds: RowKinds()}
	misfits, err := rows.Walk(ctx)
	if err != nil {
		return c, err
	}
	left, err := s.leftovers(ctx, func(objects int) {
		c.Objects += objects
		progress(c)
	})
	if err != nil {
		return c, err
	}
	// What was under way when it was looked at has been finished meanwhile.
	if c.Misfits, err = rows.Again(ctx, misfits); err != nil {
		return c, err
	}
	c.Leftovers = left
	due, err := dynamo.Tasks{DB: s.DB}.ListDueTasks(ctx, s.DB.Now(), tasksShown)
	c.Tasks = len(due)
	return c, err
}

// Size returns how many bytes an object has, and false when there is none.
func (s *Stores) Size(ctx context.Context, object string) (int64, bool, error) {
	size, err := s.Bucket.Size(ctx, object)
	if fault.Is(err, fault.NotFound) {
		return 0, false, nil
	}
	return size, err == nil, err
}

// leftovers returns the objects of which no row tells. Those of one owner lie together in the list.
func (s *Stores) leftovers(ctx context.Context, looked func(objects int)) ([]blob.Listed, error) {
	var left []blob.Listed
	var owner score.UserID
	var told map[string]bool
	young := s.DB.Now().Add(-leftoverAge)
	err := s.Bucket.Walk(ctx, func(all []blob.Listed) error {
		var files []blob.Listed
		var wants []dynamo.Want
		for _, o := range all {
			of, is := score.OwnerOf(o.Key)
			switch need, transfer := projects.NeedOfFile(o.Key); {
			case o.Modified.After(young):
			case is:
				if told == nil || of != owner {
					var err error
					if told, err = (scores.Items{DB: s.DB}).ObjectsOf(ctx, of); err != nil {
						return err
					}
					owner = of
				}
				if !told[o.Key] {
					left = append(left, o)
				}
			case transfer:
				files = append(files, o)
				wants = append(wants, dynamo.Want{Table: need.Table, Key: need.Key, Decode: func(dynamo.Item) error { return nil }})
			default:
				left = append(left, o)
			}
		}
		for i, err := range s.DB.BatchGet(ctx, wants) {
			switch {
			case errors.Is(err, dynamo.ErrMissing):
				left = append(left, files[i])
			case err != nil:
				return err
			}
		}
		looked(len(all))
		return nil
	})
	return left, err
}
