package project_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/project"
)

// Who may do what: each mutation by each role, by a stranger and by nobody. What is refused writes nothing.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	ways := map[string]struct {
		need project.TeamType
		do   func(*world, context.Context) error
	}{
		"update": {project.Manager, func(w *world, ctx context.Context) error {
			_, err := w.Update(ctx, project.Update{ID: "p", Name: ptr("n")})
			return err
		}},
		"add labels": {project.Manager, func(w *world, ctx context.Context) error {
			_, err := w.AddLabels(ctx, project.AddLabels{Project: "p", Categories: []string{"n"}})
			return err
		}},
		"create team": {project.Manager, func(w *world, ctx context.Context) error {
			_, err := w.CreateTeam(ctx, project.CreateTeam{Project: "p", Name: "n", Type: project.Taggie})
			return err
		}},
		"rename team": {project.Manager, func(w *world, ctx context.Context) error {
			_, err := w.RenameTeam(ctx, project.RenameTeam{Team: project.TeamID{Project: "p", ID: "taggers"}, Name: "n"})
			return err
		}},
		"put member": {project.Manager, func(w *world, ctx context.Context) error {
			_, err := w.PutMember(ctx, project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, User: "new"})
			return err
		}},
		"put member by address": {project.Manager, func(w *world, ctx context.Context) error {
			_, err := w.PutMember(ctx, project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, Email: ptr("new@example.com")})
			if err != nil {
				assert.Zero(t, w.people.asked, "whether an address is in use is told to managers only")
			}
			return err
		}},
		"remove member": {project.Manager, func(w *world, ctx context.Context) error {
			return w.RemoveMember(ctx, project.RemoveMember{Project: "p", User: "third"})
		}},
		"create import": {project.Manager, func(w *world, ctx context.Context) error {
			_, err := w.CreateImport(ctx, project.CreateImport{Project: "p", Format: project.CSV, Bytes: 1})
			return err
		}},
		"start import": {project.Manager, func(w *world, ctx context.Context) error {
			w.files["imports/p/m"] = 10
			_, err := w.StartImport(ctx, project.ChangeImport{Import: project.TransferID{Project: "p", ID: "m"}})
			return err
		}},
		"cancel import": {project.Manager, func(w *world, ctx context.Context) error {
			_, err := w.CancelImport(ctx, project.ChangeImport{Import: project.TransferID{Project: "p", ID: "m"}})
			return err
		}},
		"import items": {project.Manager, func(w *world, ctx context.Context) error {
			_, err := w.having(func(o *project.Options) { o.Originals = &library{} }).ImportItems(ctx, project.ImportItems{Project: "p", Library: true})
			return err
		}},
		"create export": {project.Manager, func(w *world, ctx context.Context) error {
			_, err := w.CreateExport(ctx, project.CreateExport{Project: "p", Format: project.CSV})
			return err
		}},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, who := range []struct {
				user project.UserID
				role project.TeamType
			}{{"", ""}, {"other", ""}, {"tag", project.Taggie}, {"rev", project.Reviewer}, {"man", project.Manager}} {
				want := "forbidden"
				switch {
				case who.user == "":
					want = "unauthenticated"
				case who.role == "":
					want = "not found"
				case who.role.May(way.need):
					want = "fine"
				}
				w.store.writes = 0
				assert.Equal(t, want, kindOf(way.do(w, as(t, who.user))), "by %q", who.user)
				assert.Equal(t, want == "fine", w.store.writes == 1, "by %q", who.user)
			}
		})
	}
}

func TestProjectsAreForMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for user, want := range map[project.UserID][]string{
		"": {"not found", "not found", "not found"}, "tag": {"fine", "not found", "not found"}, "other": {"not found", "fine", "not found"},
	} {
		projects, errs := w.ListByID(as(t, user), []project.ID{"p", "q", "lost"})
		for i, err := range errs {
			assert.Equal(t, want[i], kindOf(err))
			assert.Equal(t, err != nil, projects[i].ID == "", "nothing comes with an error")
		}
	}
	assert.Equal(t, project.Taggie, w.shown("tag").Member.Type)

	own, err := w.List(as(t, "tag"), "tag", every)
	require.NoError(t, err)
	require.Len(t, own.Items, 1)
	_, err = w.ListItems(as(t, "tag"), own.Items[0].Items("", every))
	require.NoError(t, err, "a listed project was shown")
	_, err = w.List(as(t, "man"), "tag", every)
	assert.Equal(t, "forbidden", kindOf(err))
	_, err = w.List(as(t, ""), "", every)
	assert.Equal(t, "forbidden", kindOf(err))
}

