package capacity_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/capacity"
)

const (
	project = "11111111-1111-4111-8111-111111111111"
	person  = "22222222-2222-4222-8222-22222222222%d"
)

// record is made up: two labellers finish ten items in ten seconds at one server, in one project, whoever follows it.
func record(work units) capacity.Record {
	p := phase(work, 10*time.Second)
	p.Finished = 10
	return capacity.Record{Size: capacity.Size{Items: 100, Labellers: 2, Servers: 1, Projects: 1}, Idle: phase(nil, time.Second), Quiet: p, Few: p, Crowd: p}
}

func phase(used units, took time.Duration) capacity.Phase {
	return capacity.Phase{Expense: capacity.Expense{Usage: capacity.Usage{Units: used}, Redis: &capacity.Slots{}, Took: took}}
}

// large is a thousand finishes a second, of five projects.
var large = capacity.Size{Items: 1_000_000, Labellers: 10_000, Servers: 20, Projects: 5, Each: 10 * time.Second}

func TestKeysOfAProjectAreSharedByItsPeople(t *testing.T) {
	t.Parallel()
	status := func(shard int) capacity.Key {
		return capacity.Key{Table: "index_entries", Index: "index_lookup", Partition: fmt.Sprintf("%s:status~%02d", project, shard)}
	}
	loads := capacity.Extrapolate(record(units{status(0): writes(30), status(1): writes(10)}), large)
	require.Len(t, loads, 1)
	assert.Equal(t, capacity.Class{Name: "index_entries/index_lookup <id>:status~<shard>", Spread: capacity.ByProject}, loads[0].Class)
	assert.Equal(t, 2, loads[0].Keys)
	assert.InDelta(t, 4, loads[0].PerItem.Write, 1e-9, "40 units for 10 items")
	assert.InDelta(t, 4000, loads[0].All.Write, 1e-9, "1,000 items a second")
	assert.InDelta(t, 600, loads[0].Busiest.Write, 1e-9, "three quarters are in one shard of one of five projects")
	assert.InDelta(t, 0.6, loads[0].Share(), 1e-9)
}

func TestAHotKeyIsTheFirst(t *testing.T) {
	t.Parallel()
	hot := capacity.Key{Table: "notes", Index: "GSI2", Partition: "USERS"}
	loads := capacity.Extrapolate(record(units{
		hot: writes(20),
		{Table: "relationship_entries", Partition: "taggie:Outbox:03"}:                    writes(2),
		{Table: "relationship_entries", Partition: fmt.Sprintf("taggie:User:"+person, 1)}: writes(500),
	}), large)
	require.Len(t, loads, 3)
	assert.Equal(t, "notes/GSI2 USERS", loads[0].Name)
	assert.InDelta(t, 2000, loads[0].Busiest.Write, 1e-9, "one key takes the writes of all finishes")
	assert.Greater(t, loads[0].Share(), 1.0)
	assert.InDelta(t, 200, loads[1].Busiest.Write, 1e-9)
	assert.InDelta(t, 10, loads[2].Busiest.Write, 1e-9, "50 for each item, of which a labeller finishes one in ten seconds, twice as many as on average")
}

func TestItemsCountWhileTheyAreInHand(t *testing.T) {
	t.Parallel()
	work := units{}
	for n := range 10 {
		work[capacity.Key{Table: "index_entries", Partition: fmt.Sprintf("%s:ProjectItem:"+person, project, n)}] = capacity.Units{Read: 5, Write: 10}
	}
	loads := capacity.Extrapolate(record(work), large)
	require.Len(t, loads, 1)
	assert.InDelta(t, 1, loads[0].Busiest.Write, 1e-9, "10 for each item, and one item in ten seconds")
	assert.InDelta(t, 0.5, loads[0].Busiest.Read, 1e-9)
}

func TestWhatServersDoAnywayGrowsWithServers(t *testing.T) {
	t.Parallel()
	outbox := capacity.Key{Table: "relationship_entries", Partition: "taggie:Outbox:00"}
	r := record(units{outbox: {Read: 70, Write: 10}})
	r.Idle = phase(units{outbox: reads(8)}, 2*time.Second)
	loads := capacity.Extrapolate(r, large)
	require.Len(t, loads, 1)
	assert.InDelta(t, 3, loads[0].PerItem.Read, 1e-9, "40 of 70 were read anyway")
	assert.InDelta(t, 3080, loads[0].Busiest.Read, 1e-9, "3 for each of 1,000 items, and 4 for each of 20 servers")
	assert.InDelta(t, 1000, loads[0].Busiest.Write, 1e-9)
}

func TestSubscribersCountByTheirNumberAndNotByItems(t *testing.T) {
	t.Parallel()
	members := capacity.Key{Table: "relationship_entries", Partition: project + ":Project:" + project}
	r := record(units{members: reads(10)})
	r.Few.Usage.Units, r.Crowd.Usage.Units = units{members: reads(12)}, units{members: reads(14)}
	r.Listening = map[string]capacity.Units{"relationship_entries <id>:Project:<id>": reads(0.2)}
	loads := capacity.Extrapolate(r, large)
	require.Len(t, loads, 1)
	assert.InDelta(t, 1, loads[0].PerItem.Read, 1e-9)
	assert.InDelta(t, 0, loads[0].PerServer.Read+loads[0].PerSubscriber.Read, 1e-9, "2 and 4 more were read for one and two subscribers")
	assert.InDelta(t, (1000+0.2*10_000)/5, loads[0].Busiest.Read, 1e-9)
}

