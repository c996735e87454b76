package backup

import (
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// tables are the tables of the embedded DynamoDB, a SQLite database, as they were when [pin] returned. Its program goes on writing.
type tables struct{ db *sqlite3.Conn }

// pin begins to read the database. Writes that come later are not seen.
func pin(path string) (*tables, error) {
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE) // to read a write-ahead log takes more than to read a file
	if err != nil {
		return nil, err
	}
	t := &tables{db}
	if err := db.BusyTimeout(time.Second); err != nil { // the program may be starting
		return nil, errors.Join(err, t.close())
	}
	// A transaction begins with the first read.
	if err := db.Exec("BEGIN; SELECT count(*) FROM sqlite_schema"); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// pagesAtOnce is how many pages of the database are copied between two looks at the context.
const pagesAtOnce = 1000

// copyTo copies the database to a new file, and checks what it has written.
func (t *tables) copyTo(c *copying, path string) error {
	if err := writeSynced(path, nil); err != nil { // SQLite would make it for everybody
		return err
	}
	b, err := t.db.BackupInit("main", "file:"+escaped(path))
	if err != nil {
		return err
	}
	before := 0
	for done := false; !done && err == nil; {
		if done, err = b.Step(pagesAtOnce); err == nil {
			copied := b.PageCount() - b.Remaining()
			err = c.passed(int64(copied-before) * pageSize)
			before = copied
		}
	}
	if err := errors.Join(err, b.Close()); err != nil {
		return err
	}
	return check(path)
}

// pageSize is what SQLite chooses for the pages of a database. Only the progress depends on it.
const pageSize = 4096

func check(path string) error {
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return err
	}
	s, _, err := db.Prepare("PRAGMA quick_check(1)")
	if err != nil {
		return errors.Join(err, db.Close())
	}
	verdict := "nothing"
	if s.Step() {
		verdict = s.ColumnText(0)
	}
	if verdict != "ok" {
		err = fmt.Errorf("SQLite finds the copy damaged: %s", verdict)
	}
	return errors.Join(err, s.Close(), db.Close())
}

func (t *tables) close() error { return t.db.Close() }
