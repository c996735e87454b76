package labelling

import (
	"context"
	"errors"
	"strconv"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
)

// Reviewing is the input of [Service.Review].
type Reviewing struct {
	Effort         project.EffortID
	Verdict        project.Verdict
	Comment        string
	Expected       *int        `json:",omitempty"` // the effort's version that the reviewer has seen
	Correction     *Correction `json:",omitempty"` // of an incorrect one
	IdempotencyKey *string     `json:"-"`
}

// Correction is what an item is in place of what was found.
type Correction struct {
	Category    project.LabelID
	Subcategory *project.LabelID
	Keywords    []string
}

// Review says whether somebody else's effort is correct, for reviewers. What was found incorrect is NEW again, for its author first,
// unless the item has been finished again since; a later review takes the place of the earlier one, and an item that still waits
// is FINISHED again when it turns out to have been correct. With a correction an item that the effort is the last of stays FINISHED, by an effort of the reviewer's in the
// same step, and comes back to nobody. [ErrOwnWork], [ErrUndone] and *project.EffortConflict are expected outcomes; with a correction also
// *project.ItemConflict when the item has gone on since.
func (s *Service) Review(ctx context.Context, in Reviewing) (project.FinishedItem, error) {
	if in.Verdict != project.Correct && in.Verdict != project.Incorrect {
		return project.FinishedItem{}, fault.Invalidf("input.verdict", "there is no such verdict")
	}
	comment, err := parseComment("input.comment", in.Comment)
	if err != nil {
		return project.FinishedItem{}, err
	}
	if c := in.Correction; c != nil {
		if in.Verdict != project.Incorrect {
			return project.FinishedItem{}, fault.Invalidf("input.correction", "only what is incorrect is corrected")
		}
		if c.Keywords, err = project.ParseKeywords("input.correction.keywords", c.Keywords, project.MaxKeywords); err != nil {
			return project.FinishedItem{}, err
		}
	}
	return once(ctx, s, "reviewEffort", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (project.FinishedItem, error) {
		p, err := s.project(ctx, in.Effort.Project, project.Reviewer)
		if err != nil {
			return project.FinishedItem{}, err
		}
		return s.revise(ctx, p, in.Effort, key, func(item project.Item, effort project.Effort, _ []project.Effort) (Move, error) {
			switch {
			case effort.User == p.Member.User:
				return Move{}, ErrOwnWork
			case !effort.UndoneAt.IsZero():
				return Move{}, ErrUndone
			case in.Expected != nil && *in.Expected != effort.Version():
				return Move{}, &project.EffortConflict{Current: effort, Own: effort.Review.By == p.Member.User}
			}
			was, is := effort.Review.Verdict == project.Incorrect, in.Verdict == project.Incorrect
			after := item
			after.Version++
			after.UpdatedAt = domain.Later(s.Now, item.UpdatedAt)
			if last := item.LastEffort == effort.ID; last && is && item.Status == project.Finished {
				after.Status, after.ReturnedTo = project.New, effort.User
			} else if last && was && !is && item.Status == project.New {
				after.Status, after.ReturnedTo = project.Finished, ""
			}
			effort.ToReview = false
			effort.Review = project.Review{Verdict: in.Verdict, Comment: comment, By: p.Member.User, At: after.UpdatedAt}
			t := Transition{
				ID: s.NewID(), Cause: Reviewed, Project: after.Project, Item: after.ID, Version: after.Version, From: item.Status, Status: after.Status,
				User: p.Member.User, Team: p.Member.Team, Effort: effort.ID, Author: effort.User, AuthorTeam: effort.Team,
				Incorrect: is && !was, Cleared: was && !is, At: after.UpdatedAt,
			}
			m := Move{Before: item, After: after, Effort: &effort, Transition: &t}
			if in.Correction != nil {
				return s.correct(ctx, m, p.Member, *in.Correction)
			}
			return m, nil
		})
	}, s.revised(in.Effort))
}

// correct has a review of the last effort of an item add what the reviewer found in place of it.
func (s *Service) correct(ctx context.Context, m Move, by project.Member, c Correction) (Move, error) {
	was := m.Before
	if was.LastEffort != m.Effort.ID || was.Status != project.Finished && was.Status != project.New {
		return Move{}, &project.ItemConflict{Current: was}
	}
	labels, err := s.labels(ctx, Finish{Item: was.ItemID, Category: c.Category, Subcategory: c.Subcategory}, "input.correction")
	if err != nil {
		return Move{}, err
	}
	is, at := &m.After, m.After.UpdatedAt
	found := project.Effort{
		EffortID: project.EffortID{Project: was.Project, ID: derived("correction", m.Effort.ID, strconv.Itoa(m.Effort.Version()))}, Item: was.ID, User: by.User, Team: by.Team,
		Category: labels[0].ID, Subcategory: labels[1].ID, Keywords: c.Keywords, FinishedAt: at, UpdatedAt: at,
	}
	is.Status, is.ReturnedTo = project.Finished, ""
	is.Category, is.Subcategory, is.Keywords = found.Category, found.Subcategory, found.Keywords
	is.Efforts, is.EffortsMade, is.LastEffort = was.Efforts+1, was.EffortsMade+1, found.ID
	m.Correction = &found
	m.Transition.Status = is.Status
	m.Transition.Efforts = []CountedEffort{countedEffort(found)}
	return m, nil
}