// By global id each thing costs one look-up of memberships for all projects, and is NotFound for who is no member.
func TestPartsByIDAreForMembers(t *testing.T) {
	t.Parallel()
	parts := map[string]func(*world, context.Context) []error{
		"labels": func(w *world, ctx context.Context) []error {
			_, errs := w.LabelsByID(ctx, []project.Ref[project.LabelID]{{ID: project.LabelID{Project: "p", Kind: project.Category, ID: "owl"}}, {ID: project.LabelID{Project: "q", Kind: project.Category, ID: "cat"}}, {ID: project.LabelID{Project: "p", Kind: project.Category, ID: "lost"}}})
			return errs
		},
		"teams": func(w *world, ctx context.Context) []error {
			_, errs := w.TeamsByID(ctx, []project.Ref[project.TeamID]{{ID: project.TeamID{Project: "p", ID: "taggers"}}, {ID: project.TeamID{Project: "q", ID: "others"}}, {ID: project.TeamID{Project: "p", ID: "lost"}}})
			return errs
		},
		"items": func(w *world, ctx context.Context) []error {
			_, errs := w.ItemsByID(ctx, []project.Ref[project.ItemID]{{ID: bird}, {ID: cat}, {ID: project.ItemID{Project: "p", ID: "lost"}}})
			return errs
		},
		"efforts": func(w *world, ctx context.Context) []error {
			_, errs := w.EffortsByID(ctx, []project.Ref[project.EffortID]{{ID: project.EffortID{Project: "p", ID: "e"}}, {ID: project.EffortID{Project: "q", ID: "f"}}, {ID: project.EffortID{Project: "p", ID: "lost"}}})
			return errs
		},
		"imports": func(w *world, ctx context.Context) []error {
			_, errs := w.ImportsByID(ctx, []project.TransferID{{Project: "p", ID: "m"}, {Project: "q", ID: "n"}, {Project: "p", ID: "lost"}})
			return errs
		},
		"exports": func(w *world, ctx context.Context) []error {
			_, errs := w.ExportsByID(ctx, []project.TransferID{{Project: "p", ID: "x"}, {Project: "q", ID: "y"}, {Project: "p", ID: "lost"}})
			return errs
		},
	}
	for name, read := range parts {
		w := newWorld(t)
		for user, want := range map[project.UserID][]string{
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
				assert.Equal(t, [][]project.ID{{"p", "q"}}, w.store.asked, name)
			}
		}
		if name != "items" {
			gone, cancel := context.WithCancel(as(t, "man"))
			cancel() // DynamoDB does not answer who does not wait
			w.store.reads = 0
			assert.Equal(t, "unavailable", kindOf(read(w, gone)[0]), "%s: that nobody knows is not that there is none", name)
			assert.Zero(t, w.store.reads, "%s: it is the membership that nobody knows", name)
		}
	}
}

// What hangs on something shown is read without another look at the memberships.
func TestWhatWasShownIsProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, "tag")
	p := w.shown("tag")

	labels, err := domain.First(w.ListLabels(ctx, []project.Ref[project.ID]{p.Ref()}))
	require.NoError(t, err)
	require.Len(t, labels, 2)
	assert.Equal(t, "Night", project.Subcategory.Of(labels)[0].Name)
	of, err := domain.First(w.ListItemsOf(ctx, []project.LabelItemsRequest{project.Category.Of(labels)[0].Items(every)}))
	require.NoError(t, err)
	require.Len(t, of.Items, 1)
	items, err := w.ListItems(ctx, p.Items(project.Finished, every))
	require.NoError(t, err)
	called, err := domain.First(w.ItemsByID(ctx, []project.Ref[project.ItemID]{p.ItemCalled("bird")}))
	require.NoError(t, err)
	for _, item := range []project.Item{of.Items[0], items.Items[0], called} {
		ref, ok := item.CategoryRef()
		require.True(t, ok)
		_, err = domain.First(w.LabelsByID(ctx, []project.Ref[project.LabelID]{ref}))
		require.NoError(t, err)
		_, ok = item.SubcategoryRef()
		assert.False(t, ok)
		efforts, err := domain.First(w.ListEffortsOfItems(ctx, []project.ItemEffortsRequest{item.History(every)}))
		require.NoError(t, err)
		require.Len(t, efforts.Items, 1)
		_, err = domain.First(w.TeamsByID(ctx, []project.Ref[project.TeamID]{efforts.Items[0].TeamRef()}))
		require.NoError(t, err)
		_, err = domain.First(w.ItemsByID(ctx, []project.Ref[project.ItemID]{efforts.Items[0].ItemRef()}))
		require.NoError(t, err)
	}
	for _, r := range []project.MembersRequest{p.Members(every), project.MembersProvenBy(p.Member, every)} {
		members, err := w.ListMembers(ctx, r)
		require.NoError(t, err)
		require.Len(t, members.Items, 3)
		requests := make([]project.MemberEffortsRequest, 0, 3)
		for _, m := range append(members.Items, p.Member) {
			requests = append(requests, m.Efforts(every))
		}
		efforts, errs := w.ListEffortsOfMembers(ctx, requests)
		for i := range requests {
			require.NoError(t, errs[i])
			assert.Equal(t, requests[i].User == "tag", len(efforts[i].Items) == 1, requests[i].User)
		}
		_, ok := efforts[3].Items[0].CategoryRef()
		assert.True(t, ok)
	}
	team, err := domain.First(w.TeamsByID(ctx, []project.Ref[project.TeamID]{p.Member.TeamRef()}))
	require.NoError(t, err)
	members, err := w.ListMembers(ctx, team.Members(every))
	require.NoError(t, err)
	require.Len(t, members.Items, 1)
	assert.Empty(t, w.store.asked, "nothing asked for memberships")

	// Only a manager sees imports and exports.
	_, err = w.ListImports(ctx, p.Transfers(every))
	assert.Equal(t, "forbidden", kindOf(err))
	_, err = w.ListExports(ctx, p.Transfers(every))
	assert.Equal(t, "forbidden", kindOf(err))
	_, err = w.ListImports(ctx, w.shown("man").Transfers(every))
	require.NoError(t, err)
}

