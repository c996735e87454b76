package score

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// Items carries out what may be asked about items and their bytes.
type Items struct {
	store    ItemStore
	shows    ItemReader // what is shown; changes begin with what the store has
	files    Files
	scores   Finder
	follower Follower // or nil
	observer Observer
	thumbs   *Thumbnails
	turns    shares // of completing
	quota    int64  // bytes of an owner who has none of his own
	single   int64  // see [MaxSingle]
	part     int64  // see [PartSize]
	now      func() time.Time
	newID    func() string
}

// Finder tells which scores there are.
type Finder interface {
	// ScoresByID returns the score or the error of each, in the order of refs. NotFound for one that does not exist.
	ScoresByID(ctx context.Context, refs []Ref) ([]Score, []error)
}

// ItemsOptions says what an [Items] works with.
type ItemsOptions struct {
	Store    ItemStore
	Scores   Finder
	Files    Files
	Observer Observer // of files that are withdrawn
	Quota    int64    // bytes of each owner who has no quota of his own
	Now      func() time.Time
	NewID    func() string // makes UUIDs
	// Single and Part take the place of [MaxSingle] and [PartSize] where less is to be sent: in tests. 0 for these.
	Single, Part int64
	// Render decodes images; [Render] when nil. DecodeBytes takes the place of [DecodeBytes] where there is less memory.
	Render      Renderer
	DecodeBytes int64
}

// NewItems returns a service over the store and the files.
func NewItems(o ItemsOptions) *Items {
	if o.Render == nil {
		o.Render = Render
	}
	thumbs := NewThumbnails(o.Render, cmp.Or(o.DecodeBytes, DecodeBytes))
	return &Items{store: o.Store, shows: o.Store, scores: o.Scores, files: o.Files, observer: o.Observer, thumbs: thumbs, turns: newShares(MaxCompleting), quota: o.Quota, single: cmp.Or(o.Single, MaxSingle), part: cmp.Or(o.Part, PartSize), now: o.Now, newID: o.NewID}
}

// Showing returns the service that shows items as another view of the same store has them. Changes never begin with these.
func (s *Items) Showing(view ItemReader) *Items {
	with := *s
	with.shows = view
	return &with
}

// ItemsByID returns the item or the error of each request, in their order: the guard of items. NotFound for who neither owns the
// item nor was shown a score that has it as a page, and for others than the owner once it is withdrawn. Only the owner is told to which score an
// item was uploaded.
func (s *Items) ItemsByID(ctx context.Context, requests []ItemRequest) ([]Item, []error) {
	may := func(r ItemRequest) shown { return shown(r.Allowed(ctx)) }
	items, errs := allowed(requests, may, noItem, func(requests []ItemRequest) ([]Item, []error) {
		refs := make([]ItemRef, len(requests))
		for i, r := range requests {
			refs[i] = r.ItemRef
		}
		return s.shows.ItemsByID(ctx, refs)
	})
	for i := range items {
		items[i].foreign = !viewer.From(ctx).Is(items[i].Owner)
		if errs[i] == nil && items[i].foreign && !items[i].Withdrawn.IsZero() {
			items[i], errs[i] = Item{}, noItem()
		}
		items[i].shown = errs[i] == nil
	}
	return items, errs
}

// own returns the viewer, who has to be the owner. NotFound for others, who may not know that there is something.
func own(ctx context.Context, owner UserID) error {
	v := viewer.From(ctx)
	switch {
	case v.UserID == "":
		return domain.SignUpFirst()
	case !v.Is(owner):
		return noItem()
	}
	return nil
}

// get returns an item of the viewer.
func (s *Items) get(ctx context.Context, ref ItemRef) (Item, error) {
	if err := own(ctx, ref.Owner); err != nil {
		return Item{}, err
	}
	items, errs := s.store.ItemsByID(ctx, []ItemRef{ref})
	if errs != nil && errs[0] != nil {
		return Item{}, errs[0]
	}
	items[0].shown = true
	return items[0], nil
}

// ListItems lists the items of each score or library, in the order of the requests. Forbidden for who is not the owner.
func (s *Items) ListItems(ctx context.Context, requests []ItemsRequest) ([]page.Slice[Item], []error) {
	return owned(ctx, requests, func(r ItemsRequest) UserID { return r.Of.Owner }, func(requests []ItemsRequest) ([]page.Slice[Item], []error) {
		slices, errs := s.shows.ListItemsOf(ctx, requests)
		for i := range slices {
			for n := range slices[i].Items {
				slices[i].Items[n].shown = true
			}
		}
		return slices, errs
	})
}

// ListUses lists what uses each item, in the order of the requests. Forbidden for who is not the owner.
func (s *Items) ListUses(ctx context.Context, requests []UsesRequest) ([]page.Slice[Use], []error) {
	return owned(ctx, requests, func(r UsesRequest) UserID { return r.Item.Owner }, func(requests []UsesRequest) ([]page.Slice[Use], []error) {
		return s.shows.ListUsesOf(ctx, requests)
	})
}

