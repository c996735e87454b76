package fleets

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/campaign"
	"github.com/taggie/taggie/internal/gid"
)

// What can be said about campaigns from outside.
const (
	campaignSeed    = "TAGGIE_TEST_SEED"    // a number that decides what is broken when, and who does what
	campaignHistory = "TAGGIE_TEST_HISTORY" // a directory for histories
)

// seedOf returns the seed of a test: the given one, or any.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64() >> 32
	if given := os.Getenv(campaignSeed); given != "" {
		var err error
		seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err, campaignSeed)
	}
	t.Logf("%s=%d", campaignSeed, seed)
	return seed
}

// expedition is a campaign on real servers.
type expedition struct {
	*fleet
	apitest.Crew
	random  *rand.Rand
	seed    uint64
	history *campaign.History
	work    campaign.Work
	tokens  sync.Map // by user
	calls   atomic.Uint64
	dialled atomic.Uint64
	notes   []string
	makers  []maker
	large   string        // a note that fills answers
	waits   time.Duration // how long a client waits for an answer before it asks another server
	bounds  campaign.Bounds
	connect func(ctx context.Context, network, addr string) (net.Conn, error) // for subscriptions; nil: as usual

	stop     context.CancelFunc
	working  sync.WaitGroup
	watching sync.WaitGroup
	followed sync.WaitGroup
	unfollow context.CancelFunc
	kept     time.Duration // after how long what is told was what is stored
	stood    bool          // whether what is being broken has a server stand still
}

// historyDirectory gives the directory for records and logs, which it makes if need be; "" if none are wanted.
func historyDirectory(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(campaignHistory)
	if dir != "" {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	return dir
}

// newExpedition prepares a campaign on servers that are there, in a project that is.
func newExpedition(t *testing.T, f *fleet, l apitest.Crew) *expedition {
	t.Helper()
	return newExpeditionAs(t, strings.ReplaceAll(t.Name(), "/", "-"), seedOf(t), f, l)
}

// newExpeditionAs prepares a campaign by the seed, whose history has that name.
func newExpeditionAs(t *testing.T, name string, seed uint64, f *fleet, l apitest.Crew) *expedition {
	t.Helper()
	e := &expedition{fleet: f, Crew: l, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), waits: clientWaits, bounds: campaign.Promised}
	var file io.Writer
	if dir := historyDirectory(t); dir != "" {
		one, err := os.Create(filepath.Join(dir, name+".jsonl"))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, one.Close()) })
		file = one
	}
	e.history = campaign.NewHistory(time.Now, file)
	e.unfollow = func() {}
	e.work = campaign.Work{
		History: e.history, Caller: e, Project: l.ID, Category: l.Categories[0], Patience: 20 * time.Second, Pace: 60 * time.Millisecond, NewID: uuid.NewString,
	}
	for _, u := range append(slices.Clone(l.Labellers), l.Client) {
		e.tokens.Store(u.ID, u.Token)
	}
	return e
}

// clientWaits is how long a client usually waits for an answer before it asks another server.
const clientWaits = 8 * time.Second

// Call sends a request to one server after the other.
func (e *expedition) Call(ctx context.Context, user, query string, v map[string]any, data any) ([]campaign.Problem, error) {
	ctx, cancel := context.WithTimeout(ctx, e.waits)
	defer cancel()
	token, _ := e.tokens.Load(user)
	text, _ := token.(string)
	errs, err := e.servers[e.calls.Add(1)%uint64(len(e.servers))].ask(ctx, text, query, v, data)
	problems := make([]campaign.Problem, len(errs))
	for i, one := range errs {
		problems[i] = campaign.Problem{Code: one.Extensions.Code, Retryable: one.Extensions.Retryable, Message: one.Message}
	}
	return problems, err
}

const campaignEvents = `subscription($p: ID!, $a: EventCursor) { projectEvents(projectId: $p, after: $a) { __typename
	... on ProjectSnapshot { cursor queue { counts { total new claimed finished skipped } } }
	... on ProjectEvent { cursor type at item { id } user { id } counts { total new claimed finished skipped } }
	... on ProjectGap { message } } }`

// Listen listens to the project at one server after the other.
func (e *expedition) Listen(ctx context.Context, user string, after any, heard func(campaign.Message) bool) error {
	return e.listens(ctx, user, campaignEvents, apitest.Vars{"p": e.Crew.ID, "a": after}, messageOf, heard)
}

// listens listens to a subscription, and reads what it brings with of.
func (e *expedition) listens(ctx context.Context, user, query string, v apitest.Vars, of func(apitest.Streamed) (campaign.Message, error), heard func(campaign.Message) bool) error {
	token, _ := e.tokens.Load(user)
	text, _ := token.(string)
	server := e.servers[e.dialled.Add(1)%uint64(len(e.servers))]
	s, err := server.by(&apitest.Client{ID: user, Token: text}).Dial(ctx, e.connect, query, v)
	if err != nil {
		return campaign.ErrAgain
	}
	defer s.Close()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case r, open := <-s.Results:
			if !open {
				return endOf(s.Err)
			}
			m, err := of(r)
			if err != nil || !heard(m) {
				return err
			}
		}
	}
}