// Undoing is the input of [Service.Undo].
type Undoing struct {
	Effort         project.EffortID
	IdempotencyKey *string `json:"-"`
}

// Undo takes one's own effort back: the item is the viewer's again, with a new claim. [ErrTooLate], [ErrReviewed], [ErrUndone], and
// *project.ItemConflict when the item has gone on since, are expected outcomes.
func (s *Service) Undo(ctx context.Context, in Undoing) (project.FinishedItem, error) {
	return once(ctx, s, "undoFinish", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (project.FinishedItem, error) {
		p, err := s.project(ctx, in.Effort.Project, project.Taggie)
		if err != nil {
			return project.FinishedItem{}, err
		}
		token, since := s.NewID(), s.clock(ctx)
		return s.revise(ctx, p, in.Effort, key, func(item project.Item, effort project.Effort, all []project.Effort) (Move, error) {
			if err := s.undoable(item, effort, p.Member.User); err != nil {
				return Move{}, err
			}
			after := s.next(item)
			after.Status = project.Claimed
			after.Claim = claimIn(p, item.ID, effort.User, token, since)
			after.Efforts--
			after.LastEffort, after.Category, after.Subcategory, after.Keywords = "", "", "", nil
			for _, e := range all {
				if e.ID != effort.ID && e.UndoneAt.IsZero() {
					after.LastEffort, after.Category, after.Subcategory, after.Keywords = e.ID, e.Category, e.Subcategory, e.Keywords
				}
			}
			effort.UndoneAt = after.UpdatedAt
			t := transitionOf(effort, after, Undone, s.NewID())
			t.Token, t.Until, t.From = token, after.Claim.Until, item.Status
			return Move{Before: item, After: after, Effort: &effort, Transition: &t}, nil
		})
	}, s.revised(in.Effort))
}

// undoable returns why a user cannot take an effort back.
func (s *Service) undoable(item project.Item, effort project.Effort, me UserID) error {
	switch {
	case effort.User != me:
		return fault.New(fault.Forbidden, "only who did it may undo it")
	case !effort.UndoneAt.IsZero():
		return ErrUndone
	case effort.Review.Verdict != "":
		return ErrReviewed
	case s.Now().Sub(effort.FinishedAt) > Undo:
		return ErrTooLate
	case item.Status != project.Finished || item.LastEffort != effort.ID:
		return &project.ItemConflict{Current: item}
	}
	return nil
}

// revise changes an effort together with its item; again when somebody else changed the item meanwhile. decide gets the item with
// all of its efforts as they are at one moment.
func (s *Service) revise(ctx context.Context, p project.Project, id project.EffortID, key idempotency.Key, decide func(project.Item, project.Effort, []project.Effort) (Move, error)) (project.FinishedItem, error) {
	known, err := domain.First(s.Truth.EffortsByID(ctx, []project.EffortID{id}))
	if err != nil {
		return project.FinishedItem{}, err
	}
	var conflict *project.ItemConflict
	for range s.turns.Until(ctx, string(id.Project)+" "+known.Item) {
		item, efforts, err := s.Truth.ItemWithEfforts(ctx, project.ItemID{Project: id.Project, ID: known.Item})
		if err != nil {
			return project.FinishedItem{}, err
		}
		effort, found := project.Effort{}, false
		for _, e := range efforts {
			if e.ID == id.ID {
				effort, found = e, true
			}
		}
		if !found || item.Status.Hidden() {
			return project.FinishedItem{}, notFound("effort")
		}
		m, err := decide(p.Item(item), p.Effort(effort), efforts)
		if err != nil {
			return project.FinishedItem{}, err
		}
		m.Known = &effort
		m.Effort.UpdatedAt = m.After.UpdatedAt
		m.Effort.Changes++
		m.Transition.ToReview, m.Transition.Category = toReview(effort, *m.Effort), effort.Category
		err = s.move(ctx, &m, key.With(id.ID))
		if !errors.As(err, &conflict) {
			return project.FinishedItem{Item: m.After, Effort: *m.Effort}, err
		}
	}
	return project.FinishedItem{}, retry.Busy("this item")
}

// toReview is how many efforts more await a review when one becomes another.
func toReview(before, after project.Effort) int {
	switch was, is := before.AwaitsReview(), after.AwaitsReview(); {
	case is && !was:
		return 1
	case was && !is:
		return -1
	}
	return 0
}

// revised returns an effort and its item as they are now, for a request that is repeated.
func (s *Service) revised(id project.EffortID) func(context.Context, []string) (project.FinishedItem, error) {
	return func(ctx context.Context, _ []string) (project.FinishedItem, error) {
		p, err := s.project(ctx, id.Project, project.Taggie)
		if err != nil {
			return domain.Gone(project.FinishedItem{}, err)
		}
		effort, err := domain.First(s.Truth.EffortsByID(ctx, []project.EffortID{id}))
		if err != nil {
			return domain.Gone(project.FinishedItem{}, err)
		}
		item, _, err := s.item(ctx, project.ItemID{Project: id.Project, ID: effort.Item})
		return domain.Gone(project.FinishedItem{Item: item, Effort: p.Effort(effort)}, missing(err))
	}
}
