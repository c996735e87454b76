package fleets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

const watch = `subscription($p: ID!, $a: EventCursor) { projectEvents(projectId: $p, after: $a) { __typename
	... on ProjectSnapshot { cursor queue { cursor counts { total new claimed finished skipped remaining } queued size paused } claims { id } }
	... on ProjectEvent { cursor type at item { id } status user { id } team { id } counts { total new claimed finished skipped remaining } queued }
	... on ProjectGap { message } } }`

// sight is something that a watcher was told: of a snapshot its cursor, of a gap nothing, of an event everything that is the same
// for all who see it, whenever they do.
type sight struct{ kind, cursor, event string }

// The kinds of sights.
const (
	snapshotSeen = "ProjectSnapshot"
	eventSeen    = "ProjectEvent"
	gapSeen      = "ProjectGap"
)

// watcher is a client that listens to a project. When its stream has ended it goes on behind what it saw last, anywhere.
type watcher struct {
	project string
	user    *apitest.Client

	mu       sync.Mutex // for those who look while it reads
	sights   []sight
	repeated int
	known    map[string]bool // cursors of events
	cursor   any             // of what it saw last
	mistakes []string
}

func newWatcher(l apitest.Crew, user *apitest.Client) *watcher {
	return &watcher{project: l.ID, user: user, known: map[string]bool{}}
}

// listen opens a stream at a server, over a connection of the given kind (nil: as usual).
func (w *watcher) listen(ctx context.Context, s *server, connect func(context.Context, string, string) (net.Conn, error)) (*apitest.Stream, error) {
	return s.by(w.user).Dial(ctx, connect, watch, apitest.Vars{"p": w.project, "a": w.last()})
}

func (w *watcher) last() any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cursor
}

// errOver says that a stream has ended by itself.
var errOver = errors.New("the server says that there is no more")

// read takes what a stream brings until the given event has come, or it ends: the error says why.
func (w *watcher) read(s *apitest.Stream, until func(sight) bool) error {
	for r := range s.Results {
		if seen := w.see(r); until != nil && until(seen) {
			return nil
		}
	}
	return cmp.Or(s.Err, errOver)
}

// follow listens until the given event has come, or the context ends. When the stream ends before, because the server
// closed a socket that was slow for instance, it goes on behind what it saw last, as clients do.
func (w *watcher) follow(ctx context.Context, srv *server, until func(sight) bool) error {
	for {
		s, err := w.listen(ctx, srv, nil)
		if err == nil {
			err = w.read(s, until)
			s.Close()
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// see writes down what came.
func (w *watcher) see(r apitest.Streamed) sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, err := json.Marshal(r.Data["projectEvents"])
	var m struct {
		Typename string `json:"__typename"`
		Cursor   string
		Queue    *queueNow
		queueNow
	}
	if err = errors.Join(err, json.Unmarshal(text, &m)); err != nil || len(r.Errors) > 0 || m.Typename == "" {
		w.mistakes = append(w.mistakes, fmt.Sprintf("%v %+v %s", err, r.Errors, text))
		return sight{}
	}
	now := sight{kind: m.Typename, cursor: m.Cursor}
	before := ""
	if n := len(w.sights); n > 0 {
		before = w.sights[n-1].kind
	}
	wrong := ""
	switch now.kind {
	case snapshotSeen:
		if before != "" && before != gapSeen {
			wrong = "a snapshot that nobody asked for, without a gap"
		}
		wrong += m.Queue.wrong()
		if m.Queue.Cursor != m.Cursor {
			wrong += "the queue of a snapshot is of another moment"
		}
	case eventSeen:
		now.event = string(text)
		if before == "" || before == gapSeen {
			wrong = "an event without a snapshot before it"
		}
		m.queueNow.Size = m.queueNow.Queued // an event does not tell it
		wrong += m.queueNow.wrong()
		if w.known[now.cursor] {
			w.repeated++
			return now
		}
		w.known[now.cursor] = true
	}
	if wrong != "" {
		w.mistakes = append(w.mistakes, wrong+": "+string(text))
	}
	w.sights = append(w.sights, now)
	if now.kind != gapSeen {
		w.cursor = now.cursor
	}
	return now
}

// gaps is how many gaps it was told of that were not told again.
func (w *watcher) gaps() int {
	n := 0
	for i, s := range w.sights {
		if s.kind == gapSeen && (i == 0 || w.sights[i-1].kind != gapSeen) {
			n++
		}
	}
	return n
}

// since returns, for each life of the queue, the snapshot and the events after it. There is one snapshot in each.
func (w *watcher) since(f *fleet) (epochs []string, of map[string][]sight) {
	of = map[string][]sight{}
	for _, s := range w.sights {
		if s.kind == gapSeen {
			continue
		}
		epoch := apitest.GlobalKey(f.t, s.cursor)[2]
		if of[epoch] == nil {
			epochs = append(epochs, epoch)
		}
		if (s.kind == snapshotSeen) != (of[epoch] == nil) {
			w.mistakes = append(w.mistakes, "a gap within one life of the queue, or none between two: "+s.cursor)
		}
		of[epoch] = append(of[epoch], s)
	}
	return epochs, of
}

// agree checks that two watchers saw the same: all that both could see. In the end both saw the same last event.
func (f *fleet) agree(a, b *watcher) {
	f.t.Helper()
	lives, ofA := a.since(f)
	_, ofB := b.since(f)
	require.Empty(f.t, a.mistakes)
	require.Empty(f.t, b.mistakes)
	for n, epoch := range lives {
		mine, others := ofA[epoch], ofB[epoch]
		if others == nil {
			assert.Less(f.t, n, len(lives)-1, "both see how it ends")
			continue // it was away for that long, and was told of a gap
		}
		// The one who came later begins where the other one saw the snapshot's place.
		at := func(all []sight, cursor string) int {
			return slices.IndexFunc(all, func(s sight) bool { return s.cursor == cursor })
		}
		if i := at(mine, others[0].cursor); i >= 0 {
			mine, others = mine[i+1:], others[1:]
		} else if i := at(others, mine[0].cursor); i >= 0 {
			mine, others = mine[1:], others[i+1:]
		} else {
			assert.Fail(f.t, "what two saw has nothing in common", "%v\n%v", mine[0], others[0])
			continue
		}
		if n < len(lives)-1 { // the last events of a queue that was lost reach some and not others
			both := min(len(mine), len(others))
			mine, others = mine[:both], others[:both]
		}
		if !slices.Equal(mine, others) {
			i := 0
			for i < min(len(mine), len(others)) && mine[i] == others[i] {
				i++
			}
			assert.Fail(f.t, "two saw something else", "of %d and %d events, from number %d on:\n%v\n%v", len(mine), len(others), i,
				mine[i:min(i+2, len(mine))], others[i:min(i+2, len(others))])
		}
	}
}
