package dynamo

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

func TestBatchWriteRepeatsWhatIsUnprocessed(t *testing.T) {
	t.Parallel()
	db, inj := openDB(t, nil)
	fill(t, db, NotesTable, 60, 0)
	inj.Recorder().Reset()
	inj.LeaveUnprocessed(5, faultinject.Always)
	inj.Throttle(faultinject.Every(3))
	var rows []Write
	for i := range 60 {
		rows = append(rows, Write{Table: NotesTable, Key: Key{"p", fmt.Sprint(i)}})
	}
	require.NoError(t, db.BatchWrite(soon(t, 20*time.Second), rows))
	inj.Clear()
	var w wanted
	w.add(NotesTable, upTo(60)...)
	for _, err := range db.BatchGet(t.Context(), w.wants) {
		assert.Equal(t, ErrMissing, err)
	}
	assert.Empty(t, inj.Recorder().Violations())
	inj.Throttle(faultinject.Always)
	assert.Error(t, db.BatchWrite(soon(t, time.Second), rows))
}
