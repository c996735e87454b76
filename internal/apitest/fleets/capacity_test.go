package fleets

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/capacity"
)

// capacityOptions are the flags of [TestCapacity].
type capacityOptions struct {
	size, to   capacity.Size // what is measured, and what that is extrapolated to
	operations int
	rest       time.Duration
	keep, kept string // files
}

// capacityFlags are for TestCapacity, which is small without them.
var capacityFlags = capacityOptions{size: capacity.Size{Projects: 1}}

// declare declares the flags, before they are parsed.
func (o *capacityOptions) declare() {
	flag.IntVar(&o.size.Items, "capacity-items", 200, "items that are labelled")
	flag.IntVar(&o.size.Labellers, "capacity-labellers", 5, "people who label them, and who follow the project in the end")
	flag.IntVar(&o.size.Servers, "capacity-servers", 3, "servers, each of whom a part of these people asks")
	flag.IntVar(&o.operations, "capacity-operations", 2, "how often each operation is measured")
	flag.DurationVar(&o.rest, "capacity-rest", time.Second, "for how long servers are measured that nobody asks for anything")
	flag.IntVar(&o.to.Items, "capacity-to-items", 1_000_000, "items of the Taggie that this is extrapolated to")
	flag.IntVar(&o.to.Labellers, "capacity-to-labellers", 10_000, "its labellers")
	flag.IntVar(&o.to.Servers, "capacity-to-servers", 20, "its servers")
	flag.IntVar(&o.to.Projects, "capacity-to-projects", 5, "its projects, each with as many of the labellers: a project has at most 2,000 members")
	flag.DurationVar(&o.to.Each, "capacity-each", 10*time.Second, "how long a labeller takes for an item there")
	flag.StringVar(&o.keep, "capacity-keep", "", "file to keep what is measured in")
	flag.StringVar(&o.kept, "capacity-kept", "", "file to which -capacity-keep wrote: nothing is measured, what is in there is extrapolated")
}

// TestCapacity measures what servers consume, and says what that means for a larger Taggie; see docs/capacity.md. Small as it is here, it
// shows that all is counted, and that what is counted is right.
func TestCapacity(t *testing.T) {
	o := capacityFlags
	if o.kept != "" {
		file, err := os.Open(o.kept)
		require.NoError(t, err)
		defer func() { _ = file.Close() }()
		m, err := capacity.Kept(file)
		require.NoError(t, err)
		require.NoError(t, m.Write(t.Output(), o.to))
		return
	}
	w := newCapacityWorld(t, o.size)
	w.settles(o.operations)
	w.countsANote()
	w.rests(o.rest)
	w.operations(o.operations)
	r := w.works()

	for key, row := range w.recorder.Usage().Rows {
		assert.NotEqual(t, capacity.Unknown, capacity.Classify(key, row).Spread, "a class of %+v %q", key, row)
	}
	assert.Zero(t, w.missed(), "commands of Redis that were not seen")
	if doubts := w.recorder.Doubts(); len(doubts) == 0 {
		for n, p := range []capacity.Phase{r.Quiet, r.Few, r.Crowd} {
			w.exactly(p, w.skips[n])
		}
	} else { // writes that servers gave up because the machine was busy
		t.Logf("not counted: %v", doubts)
		assert.Greater(t, o.size.Items, 200, "so few are counted exactly")
	}
	t.Logf("the engine tells other units for tables, by call: %v", w.recorder.Apart())

	m := capacity.Measured{Costs: w.costs, Record: r}
	require.NoError(t, m.Write(t.Output(), o.to))
	var kept bytes.Buffer
	require.NoError(t, m.Keep(&kept))
	if o.keep != "" {
		require.NoError(t, os.WriteFile(o.keep, kept.Bytes(), 0o600))
	}
	again, err := capacity.Kept(&kept)
	require.NoError(t, err)
	assert.Equal(t, capacity.Extrapolate(r, o.to), capacity.Extrapolate(again.Record, o.to))
}

// exactly checks what is known of the work: a claim, a finish and a skip change the status of an item, which writes two entries of an index, each
// of one unit, and nothing else writes there.
func (w *capacityWorld) exactly(p capacity.Phase, skips int) {
	w.t.Helper()
	written := 0.0
	for key, units := range p.Usage.Units {
		if key.Index == "index_lookup" && strings.Contains(key.Partition, ":status~") {
			written += units.Write
		}
	}
	assert.InDelta(w.t, 4*(p.Finished+skips), written, 1e-6)
}

// countsANote checks what a note takes, by key: it has two started kilobytes, and all other rows have one. Its transaction
// takes twice as much in the table and in its local index, but not in the global one. Once its event is told, the row of that goes.
func (w *capacityWorld) countsANote() {
	w.t.Helper()
	u := w.servers[0].user("author@example.com")
	note := ""
	spent := w.consumed(func() {
		note = u.Mutate("createNote", "note { id }", apitest.Vars{"title": "Herons", "content": strings.Repeat("h", 1100), "tags": []string{"birds", "grey"}, "idempotencyKey": "once"}).Str("result.note.id")
	})
	user, id := apitest.GlobalKey(w.t, u.ID)[1], apitest.GlobalKey(w.t, note)[1]
	written := map[string]float64{}
	for key, units := range spent.Usage.Units {
		of := strings.NewReplacer(user, "<user>", id, "<note>").Replace(key.Partition)
		if units.Write > 0 && (of != key.Partition || strings.HasPrefix(of, "OUTBOX#")) {
			shard, _, _ := strings.Cut(of, "#")
			written[strings.TrimSpace(key.Index+" "+shard)] += units.Write
		}
	}
	assert.Equal(w.t, map[string]float64{
		"USER":      2*2 + 2*1 + 2*1, // the note of two kilobytes, and two tags
		"LSI1 USER": 2,
		"GSI2 NOTE": 1,
		"NOTE":      2, // where it is
		"OUTBOX":    2 + 1,
		"IDEM":      2,
	}, written)
}
