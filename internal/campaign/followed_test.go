package campaign_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/campaign"
)

// follows adds a follower of the score to the story. It loses its connection, is told one event again, and misses some later.
func (s *story) follows() {
	did := func(ms, version int, made string) {
		s.operations = append(s.operations, campaign.Operation{
			Kind: campaign.Make, User: "ada", Of: "followed", Content: made, Score: "score", Version: version, Made: made, Began: at(ms), Ended: at(ms + 5), Outcome: campaign.Acknowledged, Tries: 1,
		})
	}
	did(90, 2, "") // before anybody follows it
	did(110, 3, "")
	did(120, 0, "kept")
	did(150, 4, "") // which is missed
	did(170, 5, "")
	s.stored.Collections = append(s.stored.Collections, campaign.Collection{ID: "followed", Members: []string{"", "kept"}})
	told := func(ms int, t campaign.Told) {
		t.Subscriber, t.Score, t.Received, t.Position = "follower", "score", at(ms), campaign.Position{At: [2]uint64{uint64(ms), 0}}
		s.told = append(s.told, t)
	}
	told(100, campaign.Told{Telling: campaign.Snapshot})
	told(112, campaign.Told{Telling: campaign.Event, Type: "CHANGED", Version: 3})
	told(122, campaign.Told{Telling: campaign.Event, Type: "SNAPSHOT_CREATED", Version: 3, Made: "kept"})
	told(122, campaign.Told{Telling: campaign.Event, Type: "SNAPSHOT_CREATED", Version: 3, Made: "kept"})
	told(155, campaign.Told{Telling: campaign.Gap})
	told(160, campaign.Told{Telling: campaign.Snapshot})
	told(172, campaign.Told{Telling: campaign.Event, Type: "CHANGED", Version: 5})
}

// followed is the nth thing that the follower was told.
func (s *story) followed(nth int) int {
	first := slices.IndexFunc(s.told, func(t campaign.Told) bool { return t.Score != "" })
	return first + nth
}

func TestFollowersOfScoresAreToldEachChangeOnce(t *testing.T) {
	assert.Empty(t, good().check())
	without := func(nth int) func(*story) {
		return func(s *story) { s.told = slices.Delete(s.told, s.followed(nth), s.followed(nth)+1) }
	}
	for name, broken := range map[string]struct {
		rule campaign.Rule
		how  func(*story)
	}{
		"a change is not told":    {campaign.Whole, without(6)},
		"a gap is not told":       {campaign.Whole, without(4)},
		"no position after a gap": {campaign.Whole, without(5)},
		"no position at first":    {campaign.Whole, without(0)},
		"nothing after a gap":     {campaign.Whole, func(s *story) { s.told = s.told[:s.followed(5)] }},
		"nothing at all":          {campaign.Whole, func(s *story) { s.told = s.told[:s.followed(0)] }},
		"positions go back":       {campaign.Whole, func(s *story) { s.told[s.followed(6)].Position.At[0] = 50 }},
		"a change is told twice": {campaign.ToldOnce, func(s *story) {
			s.told[s.followed(3)] = s.told[s.followed(1)]
			s.told[s.followed(3)].Position.At[0] = 130
		}},
		"a snapshot is told twice": {campaign.ToldOnce, func(s *story) { s.told[s.followed(3)].Position.At[0] = 130 }},
		"a snapshot is not told": {campaign.Whole, func(s *story) {
			s.told = slices.Delete(s.told, s.followed(2), s.followed(5))
			s.told = slices.Delete(s.told, s.followed(2), s.followed(3))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := good()
			broken.how(s)
			violations := s.check()
			assert.True(t, slices.ContainsFunc(violations, func(v campaign.Violation) bool { return v.Rule == broken.rule }), "%v", violations)
		})
	}
	h := campaign.NewHistory(time.Now, nil)
	assert.Empty(t, campaign.Followed(h))
}
