package app

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/archives"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
)

// DataCheck is what [Stores.CheckData] found.
type DataCheck struct {
	Rows    int // that were looked at
	Unknown int // of which Taggie knows nothing that they need
	Objects int
	Others  int // objects whose keys are not Taggie's
	Young   int // objects that are younger than [leftoverAge], and were not compared with rows
	Misfits []dynamo.Misfit
	Further int // misfits besides those, which were looked at once only
	// Leftovers are objects to which no row points, at most [mostLeftovers]. What is younger than [leftoverAge] is not among them: its row may be on
	// its way.
	Leftovers []blob.Listed
	More      int  // leftovers besides those
	Working   bool // there are tasks that are due, or will be within [workingSoon]: their work may be half done
}

const (
	leftoverAge   = time.Hour
	mostLeftovers = 1000
	workingSoon   = time.Minute
)

// RowKinds are the kinds of rows of which it is known what they need.
func RowKinds() []dynamo.RowKind {
	return slices.Concat(users.Kinds(), archives.Kinds(), notes.Kinds(), entities.Kinds(projects.IsItem), projects.Kinds(), scores.Kinds(), filetags.Kinds())
}

// CheckData walks all rows and all objects, and looks whether each row has what it needs, and each object a row. Servers may be running. It calls
// progress from time to time, and returns what it found also together with an error.
func (s *Stores) CheckData(ctx context.Context, progress func(DataCheck)) (DataCheck, error) {
	var c DataCheck
	rows := dynamo.Checking{DB: s.DB, Size: s.Size, Looked: func(rows, unknown int) {
		c.Rows, c.Unknown = c.Rows+rows, c.Unknown+unknown
		progress(c)
	}, Kinds: RowKinds()}
	var err error
	if c.Misfits, c.Further, err = rows.Walk(ctx); err != nil {
		return c, err
	}
	if err := s.Bucket.Walk(ctx, s.leftovers(ctx, &c, func() { progress(c) })); err != nil {
		return c, err
	}
	// What was under way when it was looked at has been finished meanwhile.
	still, err := rows.Again(ctx, c.Misfits)
	if err != nil {
		return c, err
	}
	c.Misfits = still
	again := DataCheck{}
	if err := s.leftovers(idempotency.Serializable(ctx), &again, func() {})(c.Leftovers); err != nil {
		return c, err
	}
	c.Leftovers = again.Leftovers
	c.Working, err = dynamo.Tasks{DB: s.DB}.AnyUntil(ctx, s.DB.Now().Add(workingSoon))
	if fault.Is(err, fault.Outdated) { // a task that a newer server recorded
		c.Working, err = true, nil
	}
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

// leftovers returns what looks at the objects of a page of the list, in which those of one owner lie together.
func (s *Stores) leftovers(ctx context.Context, c *DataCheck, looked func()) func([]blob.Listed) error {
	var owner score.UserID
	var told map[string]bool
	young := s.DB.Now().Add(-leftoverAge)
	left := func(o blob.Listed) {
		if len(c.Leftovers) < mostLeftovers {
			c.Leftovers = append(c.Leftovers, o)
		} else {
			c.More++
		}
	}
	return func(all []blob.Listed) error {
		var needs []dynamo.Need
		var files []blob.Listed
		for _, o := range all {
			of, item := scores.OwnerOf(o.Key)
			need, other := needOf(o.Key)
			switch {
			case !item && other:
				c.Others++
			case o.Modified.After(young):
				c.Young++
			case !item:
				needs, files = append(needs, need), append(files, o)
			default:
				if told == nil || of != owner {
					var err error
					if told, err = (scores.Items{DB: s.DB}).ObjectsOf(ctx, of); err != nil {
						return err
					}
					owner = of
				}
				if !told[o.Key] {
					left(o)
				}
			}
		}
		there, err := s.DB.Exist(ctx, needs)
		if err != nil {
			return err
		}
		for i, there := range there {
			if !there {
				left(files[i])
			}
		}
		c.Objects += len(all)
		looked()
		return nil
	}
}

// needOf is the row that an object needs which is not an item's; other when it is not Taggie's.
func needOf(object string) (need dynamo.Need, other bool) {
	if need, is := projects.NeedOfFile(object); is {
		return need, false
	}
	if need, is := archives.NeedOfFile(object); is {
		return need, false
	}
	need, is := scores.NeedOfSnapshot(object)
	return need, !is
}
