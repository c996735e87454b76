package labelling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// Consumer has the queue follow transitions: the document's second background job, "handler for finished queue items".
type Consumer struct {
	Options
	rebuild *Rebuilder
	name    string
}

// NewConsumer returns one whose name is its own among all that run.
func NewConsumer(o Options, rebuild *Rebuilder, name string) *Consumer {
	return &Consumer{Options: o, rebuild: rebuild, name: name}
}

// Run handles messages until the context ends.
func (c *Consumer) Run(ctx context.Context) error {
	c.Coordinator.Consume(ctx, c.name, c.Handle)
	return nil
}

// ErrUntrue says that the truth does not know of what a message tells.
var ErrUntrue = errors.New("the truth does not contain this transition")

// handling is one message on its way through the steps.
type handling struct {
	*Consumer
	Transition
	item   project.Item
	effort project.Effort // of the transition, if it has one
}

// steps are those of the document, in its order. Each can be carried out twice. The first four happened in one transaction, which
// also wrote the transition down: here they are only looked at, so that nothing is counted that is not true. The others are one
// script, and so is what is told to subscribers.
var steps = []struct {
	what string
	do   func(*handling, context.Context) error
}{
	{"update project item status", (*handling).itemStatus},
	{"create finished-by record", (*handling).finishedBy},
	{"add category link", (*handling).categoryLink},
	{"add subcategory link", (*handling).subcategoryLink},
	{"store keywords, update taggie statistics, update team statistics, delete the id from the wip queue and from the user queue", (*handling).queueFollows},
}

// Handle handles a message: the nine steps, and then the outbox forgets the transition.
func (c *Consumer) Handle(ctx context.Context, m Message) error {
	h := &handling{Consumer: c}
	if err := json.Unmarshal(m.Body, &h.Transition); err != nil {
		return fmt.Errorf("read a message: %w", err)
	}
	// While the project is rebuilt nothing is followed. Thousands of messages may come meanwhile, and what they read would slow it down: so
	// no more is read than the project.
	if _, err := c.Coordinator.State(ctx, h.Project); err != nil {
		if !errors.Is(err, ErrNotReady) {
			return err
		}
		if _, lasts := c.lasting(ctx, h.Project); fault.Is(lasts, fault.NotFound) {
			return nil // the project is erased: nobody will follow it
		}
		c.rebuild.Want(h.Project)
		return err
	}
	read := h.read(ctx)
	if domain.IgnoreMissing(read) != nil {
		return read
	}
	// Between this look and the queue's following lies less than a rebuild waits. See [Rebuilder.Rebuild].
	promptly, cancel := context.WithTimeout(ctx, prompt)
	defer cancel()
	// A message may outlive what Redis remembers of what was followed.
	stored, there, err := c.Truth.FindOutbox(promptly, h.Item, h.Ref())
	if err != nil || !there {
		return err // the last step was carried out already
	}
	if read != nil || h.item.Version < stored.Version {
		if former, err := h.former(promptly, stored); err != nil {
			return err
		} else if former {
			return c.Truth.DeleteOutbox(ctx, []Transition{stored})
		}
	}
	for _, step := range steps {
		if err := step.do(h, promptly); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return c.Truth.DeleteOutbox(ctx, []Transition{h.Transition})
}

// read reads what the first steps look at.
func (h *handling) read(ctx context.Context) error {
	items, _, errs := h.Truth.ItemsByID(ctx, "", []project.ItemID{{Project: h.Project, ID: h.Item}})
	var err error
	if h.item, err = domain.First(items, errs); err != nil || h.Effort == "" {
		return err
	}
	h.effort, err = domain.First(h.Truth.EffortsByID(ctx, []project.EffortID{{Project: h.Project, ID: h.Effort}}))
	return err
}

// former reports whether a transition of the outbox is of an item that was purged since: it is gone, or was imported again. An item is purged when
// the queue has followed its last transition, and with it all before: a server was lost before it said so of this one.
func (h *handling) former(ctx context.Context, stored Transition) (bool, error) {
	err := h.read(ctx) // once more: it was read before the outbox was
	if fault.Is(err, fault.NotFound) {
		return true, nil
	}
	return h.item.Version < stored.Version, err
}

func (h *handling) itemStatus(context.Context) error {
	if h.item.Version < h.Version || h.item.Version == h.Version && h.item.Status != h.Status {
		return ErrUntrue
	}
	return nil
}

func (h *handling) finishedBy(context.Context) error {
	author := h.User
	if h.Cause == Reviewed {
		author = h.Author
	}
	if h.Effort != "" && (h.effort.Item != h.Item || h.effort.User != author) {
		return ErrUntrue
	}
	return nil
}

// categoryLink looks at the item, which is linked to what it says in the same transaction, as long as nobody has changed it since.
func (h *handling) categoryLink(context.Context) error {
	if h.Cause == Finished && h.item.Version == h.Version && h.item.Category != h.effort.Category {
		return ErrUntrue
	}
	return nil
}

func (h *handling) subcategoryLink(context.Context) error {
	if h.Cause == Finished && h.item.Version == h.Version && h.item.Subcategory != h.effort.Subcategory {
		return ErrUntrue
	}
	return nil
}

// queueFollows is the document's steps five to nine.
func (h *handling) queueFollows(ctx context.Context) error {
	err := h.follow(ctx, h.Transition)
	if errors.Is(err, ErrNotReady) {
		h.rebuild.Want(h.Project)
	}
	return err
}
