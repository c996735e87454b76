package model

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
)

// Connections and edges that carry nothing but their items.
type (
	// ItemConnection is a page of items.
	ItemConnection = page.List[score.Item]
	// ItemEdge is an item in a list.
	ItemEdge = page.Edge[score.Item]
)

// Unions; see aliases.go.
type (
	// ItemUser is a score, a snapshot or a project.
	ItemUser any
	// CreateScoreProblem is an expected outcome of createScore.
	CreateScoreProblem any
	// UpdateScoreProblem is an expected outcome of updateScore.
	UpdateScoreProblem any
	// DeleteScoreProblem is an expected outcome of deleteScore.
	DeleteScoreProblem any
	// CreateSnapshotProblem is an expected outcome of createSnapshot.
	CreateSnapshotProblem any
	// RenameSnapshotProblem is an expected outcome of renameSnapshot.
	RenameSnapshotProblem any
	// RestoreSnapshotProblem is an expected outcome of restoreSnapshot.
	RestoreSnapshotProblem any
	// RequestUploadProblem is an expected outcome of requestUpload.
	RequestUploadProblem any
	// CompleteUploadProblem is an expected outcome of completeUpload.
	CompleteUploadProblem any
	// DeleteItemProblem is an expected outcome of deleteItem.
	DeleteItemProblem any
)

// Score is a score as it is now, or as of a snapshot.
type Score struct {
	score.Score
	At   *score.Snapshot // nil as it is now
	Then *score.Content  // of the snapshot
}

// ScoreConnection is a page of scores.
type ScoreConnection struct{ page.Connection[ScoreEdge] }

// Nodes returns the scores without their edges.
func (c ScoreConnection) Nodes() []Score {
	nodes := make([]Score, len(c.Edges))
	for i, e := range c.Edges {
		nodes[i] = e.Node
	}
	return nodes
}

// ScoreEdge is a score in a list.
type ScoreEdge struct {
	page.Position
	Node Score
}

// KeptScoreConnection is a page of scores that a user keeps.
type KeptScoreConnection struct {
	page.Connection[KeptScoreEdge]
}

// KeptScoreEdge is a score that a user keeps; resolvers load the score.
type KeptScoreEdge struct {
	page.Position
	score.Kept
}

// GlobalID returns the id of the score.
func (e KeptScoreEdge) GlobalID() gid.ID { return Score{Score: score.Score{Ref: e.Score}}.GlobalID() }

// GlobalID returns the id, which that of a snapshot is a part of.
func (s Score) GlobalID() gid.ID {
	key := []string{string(s.Ref.Owner), string(s.Ref.ID)}
	if s.At != nil {
		key = append(key, s.At.ID)
	}
	return gid.Of("Score", key...)
}

// PageList returns the pages.
func (s Score) PageList() []ScorePage {
	pages := make([]ScorePage, len(s.Pages))
	for i, p := range s.Pages {
		pages[i] = ScorePage{Page: p, Index: i, Of: s.ItemOf(p)}
	}
	return pages
}

// ItemOf asks for the item of a page.
func (s Score) ItemOf(p score.Page) score.ItemRequest { return s.Score.Item(p) }

// AnnotationList returns the annotations.
func (s Score) AnnotationList() []Annotation {
	all := make([]Annotation, len(s.Score.Annotations))
	for i, hash := range s.Score.Annotations {
		all[i] = Annotation{Index: i, Hash: hash}
		if s.Then != nil {
			all[i].Known = &s.Then.Annotations[i]
			continue
		}
		all[i].Of = s.Annotation(i)
	}
	return all
}

// ScorePage is a page of a score.
type ScorePage struct {
	score.Page
	Index int
	Of    score.ItemRequest // asks for the item
}

// Annotation is a text about a score.
type Annotation struct {
	Index int
	Hash  string
	Known *string           // the text, of a snapshot
	Of    score.TextRequest // asks for the text, where it is not known
}

// ItemUseConnection is a list of what uses an item.
type ItemUseConnection struct {
	page.Connection[ItemUseEdge]
}

// ItemUseEdge is something that uses an item; resolvers load it.
type ItemUseEdge struct {
	page.Position
	score.Use
}

// ItemUpload is a file that may be uploaded.
type ItemUpload struct{ score.Ticket }

// PutRequest returns how to put the file, nil when it comes in parts.
func (u ItemUpload) PutRequest() *UploadRequest {
	if u.InParts() {
		return nil
	}
	return RequestOf(u.Put)
}

// PostForm returns how a browser posts the file, nil when it comes in parts.
func (u ItemUpload) PostForm() *UploadForm {
	if u.InParts() {
		return nil
	}
	return &UploadForm{URL: u.Form.URL, Fields: headers(u.Form.Fields)}
}

// PartBytes returns the size of a part, nil for a file that is put at once.
func (u ItemUpload) PartBytes() *int64 {
	if !u.InParts() {
		return nil
	}
	return &u.Upload.PartSize
}

// RequestOf returns a request as the contract has it.
func RequestOf(r score.Request) *UploadRequest {
	return &UploadRequest{Method: r.Method, URL: r.URL, Headers: headers(r.Headers)}
}

func headers(of map[string]string) []UploadHeader {
	all := []UploadHeader{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, UploadHeader{Name: name, Value: of[name]})
	}
	return all
}

// MarshalSnapshotID writes the global id of a snapshot.
func MarshalSnapshotID(id score.SnapshotID) graphql.Marshaler {
	return gid.Of("Snapshot", string(id.Score.Owner), string(id.Score.ID), id.ID)
}

// UnmarshalSnapshotID is not used; see [UnmarshalUserID].
func UnmarshalSnapshotID(any) (score.SnapshotID, error) { return score.SnapshotID{}, errOutputOnly }

// MarshalItemID writes the global id of an item.
func MarshalItemID(id score.ItemRef) graphql.Marshaler { return ItemGID(id) }

// ItemGID returns the global id of an item.
func ItemGID(id score.ItemRef) gid.ID {
	return gid.Of("Item", string(id.Owner), string(id.Score), string(id.ID))
}

// UnmarshalItemID is not used; see [UnmarshalUserID].
func UnmarshalItemID(any) (score.ItemRef, error) { return score.ItemRef{}, errOutputOnly }

// The spelling of access in the contract.
var accesses = map[score.Access]string{score.Private: "PRIVATE", score.Limited: "LIMITED", score.Public: "PUBLIC"}

// MarshalScoreAccess writes who may read a score.
func MarshalScoreAccess(a score.Access) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.Quote(accesses[a])) })
}

// UnmarshalScoreAccess reads who may read a score.
func UnmarshalScoreAccess(v any) (score.Access, error) {
	for a, name := range accesses {
		if v == name {
			return a, nil
		}
	}
	return score.Private, fmt.Errorf("%.40v is not an access", v)
}

// MarshalItemUseKind writes what uses an item.
func MarshalItemUseKind(k score.UseKind) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.Quote(strings.ToUpper(string(k)))) })
}

// UnmarshalItemUseKind is not used: kinds are for answers only.
func UnmarshalItemUseKind(any) (score.UseKind, error) { return "", errOutputOnly }
