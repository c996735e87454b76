package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// took is a result of 10 requests.
func took(each time.Duration) result { return result{requests: 10, cpu: 10 * each} }

var contestantsOfTests = []*process{
	{name: nameTaggie, gogc: "200"}, {name: nameHandwritten}, {name: nameHandwritten, gogc: "200"}, {name: nameFloor, gogc: "200"}, {name: nameMercurius, foreign: true},
}

func TestServersAreComparedAtEqualSettings(t *testing.T) {
	results := []result{took(6 * time.Millisecond), took(10 * time.Millisecond), took(8 * time.Millisecond), took(2 * time.Millisecond), took(24 * time.Millisecond)}
	assert.Equal(t, []ratios{{0.6, 0.75}, {1, 0}, {0, 1}, {0, 0.25}, {2.4, 3}}, compareTo("200", contestantsOfTests, results))
}

func TestStandingsAreMedians(t *testing.T) {
	m := newMeasured("200")
	q := questions[0]
	where := shares{"dynamo": 300, "graph": 100}
	for _, ms := range []time.Duration{9, 5, 7} {
		results := []result{took(ms * time.Millisecond), took(10 * time.Millisecond), took(10 * time.Millisecond), took(2 * time.Millisecond), took(28 * time.Millisecond)}
		m.add(q, contestantsOfTests, results, where)
	}
	s := m.baseline()[q.name]
	assert.InDelta(t, 0.7, s.Ratio, 1e-9)
	assert.InDelta(t, 0.7, s.Equal, 1e-9)
	assert.InDelta(t, 0.2, s.Floor, 1e-9)
	assert.InDelta(t, 4, s.Peer, 1e-9)
	assert.InDelta(t, 0.525, s.Rooms["dynamo"], 1e-9)
	assert.InDelta(t, 0.175, s.Rooms["graph"], 1e-9)
	assert.Len(t, s.Rooms, len(rooms))
	assert.Zero(t, median(nil))
	assert.InDelta(t, 1, median([]float64{2, 1}), 0)
}

func TestBaselinesNameTheRoomThatChanged(t *testing.T) {
	standingOf := func(dynamo, graph float64) standing {
		return standing{Equal: dynamo + graph, Rooms: map[string]float64{"dynamo": dynamo, "graph": graph}}
	}
	path := filepath.Join(t.TempDir(), "baseline")
	before := baseline{"Q1": standingOf(0.4, 0.2), "Q2": standingOf(0.4, 0.2), "Q3": standingOf(0.4, 0.2)}
	require.NoError(t, before.write(path))
	read, err := readBaseline(path)
	require.NoError(t, err)
	assert.Equal(t, before, read)
	var out bytes.Buffer
	baseline{"Q1": standingOf(0.41, 0.2), "Q2": standingOf(0.39, 0.4), "Q3": standingOf(0.2, 0.2), "Q4": {}}.compareWith(&out, read)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 5)
	assert.Equal(t, "Q1: 0.61, was 0.60: no change that is more than noise", lines[1])
	assert.Equal(t, "Q2: 0.79, was 0.60: WORSE, most in graph (+0.20), aws (+0.00), loaders (+0.00)", lines[2])
	assert.Equal(t, "Q3: 0.40, was 0.60: better, most in dynamo (-0.20)", lines[3])
	assert.Equal(t, "Q4: not in the baseline", lines[4])
	_, err = readBaseline(filepath.Join(t.TempDir(), "none"))
	assert.Error(t, err)
}