// What the viewer was not shown cannot be asked for, whoever made the request.
func TestWithoutProofThereIsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, "other")
	p := project.Project{ID: "p"}
	_, err := w.ListMembers(ctx, p.Members(every))
	assert.Equal(t, "not found", kindOf(err))
	_, err = w.ListMembers(ctx, project.Team{TeamID: project.TeamID{Project: "p", ID: "taggers"}}.Members(every))
	assert.Equal(t, "not found", kindOf(err))
	_, err = w.ListItems(ctx, p.Items("", every))
	assert.Equal(t, "not found", kindOf(err))
	_, err = w.ListImports(ctx, p.Transfers(every))
	assert.Equal(t, "not found", kindOf(err))
	_, err = w.ListExports(ctx, p.Transfers(every))
	assert.Equal(t, "not found", kindOf(err))
	_, err = domain.First(w.ListItemsOf(ctx, []project.LabelItemsRequest{w.label(project.LabelID{Project: "p", Kind: project.Category, ID: "owl"}).Items(every)}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = domain.First(w.ListEffortsOfItems(ctx, []project.ItemEffortsRequest{w.item(bird).History(every)}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = domain.First(w.ListEffortsOfMembers(ctx, []project.MemberEffortsRequest{(project.Member{Project: "p", User: "tag"}).Efforts(every)}))
	assert.Equal(t, "not found", kindOf(err))
	assert.Zero(t, w.store.reads)
	_, err = domain.First(w.ListLabels(ctx, []project.Ref[project.ID]{p.Ref()}))
	assert.Equal(t, "not found", kindOf(err))
	_, err = domain.First(w.ListTeams(ctx, []project.Ref[project.ID]{p.Ref()}))
	assert.Equal(t, "not found", kindOf(err))
	assert.Zero(t, w.store.reads)
}

// An error of one thing is not that of its neighbours.
func TestErrorsStayWithTheirThings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	man := w.shown("man").Member
	labels, errs := w.LabelsByID(as(t, "man"), []project.Ref[project.LabelID]{
		{ID: project.LabelID{Project: "q", Kind: project.Category, ID: "cat"}}, project.ProvenBy(man, project.LabelID{Project: "p", Kind: project.Category, ID: "owl"}), {ID: project.LabelID{Project: "p", Kind: project.Category, ID: "lost"}}, {ID: project.LabelID{Project: "p", Kind: project.Subcategory, ID: "night"}},
	})
	assert.Equal(t, []string{"", "Owl", "", "Night"}, []string{labels[0].Name, labels[1].Name, labels[2].Name, labels[3].Name})
	assert.Equal(t, []string{"not found", "fine", "not found", "fine"}, []string{kindOf(errs[0]), kindOf(errs[1]), kindOf(errs[2]), kindOf(errs[3])})
	slices, errs := w.ListItemsOf(as(t, "man"), []project.LabelItemsRequest{{Label: labels[3].LabelID}, labels[1].Items(every)})
	assert.Equal(t, []string{"not found", "fine"}, []string{kindOf(errs[0]), kindOf(errs[1])})
	require.Len(t, slices, 2)
	assert.Empty(t, slices[0].Items)
	require.Len(t, slices[1].Items, 1)
	assert.Equal(t, project.Manager, project.ShownAs(slices[1].Items[0]))
}
