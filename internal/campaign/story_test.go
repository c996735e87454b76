package campaign_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/campaign"
)

// makes adds a score to the story: annotations are made before and after a snapshot of it, and one is taken away again.
func (s *story) makes() {
	op := func(ms int, kind campaign.Kind, of, name string) {
		s.operations = append(s.operations, campaign.Operation{
			Kind: kind, User: "ada", Of: of, Content: name, Began: at(ms), Ended: at(ms + 5), Outcome: campaign.Acknowledged, Tries: 1,
		})
	}
	op(100, campaign.Make, "annotations", "a1")
	op(300, campaign.Make, "annotations", "a2")
	op(310, campaign.Make, "annotations", "a3")
	op(320, campaign.Take, "annotations", "a3")
	op(330, campaign.Make, "annotations", "a4")
	op(200, campaign.Make, "snapshots", "s1")
	s.stored.Collections = []campaign.Collection{{ID: "snapshots", Members: []string{"s1"}}, {ID: "annotations", Members: []string{"a1", "a2", "a4"}}}
	s.stored.Copies = []campaign.Copy{{Of: "annotations", In: "snapshots", Name: "s1", Members: []string{"a1"}}}
	s.stored.Left = map[string]int{"transitions": 0}
	s.measured(func(int) float64 { return 100 })
}

// annotations are those that are stored.
func (s *story) annotations() *campaign.Collection { return &s.stored.Collections[1] }

// measured has a hundred readings, one each minute.
func (s *story) measured(value func(n int) float64) {
	of := campaign.Series{Of: "memory", Unit: "MiB", Growth: campaign.Growth{Breath: 20, PerHour: 5}}
	for n := range 100 {
		of.Readings = append(of.Readings, campaign.Reading{At: at(60_000 * n), Value: value(n)})
	}
	s.stored.Measured = []campaign.Series{of}
}

func TestTheSlopeIsByTheHourAndItsBoundByTheTime(t *testing.T) {
	s := &story{}
	s.measured(func(n int) float64 { return 100 + float64(n)/4 })
	of := s.stored.Measured[0]
	assert.Equal(t, 99*time.Minute, of.Long())
	assert.InDelta(t, 15, of.Slope(), 1e-6)
	assert.InDelta(t, 5+1.5*20/1.65, of.Most(), 1e-6)
	assert.Equal(t, "memory: +15.0 MiB an hour, at most +23.2, over 1h39m0s", of.String())

	for name, few := range map[string][]campaign.Reading{"none": nil, "one": of.Readings[:1], "two at once": {of.Readings[0], of.Readings[0]}} {
		of.Readings = few
		assert.Zero(t, of.Slope(), name)
		assert.Zero(t, of.Most(), name)
	}
}
