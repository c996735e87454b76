package score

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/viewer"
)

// The bounds of items.
const (
	MaxItemName = 255     // characters; as most file systems have it
	MaxSetName  = 64      // characters
	MaxItem     = 5 << 30 // bytes of a file: what S3 copies, and the embedded engine was tried with
	MaxType     = 127     // characters of a media type
	MaxItems    = 100_000 // of an owner, with the uploads that may still be completed
)

// Item is a file of a user: a page of a score, or something in the user's library. Its bytes are in the object storage.
type Item struct {
	ItemRef
	Name      string // of the file, as its owner called it
	SetName   string // of the set that it belongs to; or ""
	Type      string // the media type; that of an image was found in its bytes
	Size      int64  // bytes of the file
	Total     int64  // bytes of file and thumbnail: what counts against the quota
	SHA256    string // of the bytes, in base64; of a file that came in parts see [Composite]
	Object    string // where the file is kept
	Width     int    // pixels, of an image whose header tells them; otherwise 0
	Height    int
	Thumbnail Thumbnail // zero for none
	Refs      int       // scores, snapshots and projects that use it
	CreatedAt time.Time
	Withdrawn time.Time // since when nobody but its owner may read it; zero for never
	Imported  bool      // a project uses it, or has done so
	Signed    time.Time // until when its file can be put once more, where nobody reads it; zero when it could not when it was completed
	shown     shown
	foreign   bool // shown to others than the owner
}

// Told returns what the viewer is told of where the item is: only the owner learns to which score it was uploaded, because who knows
// the id of a score may be able to read it. What others are told is unique, and leads nowhere.
func (i Item) Told() ItemRef {
	ref := i.ItemRef
	if i.foreign {
		ref.Score = Library
	}
	return ref
}

// Thumbnail is a small JPEG or PNG of an image.
type Thumbnail struct {
	Object string // where it is kept; "" for none
	Type   string
	Size   int64
	Width  int // pixels
	Height int
}

// Usage is how much an owner's items take up.
type Usage struct {
	Size    int64 // bytes of all items and their thumbnails
	Claimed int64 // Size, and the bytes of files that may still be put and are no items: what the quota bounds
	Items   int   // that there are
	Uploads int   // that may still be completed
	Quota   int64 // of this owner; 0 for that of everybody
}

// QuotaReached is the outcome of an upload for which there is no room.
type QuotaReached struct {
	Usage Usage
	Quota int64
}

// Error says so.
func (*QuotaReached) Error() string {
	return "there is no room for this file: delete others first; what was put within a quarter of an hour and then aborted or deleted is free after it"
}

// ItemInUse is the outcome of a deletion of an item that something uses.
type ItemInUse struct{ Item Item }

// Error says so.
func (*ItemInUse) Error() string { return "the item is in use" }

// UseKind says what uses an item.
type UseKind string

// The kinds of uses, as they are kept.
const (
	UsedByScore    UseKind = "score"
	UsedBySnapshot UseKind = "snapshot"
	UsedByProject  UseKind = "project"
)

// Use is something that uses an item, and so keeps it from being deleted.
type Use struct {
	Item  ItemRef
	Kind  UseKind
	By    string // the id of the score, snapshot or project
	Score ID     // of a snapshot: whose it is
}

// UsesRequest asks for one page of what uses an item; see [Item.Uses].
type UsesRequest struct {
	Item   ItemRef
	Window page.Window
	shown  shown
}

// Uses asks for what uses the item.
func (i Item) Uses(w page.Window) UsesRequest {
	return UsesRequest{Item: i.ItemRef, Window: w, shown: i.shown}
}

// ItemRequest asks for an item; see [Score.Item] and [AnItem].
type ItemRequest struct {
	ItemRef
	shown shown
}

// Item asks for the item of a page of the score, which who may read the score may read.
func (s Score) Item(p Page) ItemRequest { return ItemRequest{p.ItemOf(s.Owner), s.shown} }

// AnItem asks for an item by its id.
func AnItem(ref ItemRef) ItemRequest { return ItemRequest{ItemRef: ref} }

// Request asks for the item again, for who was shown it.
func (i Item) Request() ItemRequest { return ItemRequest{i.ItemRef, i.shown} }

// Allowed reports whether the viewer may read the item: as its owner, or because a score was shown that has it as a page.
func (r ItemRequest) Allowed(ctx context.Context) bool {
	return bool(r.shown) || viewer.From(ctx).Is(r.Owner)
}

// harmless are the types of images in which no browser executes anything, unlike SVG.
var harmless = []string{"image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp"}

// Harmless reports whether a browser may show what is of the media type: everything else it has to save.
func Harmless(mediaType string) bool { return slices.Contains(harmless, mediaType) }

// Class returns the first part of the media type of an item, such as "image".
func (i Item) Class() string {
	class, _, _ := strings.Cut(i.Type, "/")
	return class
}

func noItem() error { return fault.New(fault.NotFound, "there is no such item") }

func parseItemName(name string) (string, error) {
	name, err := parseLine("input.name", "a name", name, MaxItemName)
	if err == nil && name == "" {
		err = fault.Invalidf("input.name", "a name may not be empty")
	}
	return name, err
}

// ParseSetName reads the name of a set, "" for none; an Invalid fault names the field.
func ParseSetName(field, name string) (string, error) {
	return parseLine(field, "the name of a set", name, MaxSetName)
}

// Where bytes are kept. Clients put them where nothing is read from; what they put in parts is an object only when the server
// has completed it.
const (
	uploadsPrefix = "uploads/"
	itemsPrefix   = "items/"
)

// uploadKey is uploads/<owner>/<item>: where a client puts a file.
func (r ItemRef) uploadKey() string { return uploadsPrefix + string(r.Owner) + "/" + string(r.ID) }

// objectKey is items/<owner>/<item>: where the file is kept.
func (r ItemRef) objectKey() string { return itemsPrefix + string(r.Owner) + "/" + string(r.ID) }

// thumbnailKey is items/<owner>/<item>.thumbnail.
func (r ItemRef) thumbnailKey() string { return r.objectKey() + ".thumbnail" }

// Objects are the keys under which something of an item, or of its upload, may be kept.
func (r ItemRef) Objects() []string { return []string{r.uploadKey(), r.objectKey(), r.thumbnailKey()} }

// ItemOf returns the item, or upload, of which an object may be; false when none has this key. The key does not tell the item's score.
func ItemOf(object string) (ItemRef, bool) {
	parts := strings.Split(strings.TrimSuffix(object, ".thumbnail"), "/")
	if len(parts) != 3 {
		return ItemRef{}, false
	}
	ref := ItemRef{Owner: UserID(parts[1]), ID: ItemID(parts[2])}
	return ref, slices.Contains(ref.Objects(), object)
}
