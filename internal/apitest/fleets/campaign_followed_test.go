package fleets

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/campaign"
	"github.com/taggie/taggie/internal/follow"
)

const campaignScore = `subscription($s: ID!, $a: ScoreCursor) { scoreEvents(scoreId: $s, after: $a) { __typename
	... on ScorePosition { cursor }
	... on ScoreEvent { cursor type at version snapshotId }
	... on ScoreGap { message } } }`

// follows has a score followed until the context ends, now at one server, now at another one.
func (e *expedition) follows(ctx context.Context, user, score string) {
	number := fnv.New64a()
	_, _ = number.Write([]byte(score)) // never fails
	s := &campaign.Subscriber{
		Work: e.work, Name: "follower of " + score, User: user, Listener: followed{e, score}, Rand: rngOf(e.seed, number.Sum64()), Moves: 4 * time.Second,
	}
	e.followed.Go(func() { _ = s.Run(ctx, func(campaign.Message) bool { return false }) })
}

// followed is a score, to whose events one listens.
type followed struct {
	*expedition
	score string
}

// Listen listens to the score at one server after the other.
func (f followed) Listen(ctx context.Context, user string, after any, heard func(campaign.Message) bool) error {
	return f.listens(ctx, user, campaignScore, apitest.Vars{"s": f.score, "a": after}, f.messageOf, heard)
}

// messageOf reads what a follower was told. What could not be read whole is read again from the cursor before.
func (f followed) messageOf(r apitest.Streamed) (campaign.Message, error) {
	if len(r.Errors) > 0 {
		return campaign.Message{}, campaign.ErrAgain
	}
	var m struct {
		ScoreEvents struct {
			Typename   string `json:"__typename"`
			Cursor     string
			Type       string
			At         time.Time
			Version    int
			SnapshotID string
		}
	}
	text, err := json.Marshal(r.Data)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return campaign.Message{}, fmt.Errorf("%w: %w", campaign.ErrOver, err)
	}
	e := m.ScoreEvents
	if e.Typename == "ScoreGap" {
		return campaign.Message{Told: campaign.Told{Score: f.score, Telling: campaign.Gap}}, nil
	}
	told := campaign.Told{Score: f.score, Telling: campaign.Event, Type: e.Type, At: e.At, Version: e.Version, Made: e.SnapshotID}
	if e.Typename == "ScorePosition" {
		told.Telling = campaign.Snapshot
	}
	cursor, err := follow.ParseCursor(e.Cursor)
	for i, part := range strings.SplitN(cursor.Own, "-", 2) {
		if err == nil {
			told.Position.At[i], err = strconv.ParseUint(part, 10, 64)
		}
	}
	if err != nil {
		return campaign.Message{}, fmt.Errorf("%w: the cursor %s: %w", campaign.ErrOver, e.Cursor, err)
	}
	return campaign.Message{Told: told, Cursor: e.Cursor}, nil
}
