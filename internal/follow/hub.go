package follow

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

// Patience is how long a store may fail before those who wait for it are sent away, unless the hub is told otherwise.
const Patience = 30 * time.Second

// Hub tells followers what happens to the notes and scores that they may read. However many follow a stream, one goroutine of the process reads it.
// A follower is a position in each stream of which it may be told, and a goroutine that waits: it costs the same however slow it is, and who is
// too slow is told that events were missed.
type Hub struct {
	o      HubOptions
	ctx    context.Context // ends with the hub
	cancel context.CancelFunc
	slots  chan struct{} // taken while something is read from Redis

	mu        sync.Mutex // guards what follows; no other lock is taken under it
	feeds     map[Stream]*feed
	listeners map[UserID]*listener[*look]     // to notes
	scores    map[score.Ref]*listener[*sight] // that are followed
	ofScores  map[UserID]int                  // how often each user follows scores
	listening bool
	closed    bool
	all       sync.WaitGroup // feeds and followers; it grows under mu, and not once closed
}

// HubOptions are what a hub works with.
type HubOptions struct {
	Streams  Streams
	News     News
	Shares   Shares
	Scores   Scores
	Patience time.Duration    // how long a store may fail before those who wait for it are sent away; [Patience] by default
	Missed   func(event.Kind) // is told each time that a follower missed events; not of one that resumes with a cursor that is too old
	Log      *slog.Logger
}

// Told is what a follower gets: a position, with an event or a gap before it.
type Told struct {
	Cursor func() Cursor // where the follower is then
	Event  *event.Event
	Gap    bool         // events were missed; a position follows
	Looked time.Time    // when reading began what an event rests upon: what is shared, or the score; zero for others
	Score  *score.Score // as it was seen then, for an event of a score that the viewer may read
}

// NewHub returns a hub. It does nothing until somebody listens; it has to be closed.
func NewHub(o HubOptions) *Hub {
	if o.Patience <= 0 {
		o.Patience = Patience
	}
	if o.Missed == nil {
		o.Missed = func(event.Kind) {}
	}
	h := &Hub{o: o, slots: make(chan struct{}, atOnce), feeds: map[Stream]*feed{}, listeners: map[UserID]*listener[*look]{}, scores: map[score.Ref]*listener[*sight]{}, ofScores: map[UserID]int{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Close ends all streams, and returns when nothing of the hub runs any more.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.all.Wait()
}

// Listen tells the viewer what happens to the notes that the viewer may read. Without a cursor the first message is a position. With one, what happened
// after it follows. When events were missed, a gap is told and then a position; with what has changed until then the store answers.
//
// The channel is closed when ctx ends, when the hub is closed, when a store has failed for long, and when there are more owners or shares than can be
// followed. Unauthenticated for who has not signed up, Invalid for the cursor of somebody else, Exhausted for who has too many owners or shares, or
// listens [MaxListening] times already.
func (h *Hub) Listen(ctx context.Context, after *Cursor) (<-chan Told, error) {
	me, err := domain.Self(ctx)
	if err != nil {
		return nil, err
	}
	if after != nil && !after.Of(NotesOf(me)) {
		return nil, fault.Invalidf("after", "this is the cursor of another user")
	}
	began := time.Now()
	counted, err := h.enter(me)
	if err != nil {
		return nil, err
	}
	f := &follower{reader: newReader(h, NotesOf(me)), me: me, counted: counted, after: after}
	f.rules = f
	exit := func() { h.exit(me) }
	if err := f.look(ctx, began); err != nil {
		exit()
		return nil, err
	}
	return f.out, h.follow(ctx, f.reader, exit, f.run)
}

// follow runs a reader until it cannot go on, the context ends, or the hub is closed; exit is called then. Unavailable when the hub is closed already.
func (h *Hub) follow(ctx context.Context, r *reader, exit func(), run func(context.Context) error) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		exit()
		return fault.New(fault.Unavailable, "the server is about to stop; try again in a moment")
	}
	defer h.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	if !h.listening {
		h.listening = true
		h.all.Go(func() { guard(h.ctx, h.o.Log, "listening to news of events", h.listen) })
	}
	stop := context.AfterFunc(h.ctx, cancel)
	h.all.Go(func() {
		defer exit()
		defer cancel()
		defer stop()
		defer close(r.out)
		defer r.leaveAll()
		guard(ctx, h.o.Log, "telling somebody of events", func() {
			if err := run(ctx); err != nil && !errors.Is(err, errOver) && ctx.Err() == nil {
				h.o.Log.WarnContext(ctx, "a follower is sent away", "of", r.own.String(), "error", err)
			}
		})
	})
	return nil
}

// listen has the feeds read when there are news.
func (h *Hub) listen() {
	for h.ctx.Err() == nil {
		err := h.o.News.Follow(h.ctx, func(context.Context) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, f := range h.feeds {
				f.nudge()
			}
			return nil
		}, func(_ context.Context, id string, _ time.Time) error {
			kind, of, _ := strings.Cut(id, ":")
			h.mu.Lock()
			defer h.mu.Unlock()
			if f := h.feeds[Stream{event.Kind(kind), of}]; f != nil {
				f.nudge()
			}
			return nil
		})
		if err != nil {
			h.o.Log.WarnContext(h.ctx, "news of events do not come; events are looked for", "error", err)
		}
		_ = pause(h.ctx, longestPause)
	}
}

// join makes a reader one of those who are told of a stream.
func (h *Hub) join(of Stream, who *reader) *feed {
	h.mu.Lock()
	f := h.feeds[of]
	if f == nil {
		ctx, cancel := context.WithCancel(h.ctx)
		f = &feed{hub: h, of: of, cancel: cancel, news: make(chan struct{}, 1), followers: map[*reader]bool{}}
		h.feeds[of] = f
		h.all.Go(func() {
			defer f.end()
			guard(ctx, h.o.Log, "reading events", func() { f.run(ctx) })
		})
	}
	f.listeners++
	h.mu.Unlock()
	f.mu.Lock()
	f.followers[who] = true
	f.mu.Unlock()
	return f
}

func (h *Hub) leave(f *feed, who *reader) {
	f.mu.Lock()
	delete(f.followers, who)
	f.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.listeners--; f.listeners == 0 {
		f.cancel()
		if h.feeds[f.of] == f {
			delete(h.feeds, f.of)
		}
	}
}

// drop lets the next one who listens begin a new feed.
func (h *Hub) drop(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feeds[f.of] == f {
		delete(h.feeds, f.of)
	}
}

// slot waits until something may be read from Redis. The returned function gives the slot back.
func (h *Hub) slot(ctx context.Context) (func(), error) {
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// guard carries out what must not end the process.
func guard(ctx context.Context, log *slog.Logger, what string, do func()) {
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "panic while "+what, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	do()
}

// pause waits as long, unless the context ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// often says that a user listens often enough.
func often(to string) error {
	return fault.New(fault.Exhausted, "you listen to %s %d times on this server: end a subscription first", to, MaxListening)
}

// tooMany says what there is too much of to be followed.
func tooMany(what string, most int) error {
	return fault.New(fault.Exhausted, "more than %d %s: ask `noteChanges` for changes instead", most, what)
}