// Usages returns how much the items of each owner take up, with the quota that holds, in the order of owners. Forbidden for who is
// neither the owner nor an administrator.
func (s *Items) Usages(ctx context.Context, owners []UserID) ([]Usage, []error) {
	all := func(owners []UserID) ([]Usage, []error) {
		usages, errs := s.store.Usages(ctx, owners)
		for i := range usages {
			usages[i].Quota = s.quotaOf(usages[i])
		}
		return usages, errs
	}
	if viewer.From(ctx).Admin() {
		return all(owners)
	}
	return owned(ctx, owners, func(o UserID) UserID { return o }, all)
}

func (s *Items) quotaOf(u Usage) int64 {
	if u.Quota > 0 {
		return u.Quota
	}
	return s.quota
}

// owned reads what is the viewer's of the keys, and has a Forbidden fault for the others.
func owned[K, V any](ctx context.Context, keys []K, owner func(K) UserID, read func([]K) ([]V, []error)) ([]V, []error) {
	mine := func(key K) shown { return shown(viewer.From(ctx).Is(owner(key))) }
	return allowed(keys, mine, func() error { return fault.New(fault.Forbidden, "only the owner may see this") }, read)
}

// Download returns a URL from which who was shown the item can download its file for [URLTime]. A browser shows what is harmless,
// and saves everything else. It costs no request.
func (s *Items) Download(ctx context.Context, i Item) (string, error) {
	if !i.shown {
		return "", noItem()
	}
	if Harmless(i.Type) {
		return s.files.PresignInline(ctx, i.Object, i.Name, i.Type, URLTime)
	}
	return s.files.PresignGet(ctx, i.Object, i.Name, i.Type, URLTime)
}

// ThumbnailURL returns a URL from which who was shown the item can download its thumbnail for [URLTime]; "" when it has none. It
// costs no request.
func (s *Items) ThumbnailURL(ctx context.Context, i Item) (string, error) {
	switch {
	case !bool(i.shown):
		return "", noItem()
	case i.Thumbnail.Object == "":
		return "", nil
	}
	return s.files.PresignInline(ctx, i.Thumbnail.Object, i.Name, i.Thumbnail.Type, URLTime)
}

// RenameItem is the input of [Items.Rename].
type RenameItem struct {
	Item           ItemRef
	Name           string
	IdempotencyKey *string `json:"-"`
}

// Rename gives an item of the viewer another name.
func (s *Items) Rename(ctx context.Context, in RenameItem) (Item, error) {
	name, err := parseItemName(in.Name)
	if err != nil {
		return Item{}, err
	}
	return onceItem(ctx, s, "renameItem", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Item, error) {
		if err := own(ctx, in.Item.Owner); err != nil {
			return Item{}, err
		}
		i, err := s.store.RenameItem(ctx, in.Item, name, key.With(string(in.Item.ID)))
		i.shown = shown(err == nil)
		return i, err
	}, func(ctx context.Context, _ []string) (Item, error) { return domain.Gone(s.get(ctx, in.Item)) })
}

// PutSetName is the input of [Items.PutSetName].
type PutSetName struct {
	Item           ItemRef
	SetName        string  // "" for none
	IdempotencyKey *string `json:"-"`
}

// PutSetName puts an item of the viewer into another set, or none.
func (s *Items) PutSetName(ctx context.Context, in PutSetName) (Item, error) {
	name, err := ParseSetName("input.setName", in.SetName)
	if err != nil {
		return Item{}, err
	}
	return onceItem(ctx, s, "setItemSetName", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Item, error) {
		if err := own(ctx, in.Item.Owner); err != nil {
			return Item{}, err
		}
		i, err := s.store.PutSetName(ctx, in.Item, name, []task.Task{s.following(in.Item)}, key.With(string(in.Item.ID)))
		if err == nil {
			s.tell(ctx, in.Item)
		}
		i.shown = shown(err == nil)
		return i, err
	}, func(ctx context.Context, _ []string) (Item, error) { return domain.Gone(s.get(ctx, in.Item)) })
}

// WithdrawItem is the input of [Items.Withdraw].
type WithdrawItem struct {
	Item           ItemRef
	IdempotencyKey *string `json:"-"`
}

// Withdraw takes an item of the viewer from everybody else, at once and for good, and has projects not use it any more: their items and what was found
// out about these stay, without the file. Scores and snapshots of the owner keep it, but others see a withdrawn page there. The task of [EndUses] tells
// the projects, and ends their uses; that of [FollowUses] takes its tags from their lists. One that is withdrawn already stays as it is.
func (s *Items) Withdraw(ctx context.Context, in WithdrawItem) (Item, error) {
	return onceItem(ctx, s, "withdrawItem", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Item, error) {
		if err := own(ctx, in.Item.Owner); err != nil {
			return Item{}, err
		}
		now := s.instant()
		ends := task.Task{Kind: EndUses, ID: string(in.Item.ID), Scope: string(in.Item.Owner) + "/" + string(in.Item.Score), Due: now}
		unfound := FollowingUses(string(in.Item.ID)+"-withdrawn", now, in.Item)
		i, err := s.store.WithdrawItem(ctx, in.Item, now, []task.Task{ends, unfound, s.following(in.Item)}, key.With(string(in.Item.ID)))
		if err == nil {
			s.tell(ctx, in.Item)
		}
		i.shown = shown(err == nil)
		return i, err
	}, func(ctx context.Context, _ []string) (Item, error) { return domain.Gone(s.get(ctx, in.Item)) })
}