func TestWhatIsTimedGrowsWithServersAlone(t *testing.T) {
	t.Parallel()
	revocations := capacity.Key{Table: "notes", Partition: "REVOCATIONS#2026-11-28"}
	r := record(units{revocations: reads(20)})
	r.Idle = phase(units{revocations: reads(1)}, time.Second)
	loads := capacity.Extrapolate(r, large)
	require.Len(t, loads, 1)
	assert.Zero(t, loads[0].PerItem)
	assert.InDelta(t, 40, loads[0].Busiest.Read, 1e-9, "2 a second were most, for each of 20 servers")
}

func TestALocalIndexIsInThePartitionsOfItsTable(t *testing.T) {
	t.Parallel()
	user := "USER#" + fmt.Sprintf(person, 1)
	loads := capacity.Extrapolate(record(units{{Table: "notes", Partition: user}: writes(10), {Table: "notes", Index: "LSI1", Partition: user}: writes(20)}), large)
	require.Len(t, loads, 1)
	assert.Equal(t, 1, loads[0].Keys)
	assert.InDelta(t, 3, loads[0].PerItem.Write, 1e-9)
}

func TestWhatIsReadForSubscribersGrowsWithServersAndSubscribers(t *testing.T) {
	t.Parallel()
	list := capacity.Key{Table: "entities_master", Partition: project}
	r := record(units{list: reads(10)})
	for p, n := range map[*capacity.Phase]float64{&r.Quiet: 100, &r.Few: 400, &r.Crowd: 450} {
		p.Finished = 100
		p.Usage = capacity.Usage{Units: units{list: reads(n)}, Rows: map[capacity.Key]string{list: project + ":CategoryList"}}
	}
	loads := capacity.Extrapolate(r, large)
	require.Len(t, loads, 1)
	assert.InDelta(t, 1, loads[0].PerItem.Read, 1e-9)
	assert.InDelta(t, 0.5, loads[0].PerSubscriber.Read, 1e-9, "the second subscriber takes 50 more for 100 items")
	assert.InDelta(t, 2.5, loads[0].PerServer.Read, 1e-9, "the first one takes 300, of which 250 are the server's")
	assert.InDelta(t, (1+2.5*20+0.5*2000)*1000/5, loads[0].Busiest.Read, 1e-9)
	assert.Greater(t, loads[0].Share(), 70.0)
}

func TestTheBusiestSlotOfRedis(t *testing.T) {
	t.Parallel()
	r := record(nil)
	own := "taggie:project:queue:{" + project + "}"
	r.Quiet.Redis, r.Few.Redis, r.Crowd.Redis = &capacity.Slots{}, &capacity.Slots{}, &capacity.Slots{}
	for _, s := range []*capacity.Slots{r.Quiet.Redis, r.Few.Redis, r.Crowd.Redis} {
		s.Add([]string{"EVALSHA", "abc", "1", own, "x"}, 2*time.Millisecond)
		s.Add([]string{"EVALSHA", "ghi", "1", "taggie:finished:{3}"}, 10*time.Millisecond)
		s.Add([]string{"GET", "taggie:project:queue:size"}, time.Millisecond)
		s.Add([]string{"PING"}, time.Hour)
	}
	for _, s := range []*capacity.Slots{r.Few.Redis, r.Crowd.Redis} {
		s.Add([]string{"XREAD", "COUNT", "1", "STREAMS", "taggie:project:events:{" + project + "}", "0-0"}, time.Millisecond)
	}
	slots := capacity.ExtrapolateRedis(r, large)
	require.Len(t, slots, 3)
	assert.Equal(t, "messages {<n>}", slots[0].Kind.Name)
	assert.InDelta(t, 1, slots[0].Share, 1e-9, "1 ms for each item, and 1,000 a second")
	assert.Equal(t, capacity.SlotKind{Name: "project {<id>}", Spread: capacity.ByProject}, slots[1].Kind)
	assert.Equal(t, 1, slots[1].Slots)
	assert.Equal(t, 200*time.Microsecond, slots[1].PerItem)
	assert.Equal(t, 100*time.Microsecond, slots[1].PerServer, "what one server reads, each of 20 servers reads")
	assert.InDelta(t, (0.2+0.1*20)/5, slots[1].Share, 1e-9)
}

func TestTimesOfSlotsAreMadeTheTimeOfRedis(t *testing.T) {
	t.Parallel()
	s := &capacity.Slots{}
	s.Add([]string{"GET", "a"}, time.Millisecond)
	s.Add([]string{"SET", "{b}c", "1"}, 3*time.Millisecond)
	what, spent := s.Scaled(2 * time.Millisecond).Most(5)
	assert.Equal(t, []string{"set {…}c", "get a"}, what)
	assert.Equal(t, []capacity.Spent{{Calls: 1, Time: 1500 * time.Microsecond}, {Calls: 1, Time: 500 * time.Microsecond}}, spent)
}

func TestTellingSubscribersGrowsWithTheSquareOfAProject(t *testing.T) {
	t.Parallel()
	r := record(nil)
	r.Quiet.CPU, r.Few.CPU, r.Crowd.CPU = 100*time.Millisecond, 141*time.Millisecond, 142*time.Millisecond
	cores := capacity.ExtrapolateCPU(r, large)
	assert.Equal(t, 10*time.Millisecond, cores.PerItem)
	assert.Equal(t, 100*time.Microsecond, cores.PerSubscriber)
	assert.Equal(t, 4*time.Millisecond, cores.PerServer)
	assert.InDelta(t, 0.5, cores.Items, 1e-9)
	assert.InDelta(t, 4, cores.Events, 1e-9, "each server reads all")
	assert.InDelta(t, 10, cores.Subscribers, 1e-9, "each item of 1,000 a second has 2,000 subscribers, 100 of them on each server")
}
