package users

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/user"
)

// Standing tells whether somebody can act as a user.
type Standing int

// Gone is a user who does not exist, or is being erased; Away one who is deleted and can be brought back; Present everybody else.
const (
	Gone Standing = iota
	Away
	Present
)

// Standings returns how users stand, in the order of ids, and from when on nobody who is away can be brought back; zero where nobody is away.
// It sees every acknowledged write.
//
// Index: primary. Key: PK = USER#<user_id> AND SK = PROFILE. Cost: ⌈n/100⌉ BatchGetItem; none for nobody.
func (db Store) Standings(ctx context.Context, ids []user.ID) (stand []Standing, until time.Time, err error) {
	stand = make([]Standing, len(ids))
	found, errs := db.profiles(ctx, ids, func(domain.Deletion) bool { return true })
	for i, u := range found {
		switch {
		case errs[i] == dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
		case errs[i] != nil:
			return nil, time.Time{}, errs[i]
		case u.Deletion.State == "":
			stand[i] = Present
		case u.Deletion.State == domain.Deleted:
			stand[i] = Away
			if u.Deletion.UndoUntil.After(until) {
				until = u.Deletion.UndoUntil
			}
		}
	}
	return stand, until, nil
}

// Stays is the condition that a user is [Present], or [Away].
func Stays(id user.ID, as Standing, failed error) dynamo.Action {
	if as == Present {
		return There(id, failed)
	}
	return inState(id, domain.Deleted, failed)
}

// Membership says where the members of a project or scope are, and what is to be known of each of them.
type Membership[M any] struct {
	DB      *dynamo.DB
	Rows    dynamo.Span
	Decode  func(dynamo.Item, *M) error
	User    func(M) user.ID // "" for a row that is no member
	Manages func(M) bool
	Before  func(a, b M) int // in which order they inherit
}

// each hands over the members besides some, a page at a time, until it is told to stop.
func (m Membership[M]) each(ctx context.Context, besides []user.ID, see func(some []M) (more bool, err error)) error {
	for round := 0; ; round++ {
		m.Rows.Limit = dynamo.Further(round, 0)
		var some []M
		next, err := m.DB.Query(ctx, m.Rows, func(row dynamo.Item) (bool, error) {
			var one M
			err := m.Decode(row, &one)
			if id := m.User(one); id != "" && !slices.Contains(besides, id) {
				some = append(some, one)
			}
			return true, err
		})
		if err != nil {
			return err
		}
		if more, err := see(some); err != nil || !more || next == nil {
			return err
		}
		m.Rows.Start = next
	}
}

// standings are those of some members.
func (m Membership[M]) standings(ctx context.Context, some []M) (stand []Standing, until time.Time, err error) {
	ids := make([]user.ID, len(some))
	for i, one := range some {
		ids[i] = m.User(one)
	}
	return Store{DB: m.DB}.Standings(ctx, ids)
}

// managers divides members by whether they manage.
func (m Membership[M]) managers(some []M) (managers, others []M) {
	for _, one := range some {
		if m.Manages(one) {
			managers = append(managers, one)
		} else {
			others = append(others, one)
		}
	}
	return managers, others
}

// Others are the other members of a project or scope, by what those of them can do who still count.
type Others[M any] struct {
	Managed bool // somebody who is present manages it: then nothing else is known

	Heir    M         // the present member who comes first, in the order in which they inherit; the zero value for nobody
	Awaited bool      // somebody who is away manages it, and can be brought back
	Until   time.Time // from then on nobody is away any more, whether they manage it or not; zero where nobody is away
}

// Others tells the members besides a user apart by how they stand, and which of them manage. It stops at the first page with a manager who is present.
//
// Index: that of the members. Key: as Rows, and as Standings. Cost: 1 Query of 100, 200, 400, 500 … members, and 1 BatchGetItem for each 100 managers on them,
// until one is present; where none is, ⌈n/100⌉ BatchGetItem more for n other members.
func (m Membership[M]) Others(ctx context.Context, besides user.ID) (o Others[M], err error) {
	var rest []M
	err = m.each(ctx, []user.ID{besides}, func(some []M) (bool, error) {
		managers, others := m.managers(some)
		rest = append(rest, others...)
		stand, until, err := m.standings(ctx, managers)
		o.note(until)
		for i := range stand {
			o.Managed = o.Managed || stand[i] == Present
			o.Awaited = o.Awaited || stand[i] == Away
		}
		return !o.Managed, err
	})
	if err != nil || o.Managed {
		return Others[M]{Managed: o.Managed}, err
	}
	slices.SortStableFunc(rest, m.Before)
	stand, until, err := m.standings(ctx, rest)
	o.note(until)
	if first := slices.Index(stand, Present); first >= 0 {
		o.Heir = rest[first]
	}
	return o, err
}

// note takes the later of two instants.
func (o *Others[M]) note(until time.Time) {
	if until.After(o.Until) {
		o.Until = until
	}
}

// Witness returns the condition that somebody else still manages a project or scope when some leave it or manage it no more, and who that is: one who is
// present, or, if those who leave are gone, one who is away. It finds nobody where no manager is left. It stops at the first page with a manager who is present.
//
// Index: that of the members. Key: as Rows, and as Standings. Cost: 1 Query of 100, 200, 400, 500 … members, and 1 BatchGetItem for each 100 managers on them,
// until one is present; where the managers are away, 1 BatchGetItem more.
func (m Membership[M]) Witness(ctx context.Context, leaving []user.ID, failed error) (who M, stays dynamo.Action, found bool, err error) {
	best := Gone
	if err := m.each(ctx, leaving, func(some []M) (bool, error) {
		managers, _ := m.managers(some)
		stand, _, err := m.standings(ctx, managers)
		for i := range stand {
			if stand[i] > best {
				best, who = stand[i], managers[i]
			}
		}
		return best < Present, err
	}); err != nil || best == Gone {
		return who, stays, false, err
	}
	if best == Away {
		stand, _, err := Store{DB: m.DB}.Standings(ctx, leaving)
		if err != nil || slices.Max(stand) > Gone {
			return who, stays, false, err
		}
	}
	return who, Stays(m.User(who), best, failed), true, nil
}
