package dynamo

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

func TestBatchPutRepeatsWhatIsUnprocessed(t *testing.T) {
	t.Parallel()
	db, inj := openDB(t, nil)
	inj.LeaveUnprocessed(5, faultinject.Always)
	inj.Throttle(faultinject.Every(3))
	var rows []Put
	for i := range 60 {
		rows = append(rows, Put{Table: NotesTable, Item: NotesTable.Key(Key{"p", fmt.Sprint(i)})})
	}
	require.NoError(t, db.BatchPut(soon(t, 20*time.Second), rows))
	inj.Clear()
	var w wanted
	w.add(NotesTable, upTo(60)...)
	for _, err := range db.BatchGet(t.Context(), w.wants) {
		assert.NoError(t, err)
	}
	assert.Empty(t, inj.Recorder().Violations())
	inj.Throttle(faultinject.Always)
	assert.Error(t, db.BatchPut(soon(t, time.Second), rows))
}