// endOf says whether a client goes on after what a stream ended with.
func endOf(err error) error {
	if err == nil {
		return fmt.Errorf("%w: complete", campaign.ErrOver)
	}
	code := websocket.CloseStatus(err)
	again := []websocket.StatusCode{-1, websocket.StatusGoingAway, websocket.StatusServiceRestart, websocket.StatusTryAgainLater, 4403}
	if !slices.Contains(again, code) || json.Valid([]byte(err.Error())) { // an error message is the JSON of its payload
		return fmt.Errorf("%w: %w", campaign.ErrOver, err)
	}
	return campaign.ErrAgain
}

// messageOf reads what a subscription brought. What could not be read whole is read again from the cursor before.
func messageOf(r apitest.Streamed) (campaign.Message, error) {
	if len(r.Errors) > 0 {
		return campaign.Message{}, campaign.ErrAgain
	}
	var m struct {
		ProjectEvents struct {
			Typename   string `json:"__typename"`
			Cursor     string
			Type       string
			At         time.Time
			Item, User *struct{ ID string }
			Counts     campaign.Counts
			Queue      *struct{ Counts campaign.Counts }
		}
	}
	text, err := json.Marshal(r.Data)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return campaign.Message{}, fmt.Errorf("%w: %w", campaign.ErrOver, err)
	}
	e := m.ProjectEvents
	if e.Typename == gapSeen {
		return campaign.Message{Told: campaign.Told{Telling: campaign.Gap}}, nil
	}
	position, err := positionOf(e.Cursor)
	if err != nil {
		return campaign.Message{}, fmt.Errorf("%w: %w", campaign.ErrOver, err)
	}
	told := campaign.Told{Telling: campaign.Event, Position: position, Type: e.Type, At: e.At, Counts: e.Counts}
	if e.Typename == snapshotSeen && e.Queue != nil {
		told.Telling, told.Counts = campaign.Snapshot, e.Queue.Counts
	}
	if e.Item != nil {
		told.Item = e.Item.ID
	}
	if e.User != nil {
		told.User = e.User.ID
	}
	return campaign.Message{Told: told, Cursor: e.Cursor}, nil
}

// positionOf reads a cursor of events, which clients cannot.
func positionOf(cursor string) (campaign.Position, error) {
	parsed, err := gid.Parse(cursor)
	if err != nil || len(parsed.Key) < 3 {
		return campaign.Position{}, fmt.Errorf("the cursor %s: %w", cursor, err)
	}
	p := campaign.Position{Epoch: parsed.Key[1]}
	for i, part := range strings.SplitN(parsed.Key[2], "-", 2) {
		if p.At[i], err = strconv.ParseUint(part, 10, 64); err != nil {
			return p, err
		}
	}
	return p, nil
}

// begins has labellers work, writers write into notes, and subscribers listen, until [expedition.ends].
func (e *expedition) begins(notes, subscribers int) {
	e.fleet.t.Helper()
	ctx, cancel := context.WithCancel(e.fleet.t.Context())
	e.stop = cancel
	number := uint64(0)
	random := func() *rand.Rand { number++; return rngOf(e.seed, number) }
	for i := range subscribers {
		s := &campaign.Subscriber{
			Work: e.work, Name: fmt.Sprintf("subscriber %d", i+1), User: e.Crew.Client.ID, Listener: e, Rand: random(), Moves: time.Duration(i) * 3 * time.Second,
		}
		e.watching.Go(func() {
			_ = s.Run(e.fleet.t.Context(), func(m campaign.Message) bool { return m.Told.Type == "PAUSED" })
		})
	}
	for _, u := range e.Labellers {
		l := &campaign.Labeller{Work: e.work, User: u.ID, Rand: random()}
		e.working.Go(func() { l.Run(ctx) })
	}
	for _, m := range e.makers {
		e.working.Go(func() { m.Run(ctx) })
	}
	for i := range notes {
		first, second := e.Labellers[i%len(e.Labellers)], e.Labellers[(i+1)%len(e.Labellers)]
		at := e.servers[0].by(first)
		note := at.Must(`mutation { createNote(input: {title: "campaign", content: "nothing"}) { note { id } } }`, nil).Str("createNote.note.id")
		at.Mutate("shareNote", "problem { __typename }", apitest.Vars{"noteId": note, "userId": second.ID, "permission": "EDIT"})
		e.notes = append(e.notes, note)
		for _, u := range []*apitest.Client{first, second} {
			w := &campaign.Writer{Work: e.work, User: u.ID, Note: note, Rand: random()}
			w.Pace *= 5
			e.working.Go(func() { w.Run(ctx) })
		}
	}
	e.until(20, "work has begun")
}

// rngOf returns one of the sources of randomness that follow from a seed.
func rngOf(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }

// until waits until so many more operations were acknowledged.
func (e *expedition) until(more int, what string) {
	e.fleet.t.Helper()
	before := e.history.Done()
	require.Eventually(e.fleet.t, func() bool { return e.history.Done() >= before+more }, 2*apitest.Patience, 50*time.Millisecond, "%s", what)
}

// breaks does something to the servers or to Redis, and writes down how long it took.
func (e *expedition) breaks(what string, how func() (elected time.Time)) {
	e.fleet.t.Helper()
	f := campaign.Fault{What: what, Began: time.Now()}
	f.Elected = how()
	f.Ended = time.Now()
	f.Stopped, e.stood = e.stood, false
	e.history.Broke(f)
}
