package queue

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/labelling"
)

func TestWhatIsForgottenIsNotVouchedFor(t *testing.T) {
	t.Parallel()
	var all told
	start := time.Now()
	all.add("old", labelling.Cursor{Epoch: "e", ID: "1-0"}, start)
	_, known := all.since("old", "e", start.Add(-time.Second))
	assert.True(t, known)

	all.add("another", labelling.Cursor{Epoch: "e", ID: "1-0"}, start.Add(2*toldFor))
	assert.NotContains(t, all.of, "old")
	_, known = all.since("old", "e", start.Add(-time.Second))
	assert.False(t, known, "an event since then is forgotten")
	_, known = all.since("old", "e", start.Add(time.Second))
	assert.True(t, known, "nothing was told since then")
}

func TestABurstIsVouchedForAsFarAsItIsRemembered(t *testing.T) {
	t.Parallel()
	var all told
	start := time.Now()
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Millisecond) }
	const told = 2*toldKept + 1
	for i := range told {
		all.add("busy", labelling.Cursor{Epoch: "e", ID: strconv.Itoa(i)}, at(i))
	}
	_, known := all.since("busy", "e", start)
	assert.False(t, known, "the first are forgotten")
	ids, known := all.since("busy", "e", at(told-toldKept*3/4))
	assert.True(t, known)
	assert.Len(t, ids, toldKept*3/4, "none but those since then")
	assert.LessOrEqual(t, len(all.of["busy"].all), toldKept)

	later := at(told).Add(2 * toldFor)
	for i := range 100 { // a quarter at a time
		all.add("busy", labelling.Cursor{Epoch: "e", ID: "later"}, later.Add(time.Duration(i)))
	}
	ids, known = all.since("busy", "e", later)
	assert.True(t, known)
	assert.Len(t, ids, 100)
	assert.Less(t, len(all.of["busy"].all), 300, "what is old is forgotten")
}

func TestAnOutageIsVouchedFor(t *testing.T) {
	t.Parallel()
	var all told
	start := time.Now()
	for i := range 200 {
		all.add("busy", labelling.Cursor{Epoch: "e", ID: strconv.Itoa(i)}, start.Add(time.Duration(i)*time.Millisecond))
	}
	for i := range 50 { // when Redis is back, before anybody has asked
		all.add("busy", labelling.Cursor{Epoch: "e", ID: "later"}, start.Add(9*time.Minute).Add(time.Duration(i)*time.Millisecond))
	}
	ids, known := all.since("busy", "e", start)
	assert.True(t, known)
	assert.Len(t, ids, 250)
}

func TestEventsOfAllProjectsAreBounded(t *testing.T) {
	t.Parallel()
	var all told
	start := time.Now()
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Microsecond) }
	const told, projects = toldOfAll + 10_000, 1_000
	for i := range told {
		all.add(strconv.Itoa(i%projects), labelling.Cursor{Epoch: "e", ID: strconv.Itoa(i)}, at(i))
	}
	kept := 0
	for _, of := range all.of {
		kept += len(of.all)
	}
	assert.Equal(t, kept, all.many)
	assert.LessOrEqual(t, kept, toldOfAll/2+10_000+projects)
	_, known := all.since("7", "e", start)
	assert.False(t, known, "the first are forgotten")
	ids, known := all.since("7", "e", at(told*3/4))
	assert.True(t, known)
	assert.NotEmpty(t, ids)
}

// Too many events make those be forgotten that were told first, whatever their project.
func TestAQuietProjectDoesNotHaveOthersForgotten(t *testing.T) {
	t.Parallel()
	var all told
	start := time.Now()
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Millisecond) }
	for i := range toldOfAll {
		all.add(strconv.Itoa(i%100), labelling.Cursor{Epoch: "e", ID: strconv.Itoa(i)}, at(i))
	}
	all.add("quiet", labelling.Cursor{Epoch: "e", ID: "1"}, at(toldOfAll)) // is one too many
	for key, want := range map[string]int{"7": 50, "quiet": 1} {
		ids, known := all.since(key, "e", at(toldOfAll-5_000))
		assert.True(t, known, key)
		assert.Len(t, ids, want, key)
	}
	for i := range toldOfAll + 1 {
		all.add(strconv.Itoa(i), labelling.Cursor{Epoch: "e", ID: "1"}, at(toldOfAll)) // all at one moment
	}
	assert.LessOrEqual(t, all.many, toldOfAll)
}