// EndUses is the task that ends the uses of a withdrawn item by projects.
const EndUses task.Kind = "item-withdrawn"

// EndUses is the handler of [EndUses]. Each project is told before its use ends, so that none is missed when it fails; it can be told twice.
func (s *Items) EndUses(ctx context.Context, t task.Task) (time.Time, error) {
	item := swept(t)
	for w := (page.Window{Limit: page.Max}); ; {
		uses, err := domain.First(s.store.ListUsesOf(ctx, []UsesRequest{{Item: item, Window: w}}))
		if err != nil {
			return time.Time{}, err
		}
		for _, use := range uses.Items {
			if use.Kind != UsedByProject {
				continue
			}
			id := project.ItemIDOf(use.OfProject(), item.Original().ExternalID())
			if err := s.observer.FileWithdrawn(ctx, id, item.Owner); err != nil {
				return time.Time{}, err
			}
			if err := s.store.EndUse(ctx, item, use.OfProject()); err != nil {
				return time.Time{}, err
			}
		}
		if !uses.More {
			return time.Time{}, nil
		}
		w.From = uses.Positions[len(uses.Positions)-1]
	}
}

// Observer hears of the files of projects.
type Observer interface {
	// FileWithdrawn is told that a user withdrew the file of an item, once or more often.
	FileWithdrawn(ctx context.Context, item project.ItemID, by UserID) error
}

// DeleteItem is the input of [Items.Delete].
type DeleteItem struct {
	Item           ItemRef
	IdempotencyKey *string `json:"-"`
}

// Delete removes an item of the viewer that nothing uses; its bytes are removed behind it. *[ItemInUse] when something does.
func (s *Items) Delete(ctx context.Context, in DeleteItem) error {
	_, err := onceItem(ctx, s, "deleteItem", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (struct{}, error) {
		i, err := s.get(ctx, in.Item)
		if err != nil {
			return struct{}{}, err
		}
		if i.Refs > 0 {
			return struct{}{}, &ItemInUse{Item: i}
		}
		now := s.instant()
		closed := Upload{ItemRef: i.ItemRef, Name: i.Name, Type: i.Type, Size: i.Size, State: UploadClosed, CreatedAt: i.CreatedAt, ExpiresAt: now}
		if i.writable(now) {
			closed.Signed, closed.Claim = i.Signed, i.Size
		}
		err = s.store.DeleteItem(ctx, i, closed, []task.Task{sweepTask(i.ItemRef, now), s.following(i.ItemRef)}, key.With(string(i.ID)))
		if err == nil {
			s.tell(ctx, i.ItemRef)
		}
		if used, ok := errors.AsType[*ItemInUse](err); ok {
			used.Item.shown = true
		}
		return struct{}{}, err
	}, func(context.Context, []string) (struct{}, error) { return struct{}{}, nil })
	return err
}

// PutQuota is the input of [Items.PutQuota].
type PutQuota struct {
	Owner          UserID
	Quota          int64   // bytes; 0 for that of everybody
	IdempotencyKey *string `json:"-"`
}

// PutQuota sets how much an owner's items may take up, for administrators. What is there already stays.
func (s *Items) PutQuota(ctx context.Context, in PutQuota) (Usage, error) {
	if !viewer.From(ctx).Admin() {
		return Usage{}, fault.New(fault.Forbidden, "only an administrator may do this")
	}
	if in.Quota < 0 {
		return Usage{}, fault.Invalidf("input.quota", "a quota is not negative")
	}
	read := func(ctx context.Context, _ []string) (Usage, error) {
		usages, errs := s.Usages(ctx, []UserID{in.Owner})
		if errs != nil && errs[0] != nil {
			return Usage{}, errs[0]
		}
		return usages[0], nil
	}
	return onceItem(ctx, s, "setItemQuota", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Usage, error) {
		if err := s.store.PutQuota(ctx, in.Owner, in.Quota, key.With(string(in.Owner))); err != nil {
			return Usage{}, err
		}
		return read(ctx, nil)
	}, read)
}

// onceItem runs a mutation of the viewer at most once per idempotency key.
func onceItem[T any](ctx context.Context, s *Items, mutation string, key *string, input any, effect func(context.Context, idempotency.Key) (T, error), reread func(context.Context, []string) (T, error)) (T, error) {
	return domain.Once(ctx, idempotency.Guard{Store: s.store, Now: s.now}, mutation, key, input, effect, reread)
}

// following returns the task for when the follower could not be told now.
func (s *Items) following(ref ItemRef) task.Task {
	return Following(ref, s.instant().Add(task.Lease))
}

// instant returns the time as it is kept.
func (s *Items) instant() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

// MaySeeUses reports whether the viewer may see how often the item is used.
func MaySeeUses(ctx context.Context, i Item) bool { return viewer.From(ctx).Is(i.Owner) }
