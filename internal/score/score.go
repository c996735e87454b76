// Package score says what is true about scores, their snapshots and the items
// that are their pages.
//
// It knows the rules and limits, who may do what, the stores it needs, and the
// projects into which items are imported. It must not know users beyond their ids, engines or GraphQL. Start reading at
// [Score], [Service] and [Store].
package score

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/viewer"
)

// ID identifies a score among all: a UUID in its canonical text form.
type ID string

// ItemID identifies an item: a UUID in its canonical text form.
type ItemID string

// UserID identifies a user.
type UserID = viewer.UserID

// Ref says where a score is: its key holds the owner, so that no look-up is needed.
type Ref struct {
	Owner UserID
	ID    ID
}

// Library takes the place of the score in the key of an item that belongs to no score: the nil UUID.
const Library ID = "00000000-0000-0000-0000-000000000000"

// ItemRef says where an item is. Its score never changes, whichever scores have it as a page.
type ItemRef struct {
	Owner UserID
	Score ID // [Library] for an item of the owner's library
	ID    ItemID
}

// Limits of a score. What is told of it, its pages and its annotations without their texts are one DynamoDB item, which holds
// 400 KB: 250 pages take up 140 KB at most, 1,000 annotations 45 KB. Each text is an item of its own; a hundred annotations
// fit into the megabyte that BatchGetItem reads of one partition.
const (
	MaxScores      = 5_000   // of an owner
	MaxTitle       = 200     // characters
	MaxDescription = 100_000 // bytes
	MaxPages       = 250
	MaxObject      = 100 // characters
	MaxLabel       = 20  // characters
	MaxAnnotations = 1_000
	MaxAnnotation  = 10_000 // bytes
	MaxSnapshots   = 250
	MaxKept        = 1_000 // scores of others that a user keeps
)

// Access says who may read a score besides its owner.
type Access uint8

// The kinds of access. Private is the zero value: who is not told otherwise may nothing.
const (
	Private Access = iota
	Limited        // whoever has the id; listed for the owner only
	Public         // everybody; listed for everybody
)

// Page is a page of a score.
type Page struct {
	Item      ItemID
	ItemScore ID     // the score in the item's key, which may be another one, or [Library]
	Object    string // what the page is called, such as the name of the file; or ""
	Label     string // what is printed on it, such as "iv"; or ""
}

// ItemOf returns where the item of a page is: it is the owner's of the score.
func (p Page) ItemOf(owner UserID) ItemRef {
	return ItemRef{Owner: owner, Score: p.ItemScore, ID: p.Item}
}

// Score is a score without its texts, which are read on their own by what is in here: [Score.Description], [Score.Annotation].
type Score struct {
	Ref
	Title           string
	Access          Access
	DescriptionHash string // "" for none
	Pages           []Page // nil where only [Score.PageCount] was read
	PageCount       int
	Annotations     []string // the hashes of their texts, in order; nil where only [Score.AnnotationCount] was read
	AnnotationCount int
	Hash            string // of what a snapshot keeps, access not being part of it; changes with it
	Version         int    // grows with each change
	Snapshots       int    // how many there are; to others than the owner, how many they may see
	ShownFrom       int    // the version from which on others may see snapshots: those of an earlier one are the owner's alone; 0 for all
	Hidden          int    // how many of the snapshots are of an earlier one
	CreatedAt       time.Time
	UpdatedAt       time.Time // strictly grows with each change
	shown           shown
	shownFrom       int // ShownFrom for others than the owner, 0 for the owner
}

// shown is proof that a score was shown to the viewer: only requests made from a score that the viewer may read have it.
type shown bool

// TextKind tells the texts of a score apart.
type TextKind string

// The kinds of texts, spelled as they begin the keys of texts and what is hashed.
const (
	DescriptionText TextKind = "desc:"
	AnnotationText  TextKind = "anno:"
)

// TextID identifies a text of a score.
type TextID struct {
	Score Ref
	Kind  TextKind
	Hash  string
}

// Text is a text with what identifies it in its score.
type Text struct {
	Kind TextKind
	Hash string
	Text string
}

// hashBytes is how much of a SHA-256 is kept, as the source document has it: as many bytes as an id has.
const hashBytes = 16

func hashOf(prefix, text string) string {
	sum := sha256.Sum256([]byte(prefix + text))
	return base64.StdEncoding.EncodeToString(sum[:hashBytes])
}

// NewText returns the text under the first 16 bytes of the SHA-256 of its kind and itself.
func NewText(kind TextKind, text string) Text {
	return Text{Kind: kind, Hash: hashOf(string(kind), text), Text: text}
}

// TextRequest asks for a text of a score; see [Score.Description].
type TextRequest struct {
	TextID
	shown shown
}

// Description asks for the description; false when there is none.
func (s Score) Description() (TextRequest, bool) {
	return TextRequest{TextID{s.Ref, DescriptionText, s.DescriptionHash}, s.shown}, s.DescriptionHash != ""
}

// Annotation asks for the text of the annotation at the index, from 0 on.
func (s Score) Annotation(index int) TextRequest {
	return TextRequest{TextID{s.Ref, AnnotationText, s.Annotations[index]}, s.shown}
}

// texts returns what identifies all texts of the score, each once. The description comes last: with it a hundred annotations of the
// greatest size would have more than the megabyte that BatchGetItem reads of one partition.
func (s Score) texts() []TextID {
	var ids []TextID
	seen := map[string]bool{}
	for _, hash := range s.Annotations {
		if !seen[hash] {
			seen[hash] = true
			ids = append(ids, TextID{s.Ref, AnnotationText, hash})
		}
	}
	if s.DescriptionHash != "" {
		ids = append(ids, TextID{s.Ref, DescriptionText, s.DescriptionHash})
	}
	return ids
}

