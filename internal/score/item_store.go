package score

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// ItemStore keeps items and uploads. All of it may fail with Unavailable or Exhausted besides the faults that are named.
type ItemStore interface {
	ItemReader
	ItemWriter
	UploadStore
	idempotency.Store
}

// ItemReader reads items. It sees every acknowledged write. What it returns was shown to nobody yet.
type ItemReader interface {
	// ItemsByID returns the item or the error of each, in the order of refs. NotFound for one that does not exist.
	ItemsByID(ctx context.Context, refs []ItemRef) ([]Item, []error)
	// ListItemsOf lists the items of each score, of an owner's [Library], or all of an owner's, by id, in the order of the requests.
	ListItemsOf(ctx context.Context, requests []ItemsRequest) ([]page.Slice[Item], []error)
	// ListUsesOf lists what uses each item, by id, in the order of the requests.
	ListUsesOf(ctx context.Context, requests []UsesRequest) ([]page.Slice[Use], []error)
	// ListProjectsOf lists the projects that use each item and of which the user is a member, with the
	// memberships, by id, in the order of the requests.
	ListProjectsOf(ctx context.Context, user UserID, requests []ProjectsRequest) ([]page.Slice[project.Project], []error)
	// Usages returns how much the items of each owner take up, in the order of owners.
	Usages(ctx context.Context, owners []UserID) ([]Usage, []error)
}

// ItemWriter changes items. Each change is atomic, and records the idempotency key with its effect; it returns
// *idempotency.Replayed when the key was used before.
type ItemWriter interface {
	// RenameItem gives the item another name and returns the item. NotFound when it does not exist.
	RenameItem(ctx context.Context, ref ItemRef, name string, once idempotency.Key) (Item, error)
	// PutSetName gives the item another set name, "" for none, records the tasks and returns the item. NotFound when it does not
	// exist.
	PutSetName(ctx context.Context, ref ItemRef, name string, follow []task.Task, once idempotency.Key) (Item, error)
	// WithdrawItem notes since when an item is withdrawn, unless it is already, records the tasks and returns the item: no project begins to use it
	// from then on. NotFound when it does not exist.
	WithdrawItem(ctx context.Context, ref ItemRef, at time.Time, follow []task.Task, once idempotency.Key) (Item, error)
	// EndUse has a project not use an item any more. One that does not, and an item that is gone, is as well.
	EndUse(ctx context.Context, ref ItemRef, by project.ID) error
	// DeleteItem removes an item that nothing uses, with its bytes from the owner's count but for those that the closed upload
	// claims, leaves that until what the item's keys held is removed, and records the tasks. *[ItemInUse], with the item; NotFound when it is gone.
	DeleteItem(ctx context.Context, i Item, closed Upload, follow []task.Task, once idempotency.Key) error
	// PutQuota sets the quota of an owner, 0 for that of everybody.
	PutQuota(ctx context.Context, owner UserID, quota int64, once idempotency.Key) error
}

// UploadStore keeps uploads. Each change is atomic, and records the idempotency key with its effect.
type UploadStore interface {
	// FindUpload returns the upload, or false. It sees every acknowledged write.
	FindUpload(ctx context.Context, ref ItemRef) (Upload, bool, error)
	// OpenUpload keeps a new upload, claims its bytes and records the tasks. *[QuotaReached] when the quota does not have
	// room for them, Exhausted above [MaxUploads], with [UploadsEvery], and above [MaxItems].
	OpenUpload(ctx context.Context, u Upload, quota int64, follow []task.Task, once idempotency.Key) error
	// BeginUpload keeps the storage's id of an upload in parts. [ErrUploadOver] when it has one, or is not open.
	BeginUpload(ctx context.Context, ref ItemRef, multipart string) error
	// SignUpload keeps until when the file of an open upload can be put with what is signed now, and records the tasks.
	// [ErrUploadOver] when it is not open.
	SignUpload(ctx context.Context, ref ItemRef, until time.Time, follow []task.Task) error
	// CompleteUpload replaces an open upload by its item, and its claim by the item's bytes; an item that says until when its file
	// can be put once more leaves an [UploadDone]. [ErrUploadOver] when the upload is open no more; *[QuotaReached].
	CompleteUpload(ctx context.Context, u Upload, i Item, quota int64, once idempotency.Key) error
	// CloseUpload ends an upload at its ExpiresAt, and records the tasks; nothing happens to one that has ended. Its bytes stay
	// claimed. [ErrUploadOver] when there is none.
	CloseUpload(ctx context.Context, u Upload, follow []task.Task, once idempotency.Key) error
	// ReleaseUpload gives back what a closed upload claims, once.
	ReleaseUpload(ctx context.Context, u Upload) error
	// ForgetUpload removes an upload that is closed and claims nothing, or done, if there.
	ForgetUpload(ctx context.Context, ref ItemRef) error
}

// ItemsRequest asks for one page of items; see [Score.ItemsOf], [LibraryItems] and [AllItems].
type ItemsRequest struct {
	Of     Ref // without an id for all items of the owner
	Window page.Window
}

// ItemsOf asks for the items that were uploaded to the score, whether they are pages of it or not. They are the owner's to see.
func (s Score) ItemsOf(w page.Window) ItemsRequest { return ItemsRequest{Of: s.Ref, Window: w} }

// LibraryItems asks for the items of an owner's library.
func LibraryItems(owner UserID, w page.Window) ItemsRequest {
	return ItemsRequest{Of: Ref{Owner: owner, ID: Library}, Window: w}
}

// AllItems asks for all items of an owner, those of scores that were deleted among them: they take up room until they are deleted,
// too.
func AllItems(owner UserID, w page.Window) ItemsRequest {
	return ItemsRequest{Of: Ref{Owner: owner}, Window: w}
}
