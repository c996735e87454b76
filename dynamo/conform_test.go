package dynamo

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/storetest"
)

func openStores(t *testing.T, now func() time.Time) storetest.Stores {
	db, inj := openDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return stores(db)
}

// openFaultyDB returns a DB whose every tenth call or so is throttled, refused or broken, before or after the engine
// carried it out, whose batches are cut short, and whose engine knows no tokens, so that every write that is sent again
// has to be safe by itself.
func openFaultyDB(t *testing.T, now func() time.Time) *DB {
	db, inj := openDBOn(t, now, forget)
	inj.Throttle(faultinject.Every(10))
	inj.Fail(http.StatusInternalServerError, "InternalServerError", faultinject.Every(17))
	inj.ResetBefore(faultinject.Every(23))
	inj.ResetAfter(faultinject.Every(13))
	inj.Conflict(faultinject.Every(11))
	inj.LeaveUnprocessed(40, faultinject.Every(3))
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return db
}

func openFaulty(t *testing.T, now func() time.Time) storetest.Stores {
	return stores(openFaultyDB(t, now))
}

func TestUsers(t *testing.T) { storetest.Users(t, openStores) }

func TestNotes(t *testing.T) { storetest.Notes(t, openStores) }

func TestUsersWithFaults(t *testing.T) { storetest.Users(t, openFaulty) }

func TestNotesWithFaults(t *testing.T) { storetest.Notes(t, openFaulty) }