// Texts returns the texts of the score, each once: the annotations in their order, then the description.
func (s Score) Texts() []TextID { return s.texts() }

// Items returns the items of the pages, each once, in the order of the pages.
func (s Score) Items() []ItemRef {
	var items []ItemRef
	seen := map[ItemRef]bool{}
	for _, p := range s.Pages {
		if item := p.ItemOf(s.Owner); !seen[item] {
			seen[item] = true
			items = append(items, item)
		}
	}
	return items
}

// sameContent reports whether two states of a score differ in nothing that a snapshot keeps.
func sameContent(a, b Score) bool {
	return a.Title == b.Title && a.DescriptionHash == b.DescriptionHash && slices.Equal(a.Pages, b.Pages) && slices.Equal(a.Annotations, b.Annotations)
}

// dataVersion is the version of the structure of what is hashed and kept. It is spelled as the document has it.
const dataVersion = "1"

// seal sets what follows from the content: counts and hash. The hash is that of the document's "data", as JSON with its keys in
// the document's order.
func (s Score) seal() Score {
	type page struct {
		I  int    `json:"i"`
		It ItemID `json:"it"`
		O  string `json:"o"`
		P  string `json:"p"`
		S  ID     `json:"s,omitempty"`
	}
	type annotation struct {
		I int    `json:"i"`
		H string `json:"h"`
	}
	if s.Pages == nil {
		s.Pages = []Page{} // nil is what was not read
	}
	if s.Annotations == nil {
		s.Annotations = []string{}
	}
	s.PageCount, s.AnnotationCount = len(s.Pages), len(s.Annotations)
	data := struct {
		Title  string       `json:"title"`
		DesH   string       `json:"des_h"`
		V      string       `json:"v"`
		PCount int          `json:"p_count"`
		Page   []page       `json:"page"`
		ACount int          `json:"a_count"`
		Anno   []annotation `json:"anno"`
	}{Title: s.Title, DesH: s.DescriptionHash, V: dataVersion, PCount: s.PageCount, Page: []page{}, ACount: s.AnnotationCount, Anno: []annotation{}}
	for i, p := range s.Pages {
		one := page{I: i, It: p.Item, O: p.Object, P: p.Label}
		if p.ItemScore != s.ID {
			one.S = p.ItemScore
		}
		data.Page = append(data.Page, one)
	}
	for i, hash := range s.Annotations {
		data.Anno = append(data.Anno, annotation{i, hash})
	}
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // strings and numbers can be written
	}
	s.Hash = hashOf("", string(text))
	return s
}

// VersionConflict is the outcome of a change that expected another version.
type VersionConflict struct{ Current Score }

// Error says so.
func (*VersionConflict) Error() string { return "the score has changed since" }

// UnknownItem is the outcome of a change that would make a page of an item that does not exist, or is somebody else's.
type UnknownItem struct{ Item ItemRef }

// Error says so.
func (*UnknownItem) Error() string { return "there is no such item" }

func notFound() error { return fault.New(fault.NotFound, "there is no such score") }

func parseText(field, what, text string, most int) error {
	switch {
	case !utf8.ValidString(text):
		return fault.Invalidf(field, "%s must be valid UTF-8", what)
	case strings.ContainsRune(text, 0):
		return fault.Invalidf(field, "%s may not contain NUL", what)
	case len(text) > most:
		return fault.Invalidf(field, "%s has at most %d bytes, this has %d", what, most, len(text))
	}
	return nil
}

// parseLine reads a text of one line without white space around it.
func parseLine(field, what, text string, most int) (string, error) {
	text = strings.TrimSpace(text)
	if err := parseText(field, what, text, len(text)); err != nil { // characters are counted, not bytes
		return "", err
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "", fault.Invalidf(field, "%s may not contain control characters", what)
	}
	if utf8.RuneCountInString(text) > most {
		return "", fault.Invalidf(field, "%s has at most %d characters", what, most)
	}
	return text, nil
}

func parseTitle(title string) (string, error) {
	title, err := parseLine("input.title", "a title", title, MaxTitle)
	if err == nil && title == "" {
		err = fault.Invalidf("input.title", "a title may not be empty")
	}
	return title, err
}

// parseDescription returns the hash of the description, "" for an empty one, and adds it to the texts.
func parseDescription(description string, texts map[TextID]string, of Ref) (string, error) {
	if err := parseText("input.description", "a description", description, MaxDescription); err != nil {
		return "", err
	}
	if strings.TrimSpace(description) == "" {
		return "", nil
	}
	t := NewText(DescriptionText, description)
	texts[TextID{of, t.Kind, t.Hash}] = description
	return t.Hash, nil
}

// parseAnnotation returns the hash of the annotation and adds it to the texts.
func parseAnnotation(field, annotation string, texts map[TextID]string, of Ref) (string, error) {
	if err := parseText(field, "an annotation", annotation, MaxAnnotation); err != nil {
		return "", err
	}
	if strings.TrimSpace(annotation) == "" {
		return "", fault.Invalidf(field, "an annotation may not be empty")
	}
	t := NewText(AnnotationText, annotation)
	texts[TextID{of, t.Kind, t.Hash}] = annotation
	return t.Hash, nil
}
