package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/fault"
)

// How many bytes must be left of the disk that embedded stores are on. A change begins only above the first bound, so that what has begun
// can end, and what a crash left can be settled; below the second nothing is written, in the background neither.
const (
	RoomToBegin = 64 << 20
	roomToWrite = 16 << 20
)

const (
	// refusedFor is how long the engine's word counts that its disk is full: room it cannot see may be there again.
	refusedFor = 10 * time.Second
	// diskToldAgain is how often the log says so.
	diskToldAgain = time.Minute
)

// disk is what the embedded stores are on.
type disk struct {
	dir  string
	log  *slog.Logger
	now  func() time.Time
	room func(dir string) (int64, error)

	mu      sync.Mutex
	refused time.Time // when the engine last said that it is full
	told    time.Time // when the log last did
}

// newDisk returns the disk of the settings, nil when nothing is kept there.
func newDisk(cfg config.Config, log *slog.Logger) *disk {
	if !cfg.EmbeddedDynamoDB() && !cfg.EmbeddedS3() {
		return nil
	}
	return &disk{dir: cfg.Data, log: log, now: time.Now, room: embedded.Room}
}

// check fails when no change should begin. Faults: Unavailable.
func (d *disk) check(ctx context.Context) error {
	d.mu.Lock()
	refused := d.now().Sub(d.refused) < refusedFor
	d.mu.Unlock()
	err := d.left(RoomToBegin)
	if err == nil && refused {
		err = errors.New("the engine could not write")
	}
	if err == nil {
		return nil
	}
	d.tell(ctx, err)
	return fault.Wrap(fault.Unavailable, err, "%s", dynamo.MessageDiskFull)
}

// left fails when there is less room. What cannot be found out is no reason to refuse work.
func (d *disk) left(least int64) error {
	room, err := d.room(d.dir)
	if err != nil || room >= least {
		return nil //nolint:nilerr // see above
	}
	return fmt.Errorf("the disk is full: %s has %d MiB left, and %d MiB are kept free", d.dir, room>>20, least>>20)
}

// tell logs that the disk is full, at times.
func (d *disk) tell(ctx context.Context, err error) {
	d.mu.Lock()
	again := d.now().Sub(d.told) >= diskToldAgain
	if again {
		d.told = d.now()
	}
	d.mu.Unlock()
	if again {
		d.log.ErrorContext(ctx, "the disk is full; no changes are accepted until there is room again", "directory", d.dir, "error", err)
	}
}

// watch looks at each write before the embedded DynamoDB gets it, and at what that says.
func (d *disk) watch(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("TaggieDisk", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		if !slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "CreateTable"}, awsmiddleware.GetOperationName(ctx)) {
			return next.HandleInitialize(ctx, in)
		}
		if err := d.left(roomToWrite); err != nil {
			d.tell(ctx, err)
			return middleware.InitializeOutput{}, middleware.Metadata{}, &smithy.GenericAPIError{Code: dynamo.CodeDiskFull, Message: err.Error(), Fault: smithy.FaultServer}
		}
		out, metadata, err := next.HandleInitialize(ctx, in)
		full := dynamo.DiskFull(err)
		d.mu.Lock()
		if full {
			d.refused = d.now()
		} else if err == nil {
			d.refused = time.Time{}
		}
		d.mu.Unlock()
		if full {
			d.tell(ctx, err)
		}
		return out, metadata, err
	}), middleware.Before)
}
