package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// shelf is as much of a store as the rules need; what is not here is not reached by these tests.
type shelf struct {
	Store
	projects map[ID]Project
	members  map[ID]map[UserID]Member
	labels   []Label
	teams    map[TeamID]Team
	items    map[ItemID]Item
	efforts  map[EffortID]Effort
	imports  map[TransferID]Import
	exports  map[TransferID]Export
	keys     map[string]idempotency.Key

	tasks  []task.Task
	writes int
	asked  [][]ID // for memberships, or that of an item
	reads  int    // of anything but memberships
	before func() // happens once, just before the next write
	fail   error  // of memberships
}

func (s *shelf) write(key idempotency.Key) error {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	if key.Given() {
		if err := s.FindIdempotencyKey(context.Background(), key); err != nil {
			return err
		}
		s.keys[key.Viewer+" "+key.Key] = key
	}
	s.writes++
	return nil
}

func (s *shelf) FindIdempotencyKey(_ context.Context, key idempotency.Key) error {
	if had, ok := s.keys[key.Viewer+" "+key.Key]; ok {
		return &idempotency.Replayed{Result: had.Result}
	}
	return nil
}

func lookUp[K comparable, V any](m map[K]V, keys []K) ([]V, []error) {
	values, errs := make([]V, len(keys)), make([]error, len(keys))
	for i, key := range keys {
		var ok bool
		if values[i], ok = m[key]; !ok {
			errs[i] = notFound("thing")
		}
	}
	return values, errs
}

func (s *shelf) ProjectsByID(_ context.Context, user UserID, ids []ID) ([]Project, []error) {
	projects, errs := lookUp(s.projects, ids)
	for i, id := range ids {
		projects[i].Member = s.members[id][user]
	}
	return projects, errs
}

func (s *shelf) ListProjects(_ context.Context, user UserID, _ page.Window) (page.Slice[Project], error) {
	var found page.Slice[Project]
	for id, p := range s.projects {
		if m, ok := s.members[id][user]; ok {
			p.Member = m
			found.Items = append(found.Items, p)
		}
	}
	return found, nil
}

func (s *shelf) Memberships(_ context.Context, user UserID, ids []ID) ([]Member, []error) {
	s.asked = append(s.asked, ids)
	members, errs := make([]Member, len(ids)), make([]error, len(ids))
	for i, id := range ids {
		m, ok := s.members[id][user]
		if members[i] = m; !ok {
			errs[i] = notFound("member")
		}
		if s.fail != nil {
			errs[i] = s.fail
		}
	}
	return members, errs
}

func (s *shelf) MembersByID(_ context.Context, id ID, users []UserID) ([]Member, []error) {
	return lookUp(s.members[id], users)
}

func (s *shelf) CreateProject(_ context.Context, p Project, labels []Label, t Team, m Member, key idempotency.Key) error {
	if err := s.write(key); err != nil {
		return err
	}
	s.projects[p.ID], s.teams[t.TeamID] = p, t
	s.members[p.ID] = map[UserID]Member{m.User: m}
	s.labels = append(s.labels, labels...)
	return nil
}

func (s *shelf) UpdateProject(_ context.Context, before, after Project, key idempotency.Key) error {
	if err := s.write(key); err != nil {
		return err
	}
	if s.projects[before.ID].Version != before.Version {
		return &VersionConflict{}
	}
	s.projects[after.ID] = after
	return nil
}

func (s *shelf) AddLabels(_ context.Context, _ ID, labels []Label, key idempotency.Key) error {
	for _, l := range labels {
		if slices.ContainsFunc(s.labels, func(t Label) bool { return t.Kind == l.Kind && t.Key() == l.Key() }) {
			return NameTaken
		}
	}
	s.labels = append(s.labels, labels...)
	return s.write(key)
}

func (s *shelf) ListLabels(_ context.Context, ids []ID) ([][]Label, []error) {
	s.reads++
	found := make([][]Label, len(ids))
	for i, id := range ids {
		for _, l := range s.labels {
			if l.Project == id {
				found[i] = append(found[i], l)
			}
		}
	}
	return found, nil
}

func (s *shelf) LabelsByID(_ context.Context, ids []LabelID) ([]Label, []error) {
	s.reads++
	all := map[LabelID]Label{}
	for _, l := range s.labels {
		all[l.LabelID] = l
	}
	return lookUp(all, ids)
}

