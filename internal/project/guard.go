package project

import (
	"context"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/viewer"
)

// byRef reads what the viewer may read of refs, and gives it the proof on which it was read. Refs without a proof cost one
// look-up of the memberships in all of their projects.
func byRef[K key, V any](ctx context.Context, s *Service, refs []Ref[K], need TeamType, what string, read func(context.Context, []K) ([]V, []error), give func(*V, proof)) ([]V, []error) {
	of, failed := s.proofs(ctx, unproven(refs))
	values, errs := make([]V, len(refs)), make([]error, len(refs))
	var ids []K
	var at []int
	var as []proof
	for i, r := range refs {
		if r.as == "" {
			r.as = of[r.ID.project()]
			errs[i] = failed[r.ID.project()]
		}
		if errs[i] == nil {
			errs[i] = allow(r.as, need, what)
		}
		if errs[i] == nil {
			ids, at, as = append(ids, r.ID), append(at, i), append(as, r.as)
		}
	}
	if len(ids) == 0 {
		return values, errs
	}
	found, missing := read(ctx, ids)
	for n, i := range at {
		if missing != nil && missing[n] != nil {
			errs[i] = missing[n]
			continue
		}
		give(&found[n], as[n])
		values[i] = found[n]
	}
	return values, errs
}

// unproven returns the projects of those refs that carry no proof.
func unproven[K key](refs []Ref[K]) []ID {
	var ids []ID
	seen := map[ID]bool{}
	for _, r := range refs {
		if id := r.ID.project(); r.as == "" && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// proofs returns what the viewer is in each project, and why that could not be found out.
func (s *Service) proofs(ctx context.Context, ids []ID) (map[ID]proof, map[ID]error) {
	me := viewer.From(ctx).UserID
	if len(ids) == 0 || me == "" {
		return nil, nil
	}
	proofs, failed := map[ID]proof{}, map[ID]error{}
	members, errs := s.o.Store.Memberships(ctx, me, ids)
	for i, id := range ids {
		switch {
		case errs == nil || errs[i] == nil:
			proofs[id] = proof(members[i].Type)
		case !fault.Is(errs[i], fault.NotFound):
			failed[id] = errs[i]
		}
	}
	return proofs, failed
}

// pages reads the pages that hang on something shown; NotFound for the others.
func pages[R, V any](requests []R, of func(R) proof, read func([]R) ([]page.Slice[V], []error), give func(*V, proof)) ([]page.Slice[V], []error) {
	slices, errs := make([]page.Slice[V], len(requests)), make([]error, len(requests))
	var shown []R
	var at []int
	for i, r := range requests {
		if errs[i] = allow(of(r), Taggie, "list"); errs[i] == nil {
			shown, at = append(shown, r), append(at, i)
		}
	}
	if len(shown) == 0 {
		return slices, errs
	}
	found, failed := read(shown)
	for n, i := range at {
		if failed != nil && failed[n] != nil {
			errs[i] = failed[n]
			continue
		}
		slices[i] = given(found[n], of(requests[i]), give)
	}
	return slices, errs
}

// given returns a page whose things carry the proof on which it was read.
func given[V any](s page.Slice[V], as proof, give func(*V, proof)) page.Slice[V] {
	for i := range s.Items {
		give(&s.Items[i], as)
	}
	return s
}

func giveMember(m *Member, as proof) { m.as = as }
func giveItem(i *Item, as proof)     { i.as = as }
func giveEffort(e *Effort, as proof) { e.as = as }

// ListMembers lists the members of a project, or of a team, that the viewer was shown; NotFound for others.
func (s *Service) ListMembers(ctx context.Context, r MembersRequest) (page.Slice[Member], error) {
	if err := allow(r.as, Taggie, "project"); err != nil {
		return page.Slice[Member]{}, err
	}
	slice, err := s.o.Store.ListMembers(ctx, r.Project, r.Team, r.Window)
	return given(slice, r.as, giveMember), err
}

// ListItems lists the items of a project that the viewer was shown; NotFound for others. Those whose names begin with a text are in the order of their folded
// names; Invalid where no name can begin so.
func (s *Service) ListItems(ctx context.Context, r ItemsRequest) (page.Slice[Item], error) {
	if err := allow(r.as, Taggie, "project"); err != nil {
		return page.Slice[Item]{}, err
	}
	if !r.Named {
		slice, err := s.shows.ListItems(ctx, r.Project, r.Status, r.Window)
		return given(slice, r.as, giveItem), err
	}
	begin, err := parseNamePrefix("namePrefix", r.NamePrefix)
	if err != nil {
		return page.Slice[Item]{}, err
	}
	slice, err := s.shows.FindItems(ctx, r.Project, begin, r.Status, r.Window)
	return given(slice, r.as, giveItem), err
}

// ListItemsOf lists the items of labels that the viewer was shown; NotFound for others.
func (s *Service) ListItemsOf(ctx context.Context, requests []LabelItemsRequest) ([]page.Slice[Item], []error) {
	return pages(requests, func(r LabelItemsRequest) proof { return r.as }, func(requests []LabelItemsRequest) ([]page.Slice[Item], []error) {
		return s.shows.ListItemsOf(ctx, requests)
	}, giveItem)
}

// ListEffortsOfItems lists the efforts of items that the viewer was shown; NotFound for others.
func (s *Service) ListEffortsOfItems(ctx context.Context, requests []ItemEffortsRequest) ([]page.Slice[Effort], []error) {
	return pages(requests, func(r ItemEffortsRequest) proof { return r.as }, func(requests []ItemEffortsRequest) ([]page.Slice[Effort], []error) {
		return s.o.Store.ListEffortsOfItems(ctx, requests)
	}, giveEffort)
}

// ListEffortsOfMembers lists the efforts of members that the viewer was shown; NotFound for others.
func (s *Service) ListEffortsOfMembers(ctx context.Context, requests []MemberEffortsRequest) ([]page.Slice[Effort], []error) {
	return pages(requests, func(r MemberEffortsRequest) proof { return r.as }, func(requests []MemberEffortsRequest) ([]page.Slice[Effort], []error) {
		return s.o.Store.ListEffortsOfMembers(ctx, requests)
	}, giveEffort)
}

// ListToReview lists the efforts of others that await a review, of a project that the viewer was shown, for reviewers. NotFound for others,
// Forbidden for who is no reviewer.
func (s *Service) ListToReview(ctx context.Context, r ReviewsRequest) (page.Slice[Effort], error) {
	if err := allow(r.as, Reviewer, "project"); err != nil {
		return page.Slice[Effort]{}, err
	}
	slice, err := s.o.Store.ListToReview(ctx, r)
	return given(slice, r.as, giveEffort), err
}
