package project

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
)

// Who may do what: each mutation by each role, by a stranger and by nobody. What is refused writes nothing.
func TestWhoMayDoWhat(t *testing.T) {
	ways := map[string]struct {
		need TeamType
		do   func(world, context.Context) error
	}{
		"update": {Manager, func(w world, ctx context.Context) error {
			_, err := w.Update(ctx, Update{ID: "p", Name: ptr("n")})
			return err
		}},
		"add labels": {Manager, func(w world, ctx context.Context) error {
			_, err := w.AddLabels(ctx, AddLabels{Project: "p", Categories: []string{"n"}})
			return err
		}},
		"create team": {Manager, func(w world, ctx context.Context) error {
			_, err := w.CreateTeam(ctx, CreateTeam{Project: "p", Name: "n", Type: Taggie})
			return err
		}},
		"rename team": {Manager, func(w world, ctx context.Context) error {
			_, err := w.RenameTeam(ctx, RenameTeam{Team: TeamID{"p", "taggers"}, Name: "n"})
			return err
		}},
		"put member": {Manager, func(w world, ctx context.Context) error {
			_, err := w.PutMember(ctx, PutMember{Team: TeamID{"p", "taggers"}, User: "new"})
			return err
		}},
		"put member by address": {Manager, func(w world, ctx context.Context) error {
			_, err := w.PutMember(ctx, PutMember{Team: TeamID{"p", "taggers"}, Email: ptr("new@example.com")})
			if err != nil {
				assert.Zero(t, w.people.asked, "whether an address is in use is told to managers only")
			}
			return err
		}},
		"remove member": {Manager, func(w world, ctx context.Context) error {
			return w.RemoveMember(ctx, RemoveMember{Project: "p", User: "third"})
		}},
		"create import": {Manager, func(w world, ctx context.Context) error {
			_, err := w.CreateImport(ctx, CreateImport{Project: "p", Format: CSV, Bytes: 1})
			return err
		}},
		"start import": {Manager, func(w world, ctx context.Context) error {
			w.files["imports/p/m"] = 10
			_, err := w.StartImport(ctx, ChangeImport{Import: TransferID{"p", "m"}})
			return err
		}},
		"cancel import": {Manager, func(w world, ctx context.Context) error {
			_, err := w.CancelImport(ctx, ChangeImport{Import: TransferID{"p", "m"}})
			return err
		}},
		"import items": {Manager, func(w world, ctx context.Context) error {
			_, err := w.having(func(o *Options) { o.Originals = &closet{} }).ImportItems(ctx, ImportItems{Project: "p", Library: true})
			return err
		}},
		"create export": {Manager, func(w world, ctx context.Context) error {
			_, err := w.CreateExport(ctx, CreateExport{Project: "p", Format: CSV})
			return err
		}},
	}
	for name, way := range ways {
		for user, role := range map[UserID]TeamType{"": "", "other": "", "tag": Taggie, "rev": Reviewer, "man": Manager} {
			want := "forbidden"
			switch {
			case user == "":
				want = "unauthenticated"
			case role == "":
				want = "not found"
			case role.May(way.need):
				want = "fine"
			}
			w := newWorld()
			assert.Equal(t, want, kindOf(way.do(w, as(t, user))), "%s by %q", name, user)
			assert.Equal(t, want == "fine", w.store.writes == 1, "%s by %q", name, user)
		}
	}
}

func TestProjectsAreForMembers(t *testing.T) {
	w := newWorld()
	for user, want := range map[UserID][]string{
		"": {"not found", "not found", "not found"}, "tag": {"fine", "not found", "not found"}, "other": {"not found", "fine", "not found"},
	} {
		projects, errs := w.ListByID(as(t, user), []ID{"p", "q", "lost"})
		for i, err := range errs {
			assert.Equal(t, want[i], kindOf(err))
			assert.Equal(t, err != nil, projects[i].ID == "", "nothing comes with an error")
		}
	}
	assert.Equal(t, Taggie, w.shown(t, "tag").Member.Type)

	own, err := w.List(as(t, "tag"), "tag", page.Window{})
	require.NoError(t, err)
	require.Len(t, own.Items, 1)
	_, err = w.ListItems(as(t, "tag"), own.Items[0].Items("", page.Window{}))
	require.NoError(t, err, "a listed project was shown")
	_, err = w.List(as(t, "man"), "tag", page.Window{})
	assert.Equal(t, "forbidden", kindOf(err))
	_, err = w.List(as(t, ""), "", page.Window{})
	assert.Equal(t, "forbidden", kindOf(err))
}

