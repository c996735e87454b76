package user

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/viewer"
)

// MaxBlocked is how many users somebody blocks at most.
const MaxBlocked = 1000

// Block says that a user is blocked: the user can neither share anything with the one who blocked them, nor add that one to anything.
type Block struct {
	User ID
	At   time.Time
}

// Blocks keeps who has blocked whom. Each change is atomic and records the idempotency key with the effect; it returns
// *idempotency.Replayed when the key was used before.
type Blocks interface {
	// BlockUser blocks a user for another one, and leaves one that is blocked already as it is. From then on the blocked user can neither share
	// notes with the other one nor add them to anything. NotFound when there is no such user, Exhausted beyond [MaxBlocked].
	BlockUser(ctx context.Context, by ID, b Block, once idempotency.Key) error
	// UnblockUser ends that, if it is so.
	UnblockUser(ctx context.Context, by, unblocked ID, once idempotency.Key) error
	// HasBlocked reports whether a user has blocked another one. It sees every acknowledged write.
	HasBlocked(ctx context.Context, by, blocked ID) (bool, error)
	// ListBlocked lists whom a user has blocked, by user id. It sees every acknowledged write.
	ListBlocked(ctx context.Context, by ID, w page.Window) (page.Slice[Block], error)
}

// ChangeBlock is the input of [Service.Block] and [Service.Unblock].
type ChangeBlock struct {
	User           ID
	IdempotencyKey *string `json:"-"`
}

// Block blocks a user for the viewer. It ends nothing: that is for those who keep what the user shared. It reports whether the user is
// blocked now: an earlier request may be repeated after [Service.Unblock].
func (s *Service) Block(ctx context.Context, in ChangeBlock) (bool, error) {
	return s.changeBlock(ctx, "blockUser", in, true, func(ctx context.Context, self ID, once idempotency.Key) error {
		return s.o.Store.BlockUser(ctx, self, Block{User: in.User, At: s.o.Now().UTC().Truncate(time.Millisecond)}, once)
	})
}

// Unblock ends that the viewer blocks a user. Who is not blocked stays so.
func (s *Service) Unblock(ctx context.Context, in ChangeBlock) error {
	_, err := s.changeBlock(ctx, "unblockUser", in, false, func(ctx context.Context, self ID, once idempotency.Key) error {
		return s.o.Store.UnblockUser(ctx, self, in.User, once)
	})
	return err
}

// changeBlock makes a change after which the user is blocked or not, and reports whether that is so: what an earlier request did may
// have been undone since.
func (s *Service) changeBlock(ctx context.Context, mutation string, in ChangeBlock, blocks bool, change func(context.Context, ID, idempotency.Key) error) (bool, error) {
	self, err := domain.Self(ctx)
	if err != nil {
		return false, err
	}
	if in.User == self {
		return false, fault.Invalidf("input.userId", "this is yourself")
	}
	return domain.Once(ctx, s.guard(), mutation, in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (bool, error) {
		return blocks, change(ctx, self, once.With(string(in.User)))
	}, func(ctx context.Context, _ []string) (bool, error) { return s.o.Store.HasBlocked(ctx, self, in.User) })
}

// ListBlocked lists whom the viewer has blocked. Forbidden for everybody else.
func (s *Service) ListBlocked(ctx context.Context, by ID, w page.Window) (page.Slice[Block], error) {
	if !viewer.From(ctx).Is(by) {
		return page.Slice[Block]{}, fault.New(fault.Forbidden, "only the user may see this")
	}
	return s.o.Store.ListBlocked(ctx, by, w)
}