func (s *shelf) PutTeam(_ context.Context, t Team, _ bool, key idempotency.Key) error {
	for id, other := range s.teams {
		if id != t.TeamID && id.Project == t.Project && other.Key() == t.Key() {
			return NameTaken
		}
	}
	s.teams[t.TeamID] = t
	return s.write(key)
}

func (s *shelf) TeamsByID(_ context.Context, ids []TeamID) ([]Team, []error) {
	s.reads++
	return lookUp(s.teams, ids)
}

func (s *shelf) PutMember(_ context.Context, m Member, key idempotency.Key) error {
	if m.User == "nobody" {
		return &UnknownUser{}
	}
	s.members[m.Project][m.User] = m
	return s.write(key)
}

func (s *shelf) DeleteMember(_ context.Context, id ID, user UserID, key idempotency.Key) error {
	delete(s.members[id], user)
	return s.write(key)
}

func (s *shelf) ListMembers(_ context.Context, id ID, team string, _ page.Window) (page.Slice[Member], error) {
	s.reads++
	var found page.Slice[Member]
	for _, m := range s.members[id] {
		if team == "" || m.Team == team {
			found.Items = append(found.Items, m)
		}
	}
	return found, nil
}

func (s *shelf) ItemsByID(_ context.Context, user UserID, ids []ItemID) ([]Item, map[ID]Member, []error) {
	s.reads++
	members := map[ID]Member{}
	if user != "" {
		for _, id := range ids {
			s.asked = append(s.asked, []ID{id.Project})
			if m, ok := s.members[id.Project][user]; ok {
				members[id.Project] = m
			}
		}
	}
	items, errs := lookUp(s.items, ids)
	return items, members, errs
}

func (s *shelf) ListItems(_ context.Context, id ID, status Status, _ page.Window) (page.Slice[Item], error) {
	s.reads++
	var found page.Slice[Item]
	for _, i := range s.items {
		if i.Project == id && (status == "" || i.Status == status) {
			found.Items = append(found.Items, i)
		}
	}
	return found, nil
}

func (s *shelf) ListItemsOf(_ context.Context, requests []LabelItemsRequest) ([]page.Slice[Item], []error) {
	s.reads++
	found := make([]page.Slice[Item], len(requests))
	for n, r := range requests {
		for _, i := range s.items {
			if i.Category == r.Label.ID {
				found[n].Items = append(found[n].Items, i)
			}
		}
	}
	return found, nil
}

func (s *shelf) EffortsByID(_ context.Context, ids []EffortID) ([]Effort, []error) {
	s.reads++
	return lookUp(s.efforts, ids)
}

func (s *shelf) ListEffortsOfItems(_ context.Context, requests []ItemEffortsRequest) ([]page.Slice[Effort], []error) {
	s.reads++
	found := make([]page.Slice[Effort], len(requests))
	for n, r := range requests {
		for _, e := range s.efforts {
			if e.Item == r.Item.ID {
				found[n].Items = append(found[n].Items, e)
			}
		}
	}
	return found, nil
}

func (s *shelf) ListEffortsOfMembers(_ context.Context, requests []MemberEffortsRequest) ([]page.Slice[Effort], []error) {
	s.reads++
	found := make([]page.Slice[Effort], len(requests))
	for n, r := range requests {
		for _, e := range s.efforts {
			if e.Project == r.Project && e.User == r.User {
				found[n].Items = append(found[n].Items, e)
			}
		}
	}
	return found, nil
}

func (s *shelf) PutImport(_ context.Context, before *Import, after Import, follow []task.Task, key idempotency.Key) error {
	if err := s.write(key); err != nil {
		return err
	}
	if before != nil && s.imports[after.TransferID].Version != before.Version {
		s.writes--
		return &TransferConflict{}
	}
	if before == nil && unended(s.imports, func(i Import) TransferState { return i.State }) >= MaxTransfers {
		return fault.New(fault.Exhausted, "too many")
	}
	s.imports[after.TransferID] = after
	s.tasks = append(s.tasks, follow...)
	return nil
}

func (s *shelf) PutExport(_ context.Context, before *Export, after Export, follow []task.Task, key idempotency.Key) error {
	if before == nil && unended(s.exports, func(e Export) TransferState { return e.State }) >= MaxTransfers {
		return fault.New(fault.Exhausted, "too many")
	}
	s.exports[after.TransferID] = after
	s.tasks = append(s.tasks, follow...)
	return s.write(key)
}

func unended[T any](all map[TransferID]T, state func(T) TransferState) (n int) {
	for _, of := range all {
		if !state(of).Ended() {
			n++
		}
	}
	return n
}