// By global id each thing costs one look-up of memberships for all projects, and is NotFound for who is no member.
func TestPartsByIDAreForMembers(t *testing.T) {
	parts := map[string]func(world, context.Context) []error{
		"labels": func(w world, ctx context.Context) []error {
			_, errs := w.LabelsByID(ctx, []Ref[LabelID]{{ID: LabelID{"p", Category, "owl"}}, {ID: LabelID{"q", Category, "cat"}}, {ID: LabelID{"p", Category, "lost"}}})
			return errs
		},
		"teams": func(w world, ctx context.Context) []error {
			_, errs := w.TeamsByID(ctx, []Ref[TeamID]{{ID: TeamID{"p", "taggers"}}, {ID: TeamID{"q", "others"}}, {ID: TeamID{"p", "lost"}}})
			return errs
		},
		"items": func(w world, ctx context.Context) []error {
			_, errs := w.ItemsByID(ctx, []Ref[ItemID]{{ID: ItemID{"p", "i"}}, {ID: ItemID{"q", "j"}}, {ID: ItemID{"p", "lost"}}})
			return errs
		},
		"efforts": func(w world, ctx context.Context) []error {
			_, errs := w.EffortsByID(ctx, []Ref[EffortID]{{ID: EffortID{"p", "e"}}, {ID: EffortID{"q", "f"}}, {ID: EffortID{"p", "lost"}}})
			return errs
		},
		"imports": func(w world, ctx context.Context) []error {
			_, errs := w.ImportsByID(ctx, []TransferID{{"p", "m"}, {"q", "n"}, {"p", "lost"}})
			return errs
		},
		"exports": func(w world, ctx context.Context) []error {
			_, errs := w.ExportsByID(ctx, []TransferID{{"p", "x"}, {"q", "y"}, {"p", "lost"}})
			return errs
		},
	}
	for name, read := range parts {
		w := newWorld()
		w.store.items[ItemID{"q", "j"}] = Item{ItemID: ItemID{"q", "j"}}
		w.store.efforts[EffortID{"q", "f"}] = Effort{EffortID: EffortID{"q", "f"}}
		for user, want := range map[UserID][]string{
			"": {"not found", "not found", "not found"}, "man": {"fine", "not found", "not found"},
			"other": {"not found", map[bool]string{true: "not found", false: "fine"}[name == "imports" || name == "exports"], "not found"},
			"rev":   {map[bool]string{true: "forbidden", false: "fine"}[name == "imports" || name == "exports"], "not found", map[bool]string{true: "forbidden", false: "not found"}[name == "imports" || name == "exports"]},
		} {
			w.store.asked, w.store.reads = nil, 0
			errs := read(w, as(t, user))
			for i := range want {
				assert.Equal(t, want[i], kindOf(errs[i]), "%s %d for %q", name, i, user)
			}
			switch {
			case user == "":
				assert.Empty(t, w.store.asked)
				assert.Zero(t, w.store.reads, name)
			case name != "items": // which come with the memberships
				assert.Equal(t, [][]ID{{"p", "q"}}, w.store.asked, name)
			}
		}
		w.store.fail = fault.New(fault.Unavailable, "down")
		if name != "items" {
			assert.Equal(t, "unavailable", kindOf(read(w, as(t, "man"))[0]), "%s: that nobody knows is not that there is none", name)
		}
	}
}

