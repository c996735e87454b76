package users

import (
	"context"
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

// Others are the other members of a project or scope, by what those of them can do who still count.
type Others[M any] struct {
	Heir    M    // the present member who comes first, in the order in which they inherit; the zero value for nobody
	Managed bool // somebody who is present manages it
	Awaited bool // somebody who is away manages it, and can be brought back

	Until time.Time // from then on nobody is away any more, whether they manage it or not; zero where nobody is away
}

// Kept reports whether somebody manages it, or will when they are brought back.
func (o Others[M]) Kept() bool { return o.Managed || o.Awaited }

// OthersOf tells the members apart by how they stand, and which of them manage. The members come in the order in which they inherit.
//
// Index: primary. Key: as Standings. Cost: as Standings.
func OthersOf[M any](ctx context.Context, db *dynamo.DB, members []M, id func(M) user.ID, manages func(M) bool) (o Others[M], err error) {
	ids := make([]user.ID, len(members))
	for i, m := range members {
		ids[i] = id(m)
	}
	stand, until, err := Store{DB: db}.Standings(ctx, ids)
	o.Until = until
	for i := len(stand) - 1; i >= 0; i-- {
		switch stand[i] {
		case Present:
			o.Heir = members[i]
			o.Managed = o.Managed || manages(members[i])
		case Away:
			o.Awaited = o.Awaited || manages(members[i])
		}
	}
	return o, err
}

// Witness returns the condition that somebody else still manages a project or scope when some leave it or manage it no more, and who that is: one who is
// present, or, if those who leave are gone, one who is away. It finds nobody where no manager is left.
//
// Index: primary. Key: as Standings. Cost: as Standings.
func (db Store) Witness(ctx context.Context, managers, leaving []user.ID, failed error) (who int, stays dynamo.Action, found bool, err error) {
	stand, _, err := db.Standings(ctx, append(append([]user.ID{}, managers...), leaving...))
	if err != nil {
		return 0, dynamo.Action{}, false, err
	}
	least := Away
	for _, s := range stand[len(managers):] {
		if s != Gone {
			least = Present
		}
	}
	for as := Present; as >= least; as-- {
		for i := range managers {
			if stand[i] == as {
				return i, Stays(managers[i], as, failed), true, nil
			}
		}
	}
	return 0, dynamo.Action{}, false, nil
}