func TestRoomsOfStacks(t *testing.T) {
	const taggie = "github.com/taggie/taggie/"
	for _, row := range []struct {
		room  string
		stack string // the innermost function first
	}{
		{"dynamo", "runtime.mallocgc " + taggie + "dynamo.(*answer).parse " + taggie + "dynamo/notes.Store.List " + taggie + "loaders.load " + taggie + "resolvers.x"},
		{"dynamo", "github.com/go-faster/jx.(*Decoder).Str " + taggie + "dynamo.read[go.shape.*github.com/aws/aws-sdk-go-v2/service/dynamodb.QueryInput]"},
		{"aws", "crypto/sha256.block github.com/aws/aws-sdk-go-v2/aws/signer/v4.(*Signer).SignHTTP " + taggie + "dynamo.(*narrow).request"},
		{"net", "internal/runtime/syscall/linux.Syscall6 syscall.write internal/poll.(*FD).Write net.(*conn).Write net/http.(*persistConn).writeLoop"},
		{"loaders", "runtime.mapassign github.com/vikstrous/dataloadgen.(*Loader[go.shape.string,go.shape.int]).Load " + taggie + "resolvers.x"},
		{"lean", "strconv.AppendInt " + taggie + "internal/lean.(*Plan).write " + taggie + "graph.x"},
		{"graph", "runtime.growslice " + taggie + "graph.(*executionContext)._Note github.com/99designs/gqlgen/graphql.x"},
		{"runtime", "runtime.scanobject runtime.gcDrain runtime.gcAssistAlloc runtime.mallocgc " + taggie + "dynamo.x"},
		{"runtime", "runtime.futex internal/runtime/atomic.Load runtime.findRunnable runtime.schedule runtime.mcall"},
		{"other", "encoding/json.Marshal main.main runtime.main"},
		{"other", taggie + "internal/dynamodb.x " + taggie + "dynamoish.y"},
	} {
		assert.Equal(t, row.room, roomOf(strings.Fields(row.stack)), row.stack)
	}
	for _, r := range roomsOf {
		assert.Contains(t, rooms, r.room)
	}
	assert.Equal(t, []string{"runtime", "other"}, rooms[len(rooms)-2:])
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(rooms))), len(rooms))
}

func TestSamplesAreCountedOnce(t *testing.T) {
	f := func(id uint64, name string) *pprof.Location {
		return &pprof.Location{ID: id, Line: []pprof.Line{{Function: &pprof.Function{ID: id, Name: name}}}}
	}
	leaf, store, root := f(1, "runtime.mallocgc"), f(2, "github.com/taggie/taggie/dynamo.x"), f(3, "github.com/taggie/taggie/graph.y")
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample: []*pprof.Sample{
			{Location: []*pprof.Location{leaf, store, root}, Value: []int64{3, 30}},
			{Location: []*pprof.Location{leaf, root}, Value: []int64{1, 10}},
		},
		Location: []*pprof.Location{leaf, store, root}, Function: []*pprof.Function{leaf.Line[0].Function, store.Line[0].Function, root.Line[0].Function},
	}
	var text bytes.Buffer
	require.NoError(t, p.Write(&text))
	s, err := readShares(&text)
	require.NoError(t, err)
	assert.Equal(t, shares{"dynamo": 30, "graph": 10}, s)
	assert.InDelta(t, 0.75, s.of("dynamo"), 1e-9)
	s.merge(shares{"graph": 20})
	assert.InDelta(t, 0.5, s.of("graph"), 1e-9)
	assert.Zero(t, shares{}.of("graph"))
}

func TestTurnsAddUp(t *testing.T) {
	var r result
	r.merge(result{requests: 1, took: 2, cpu: 3, latencies: []time.Duration{9}, calls: 4, connections: 1, allocated: heap{5, 6}, residentUnder: 8})
	r.merge(result{requests: 2, took: 1, cpu: 3, latencies: []time.Duration{1, 5}, calls: 1, allocated: heap{1, 1}, residentUnder: 7})
	assert.Equal(t, result{requests: 3, took: 3, cpu: 6, latencies: []time.Duration{1, 5, 9}, calls: 5, connections: 1, allocated: heap{6, 7}, residentUnder: 8}, r)
	assert.Equal(t, time.Duration(2), r.cpuPerRequest())
	assert.Equal(t, time.Duration(5), r.percentile(50))
}