// What hangs on something shown is read without another look at the memberships.
func TestWhatWasShownIsProof(t *testing.T) {
	w := newWorld()
	ctx := as(t, "tag")
	p := w.shown(t, "tag")
	i := w.store.items[ItemID{"p", "i"}]
	i.ItemID, i.Category, i.Status = ItemIDOf("p", "bird"), "owl", Finished
	w.store.items = map[ItemID]Item{i.ItemID: i}
	e := w.store.efforts[EffortID{"p", "e"}]
	e.Item = i.ID
	w.store.efforts[e.EffortID] = e

	labels, err := domain.First(w.ListLabels(ctx, []Ref[ID]{p.Ref()}))
	require.NoError(t, err)
	require.Len(t, labels, 2)
	assert.Equal(t, "Night", Subcategory.Of(labels)[0].Name)
	of, err := domain.First(w.ListItemsOf(ctx, []LabelItemsRequest{Category.Of(labels)[0].Items(page.Window{})}))
	require.NoError(t, err)
	require.Len(t, of.Items, 1)
	items, err := w.ListItems(ctx, p.Items(Finished, page.Window{}))
	require.NoError(t, err)
	called, err := domain.First(w.ItemsByID(ctx, []Ref[ItemID]{p.ItemCalled("bird")}))
	require.NoError(t, err)
	for _, item := range []Item{of.Items[0], items.Items[0], called} {
		ref, ok := item.CategoryRef()
		require.True(t, ok)
		_, err = domain.First(w.LabelsByID(ctx, []Ref[LabelID]{ref}))
		require.NoError(t, err)
		_, ok = item.SubcategoryRef()
		assert.False(t, ok)
		efforts, err := domain.First(w.ListEffortsOfItems(ctx, []ItemEffortsRequest{item.History(page.Window{})}))
		require.NoError(t, err)
		require.Len(t, efforts.Items, 1)
		_, err = domain.First(w.TeamsByID(ctx, []Ref[TeamID]{efforts.Items[0].TeamRef()}))
		require.NoError(t, err)
		_, err = domain.First(w.ItemsByID(ctx, []Ref[ItemID]{efforts.Items[0].ItemRef()}))
		require.NoError(t, err)
	}
	for _, r := range []MembersRequest{p.Members(page.Window{}), {Project: "p", as: p.Member.as}} {
		members, err := w.ListMembers(ctx, r)
		require.NoError(t, err)
		require.Len(t, members.Items, 3)
		requests := make([]MemberEffortsRequest, 0, 3)
		for _, m := range append(members.Items, p.Member) {
			requests = append(requests, m.Efforts(page.Window{}))
		}
		efforts, errs := w.ListEffortsOfMembers(ctx, requests)
		for i := range requests {
			require.NoError(t, errs[i])
			assert.Equal(t, requests[i].User == "tag", len(efforts[i].Items) == 1, requests[i].User)
		}
		_, ok := efforts[3].Items[0].CategoryRef()
		assert.True(t, ok)
	}
	team, err := domain.First(w.TeamsByID(ctx, []Ref[TeamID]{p.Member.TeamRef()}))
	require.NoError(t, err)
	members, err := w.ListMembers(ctx, team.Members(page.Window{}))
	require.NoError(t, err)
	require.Len(t, members.Items, 1)
	assert.Empty(t, w.store.asked, "nothing asked for memberships")

	// Only a manager sees imports and exports.
	_, err = w.ListImports(ctx, p.Transfers(page.Window{}))
	assert.Equal(t, "forbidden", kindOf(err))
	_, err = w.ListExports(ctx, p.Transfers(page.Window{}))
	assert.Equal(t, "forbidden", kindOf(err))
	_, err = w.ListImports(ctx, w.shown(t, "man").Transfers(page.Window{}))
	require.NoError(t, err)
}

// What the viewer was not shown cannot be asked for, whoever made the request.
func TestWithoutProofThereIsNothing(t *testing.T) {
	w := newWorld()
	ctx := as(t, "other")
	p := Project{ID: "p"}
	_, err := w.ListMembers(ctx, p.Members(page.Window{}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = w.ListMembers(ctx, Team{TeamID: TeamID{"p", "taggers"}}.Members(page.Window{}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = w.ListItems(ctx, p.Items("", page.Window{}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = w.ListImports(ctx, p.Transfers(page.Window{}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = w.ListExports(ctx, p.Transfers(page.Window{}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = domain.First(w.ListItemsOf(ctx, []LabelItemsRequest{w.store.labels[0].Items(page.Window{})}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = domain.First(w.ListEffortsOfItems(ctx, []ItemEffortsRequest{w.store.items[ItemID{"p", "i"}].History(page.Window{})}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = domain.First(w.ListEffortsOfMembers(ctx, []MemberEffortsRequest{w.store.members["p"]["tag"].Efforts(page.Window{})}))
	assert.Equal(t, "not found", kindOf(err))
	assert.Zero(t, w.store.reads)
	_, err = domain.First(w.ListLabels(ctx, []Ref[ID]{p.Ref()}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = domain.First(w.ListTeams(ctx, []Ref[ID]{p.Ref()}))
	assert.Equal(t, "not found", kindOf(err))
	assert.Zero(t, w.store.reads)
}

// An error of one thing is not that of its neighbours.
func TestErrorsStayWithTheirThings(t *testing.T) {
	w := newWorld()
	proven := w.shown(t, "man").Member.as
	labels, errs := w.LabelsByID(as(t, "man"), []Ref[LabelID]{
		{ID: LabelID{"q", Category, "cat"}}, {ID: LabelID{"p", Category, "owl"}, as: proven}, {ID: LabelID{"p", Category, "lost"}}, {ID: LabelID{"p", Subcategory, "night"}},
	})
	assert.Equal(t, []string{"", "Owl", "", "Night"}, []string{labels[0].Name, labels[1].Name, labels[2].Name, labels[3].Name})
	assert.Equal(t, []string{"not found", "fine", "not found", "fine"}, []string{kindOf(errs[0]), kindOf(errs[1]), kindOf(errs[2]), kindOf(errs[3])})
	w.store.items[ItemID{"p", "i"}] = Item{ItemID: ItemID{"p", "i"}, Category: "owl"}
	slices, errs := w.ListItemsOf(as(t, "man"), []LabelItemsRequest{{Label: labels[3].LabelID}, labels[1].Items(page.Window{})})
	assert.Equal(t, []string{"not found", "fine"}, []string{kindOf(errs[0]), kindOf(errs[1])})
	require.Len(t, slices, 2)
	assert.Empty(t, slices[0].Items)
	require.Len(t, slices[1].Items, 1)
	assert.Equal(t, proven, slices[1].Items[0].as)
}