func (s *shelf) ImportsByID(_ context.Context, ids []TransferID) ([]Import, []error) {
	s.reads++
	return lookUp(s.imports, ids)
}

func (s *shelf) ExportsByID(_ context.Context, ids []TransferID) ([]Export, []error) {
	s.reads++
	return lookUp(s.exports, ids)
}

func (s *shelf) ListImports(context.Context, ID, page.Window) (page.Slice[Import], error) {
	s.reads++
	return page.Slice[Import]{Items: slices.Collect(maps.Values(s.imports))}, nil
}

func (s *shelf) ListExports(context.Context, ID, page.Window) (page.Slice[Export], error) {
	s.reads++
	return page.Slice[Export]{Items: slices.Collect(maps.Values(s.exports))}, nil
}

// people knows one address.
type people struct{ asked int }

func (p *people) Lookup(_ context.Context, email string) (UserID, error) {
	p.asked++
	if email == "new@example.com" {
		return "new", nil
	}
	return "", notFound("user")
}

// sizes are the uploaded files.
type sizes map[string]int64

func (s sizes) Size(_ context.Context, key string) (int64, error) {
	if n, ok := s[key]; ok {
		return n, nil
	}
	return 0, notFound("file")
}

var morning = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// world is a project "p" with a member of each role, an item, a category and a subcategory; and one "q" of somebody else.
type world struct {
	*Service
	store  *shelf
	people *people
	files  sizes
}

func newWorld() world {
	store := &shelf{
		projects: map[ID]Project{"p": {ID: "p", Name: "birds", Version: 3}, "q": {ID: "q"}},
		members: map[ID]map[UserID]Member{
			"p": {
				"tag": {Project: "p", User: "tag", Team: "taggers", Type: Taggie, AddedAt: morning},
				"rev": {Project: "p", User: "rev", Team: "reviewers", Type: Reviewer},
				"man": {Project: "p", User: "man", Team: "managers", Type: Manager},
			},
			"q": {"other": {Project: "q", User: "other", Team: "others", Type: Manager}},
		},
		labels: []Label{
			{LabelID: LabelID{"p", Category, "owl"}, Name: "Owl"},
			{LabelID: LabelID{"p", Subcategory, "night"}, Name: "Night"},
			{LabelID: LabelID{"q", Category, "cat"}, Name: "Cat"},
		},
		teams: map[TeamID]Team{
			{"p", "taggers"}: {TeamID: TeamID{"p", "taggers"}, Name: "Taggers", Type: Taggie},
			{"q", "others"}:  {TeamID: TeamID{"q", "others"}, Name: "Others", Type: Manager},
		},
		items:   map[ItemID]Item{{"p", "i"}: {ItemID: ItemID{"p", "i"}, Status: New, Version: 1, UpdatedAt: morning}},
		efforts: map[EffortID]Effort{{"p", "e"}: {EffortID: EffortID{"p", "e"}, Item: "i", User: "tag", Team: "taggers", Category: "owl"}},
		imports: map[TransferID]Import{{"p", "m"}: {TransferID: TransferID{"p", "m"}, Bytes: 10, State: Awaiting, Version: 1}},
		exports: map[TransferID]Export{{"p", "x"}: {TransferID: TransferID{"p", "x"}, State: Done, Version: 1}},
		keys:    map[string]idempotency.Key{},
	}
	known, files, ids := &people{}, sizes{}, 0
	s := NewService(Options{Store: store, People: known, Uploads: files, Now: func() time.Time { return morning }, NewID: func() string { ids++; return fmt.Sprint("id", ids) }})
	return world{Service: s, store: store, people: known, files: files}
}

// having returns the service with other options.
func (w world) having(change func(o *Options)) *Service {
	o := w.o
	change(&o)
	return NewService(o)
}

func as(t *testing.T, user UserID) context.Context {
	return viewer.With(t.Context(), viewer.Viewer{UserID: user})
}

// shown returns the project as the member sees it.
func (w world) shown(t *testing.T, user UserID) Project {
	p, err := domain.First(w.ListByID(as(t, user), []ID{"p"}))
	require.NoError(t, err)
	return p
}

func kindOf(err error) string {
	if err == nil {
		return "fine"
	}
	return fault.KindOf(err).String()
}

func refused(t require.TestingT, err error, field string) {
	e, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok, "got %v", err)
	require.Equal(t, fault.Invalid, e.Kind)
	require.Equal(t, field, e.Field)
}

func ptr[T any](v T) *T { return &v }
