package dynamo

import "context"

// What only tests use of how things are counted.
const (
	AllowancesIdle   = allowancesIdle
	CountedAgain     = countedAgain
	CountedElsewhere = countedElsewhere
	CountedFull      = countedFull
	RecountFails     = recountFails
	RecountKnown     = recountKnown
	RecountSettles   = recountSettles
)

var (
	CountKey = countKey
	Outside  = outside
)

// AnotherServer is another server on the same tables.
func (db *DB) AnotherServer() *DB {
	other := *db
	other.tallies = newTallies(db.tallies.numbers, db.Now)
	return &other
}

// SetAllowances puts other numbers in place of those of the allowances.
func (db *DB) SetAllowances(numbers map[string]int) { db.tallies.numbers = numbers }

// CountsAgain reports whether things of the kind are being counted again.
func (db *DB) CountsAgain(kind string) bool { return db.tallies.recount(kind) != nil }

// Meet lets somebody come to the server.
func (db *DB) Meet(a Allowance, of string) { db.tallies.of(a, of) }

// Want lets somebody want n more of something.
func (db *DB) Want(a Allowance, of string, n int) error { return db.tallies.add(a, of, n) }

// Known tells of how many the server knows what they have.
func (db *DB) Known() int { return len(db.tallies.by) }

// Says returns what the row says that counts things.
func (db *DB) Says(ctx context.Context, kind, of string) (int, error) {
	return db.readCount(ctx, Allowed{kind, of})
}
