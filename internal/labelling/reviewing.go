package labelling

import (
	"context"
	"hash/fnv"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// ToReview returns how many efforts of others await a review: of an author and a category, "" for all of them. For reviewers.
func (s *Service) ToReview(ctx context.Context, p project.Project, author UserID, category string) (int, error) {
	if err := allow(p.Member, project.Reviewer, "project"); err != nil {
		return 0, err
	}
	all, own, err := s.Coordinator.ToReview(ctx, p.ID, author, category, p.Member.User)
	return all - own, s.ready(p.ID, err)
}

// ClaimReviews is the input of [Service.ClaimReviews].
type ClaimReviews struct {
	Project  project.ID
	Count    int    // 1 to MaxReviews
	Author   UserID // of all authors when empty
	Category string // its id; all of them when empty
}

// MaxReviews is how many efforts a reviewer can have to review.
const MaxReviews = 50

// Reviews is what a reviewer has to review.
type Reviews struct {
	Efforts []project.Effort
	Until   time.Time // when others may get them
}

// ClaimReviews hands efforts of others that await a review to the viewer, for reviewers: first those that the viewer has already, for as long
// as a claim of an item lasts from now on. While one has them, ClaimReviews gives them to nobody else; the review itself takes the effort's version,
// so that two who review the same learn of it. Repeated, it returns the same.
//
// Cost: 1 BatchGetItem for the project, 2 scripts, and 1 BatchGetItem for what the viewer has; if there is more, 1 to 4 Queries and 1 BatchGetItem per 100
// that are looked at, and 1 script.
func (s *Service) ClaimReviews(ctx context.Context, in ClaimReviews) (Reviews, error) {
	if in.Count < 1 || in.Count > MaxReviews {
		return Reviews{}, fault.Invalidf("input.count", "claim 1 to %d efforts", MaxReviews)
	}
	p, err := s.project(ctx, in.Project, project.Reviewer)
	if err != nil {
		return Reviews{}, err
	}
	c := reviewing{Service: s, project: p, in: in, until: s.clock(ctx).Add(p.Lease.Time())}
	err = s.ready(p.ID, c.run(ctx, p.AwaitingReview(in.Author, in.Category, page.Window{})))
	return Reviews{Efforts: c.got, Until: c.until}, err
}

// reviewsAtOnce is how many efforts are looked at in one go: one batch.
const reviewsAtOnce = 100

// reviewing is one request for efforts to review.
type reviewing struct {
	*Service
	project project.Project
	in      ClaimReviews
	until   time.Time
	got     []project.Effort
}

// lease gives the viewer what is left of what was got before, and then of the candidates.
func (c *reviewing) lease(ctx context.Context, done, candidates []string) ([]string, error) {
	return c.Coordinator.LeaseReviews(ctx, c.project.ID, c.project.Member.User, c.in.Count, c.project.Lease.Time(), done, candidates)
}

func (c *reviewing) run(ctx context.Context, r project.ReviewsRequest) error {
	have, err := c.lease(ctx, nil, nil)
	if err != nil {
		return err
	}
	done, err := c.still(ctx, r, have)
	if err != nil {
		return err
	}
	all, own, err := c.Coordinator.ToReview(ctx, c.project.ID, r.Author, r.Category, r.Except)
	if err != nil {
		return err
	}
	if all-own <= len(c.got) { // there is nothing else
		_, err := c.lease(ctx, done, nil)
		return err
	}
	// Each reviewer begins elsewhere, so that those who come together look at different ones.
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.project.Member.User))
	r.Begin = int(h.Sum32() % Shards)
	for r.Window.Limit = reviewsAtOnce; len(c.got) < c.in.Count; {
		slice, err := c.Truth.ListToReview(ctx, r)
		if err != nil {
			return err
		}
		had := len(c.got)
		candidates := make([]string, len(slice.Items))
		for n, e := range slice.Items {
			candidates[n] = e.ID
		}
		have, err := c.lease(ctx, done, candidates)
		if err != nil {
			return err
		}
		for _, e := range slice.Items {
			is := func(known project.Effort) bool { return known.ID == e.ID }
			if slices.Contains(have, e.ID) && !slices.ContainsFunc(c.got, is) {
				c.got = append(c.got, c.project.Effort(e))
			}
		}
		if !slice.More || len(c.got) == had && len(slice.Items) == 0 {
			return nil
		}
		r.Window.From = slice.Positions[len(slice.Positions)-1]
	}
	return nil
}

// still reads what the viewer has, and returns what awaits no review any more, or is not what is asked for now: the viewer gives it back.
func (c *reviewing) still(ctx context.Context, r project.ReviewsRequest, have []string) (done []string, err error) {
	if len(have) == 0 {
		return nil, nil
	}
	ids := make([]project.EffortID, len(have))
	for n, id := range have {
		ids[n] = project.EffortID{Project: c.project.ID, ID: id}
	}
	efforts, errs := c.Truth.EffortsByID(ctx, ids)
	for n, e := range efforts {
		failed := error(nil)
		if errs != nil {
			failed = errs[n]
		}
		if err := domain.IgnoreMissing(failed); err != nil {
			return nil, err
		}
		if failed == nil && e.AwaitsReview() && (r.Author == "" || r.Author == e.User) && (r.Category == "" || r.Category == e.Category) {
			c.got = append(c.got, c.project.Effort(e))
		} else {
			done = append(done, have[n])
		}
	}
	return done, nil
}
