package httpapi

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/httpapi/execution"
)

// interruptions are ways in which what a subscription needs goes away, after one message where there is a source.
var interruptions = []struct{ name, query, source string }{
	{"it does not begin in time", `subscription { stuck }`, ""},
	{"its source ends", `subscription { ticks(source: "breaks") }`, "breaks"},
	{"a message cannot be read", `subscription { half(source: "away") }`, "away"},
}

// ends has the source of a play end, or tell of something that cannot be read.
func (p *play) ends(source string) {
	switch source {
	case "breaks":
		close(p.source(source))
	case "away":
		p.source(source) <- 1
	}
}

func TestASocketIsClosedWhenASubscriptionIsInterrupted(t *testing.T) {
	for _, tt := range interruptions {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				c := th.ready("ada")
				c.subscribe("1", tt.query)
				synctest.Wait()
				th.play.ends(tt.source)
				assert.Equal(t, execution.MessageInterrupted, c.closed(1013), "no error, and no complete")
			})
		})
	}
}

func TestAnInterruptedSubscriptionLetsAMutationEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		c.subscribe("s", `subscription { ticks(source: "breaks") }`)
		c.subscribe("m", `mutation { slow }`)
		synctest.Wait()
		th.play.ends("breaks")
		synctest.Wait()
		c.subscribe("late", `{ hello }`) // which clients send again
		synctest.Wait()
		close(th.play.gate)
		c.expects(`{"type":"next","id":"m","payload":{"data":{"slow":"done"}}}`)
		c.expects(`{"type":"complete","id":"m"}`)
		c.closed(1013)
	})
}

func TestAnEventStreamIsCutWhenASubscriptionIsInterrupted(t *testing.T) {
	for _, tt := range interruptions {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				l := th.stream(tt.query).opened()
				synctest.Wait()
				th.play.ends(tt.source)
				l.cut(execution.MessageInterrupted)
			})
		})
	}
}
