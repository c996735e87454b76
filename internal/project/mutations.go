package project

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/tag"
)

// Create is the input of [Service.Create].
type Create struct {
	Name, Description         string
	Keywords                  []string // that the project suggests
	Categories, Subcategories []string // in their order
	IdempotencyKey            *string  `json:"-"`
}

// firstTeam is the name of the team that comes with a project.
const firstTeam = "Managers"

// Create creates a project with a team of managers, the viewer.
func (s *Service) Create(ctx context.Context, in Create) (Project, error) {
	me, err := domain.Self(ctx)
	if err != nil {
		return Project{}, err
	}
	p := Project{Version: 1, CreatedBy: me}
	if p.Name, err = parseName("input.name", "a name", in.Name); err != nil {
		return Project{}, err
	}
	if p.Description, err = parseDescription("input.description", in.Description); err != nil {
		return Project{}, err
	}
	if p.Keywords, err = ParseKeywords("input.suggestedKeywords", in.Keywords, MaxSuggestions); err != nil {
		return Project{}, err
	}
	labels, err := s.parseBoth("", in.Categories, in.Subcategories)
	if err != nil {
		return Project{}, err
	}
	return once(ctx, s, "createProject", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Project, error) {
		p.ID = ID(s.o.NewID())
		p.CreatedAt = domain.Later(s.o.Now, time.Time{})
		p.UpdatedAt = p.CreatedAt
		for i := range labels {
			labels[i].Project = p.ID
		}
		team := Team{TeamID: TeamID{Project: p.ID, ID: s.o.NewID()}, Name: firstTeam, Type: Manager, CreatedAt: p.CreatedAt}
		p.Member = Member{Project: p.ID, User: me, Team: team.ID, Type: team.Type, AddedAt: p.CreatedAt}
		if err := s.o.Store.CreateProject(ctx, p, labels, team, p.Member, key.With(string(p.ID))); err != nil {
			return Project{}, err
		}
		s.tellCreated(ctx, p)
		return shownTo(p), nil
	}, s.reread)
}

// reread returns the project of an earlier result, the zero Project when the viewer is no member any more.
func (s *Service) reread(ctx context.Context, result []string) (Project, error) {
	return domain.Gone(s.get(ctx, ID(result[0]), Taggie))
}

// parseBoth returns the labels of both lists, with ids.
func (s *Service) parseBoth(id ID, categories, subcategories []string) ([]Label, error) {
	labels, err := parseLabels(id, Category, "input.categories", categories)
	if err != nil {
		return nil, err
	}
	others, err := parseLabels(id, Subcategory, "input.subcategories", subcategories)
	if err != nil {
		return nil, err
	}
	labels = append(labels, others...)
	for i := range labels {
		labels[i].ID = s.o.NewID()
	}
	return labels, nil
}

// Update is the input of [Service.Update]; nil leaves a field as it is.
type Update struct {
	ID                ID
	Name, Description *string
	Keywords          *[]string // that the project suggests
	LeaseMinutes      *int      `json:",omitempty"` // MinLease to MaxLease
	ReviewPercent     *int      `json:",omitempty"` // 0 to 100
	NewcomerDays      *int      `json:",omitempty"` // 0 to MaxNewcomerDays
	QueueSize         *int      `json:",omitempty"` // 1 to MaxQueueSize; 0 for the usual number
	ExpectedVersion   *int
	IdempotencyKey    *string `json:"-"`
}

// Update changes name, description, suggested keywords, the size of the queue, the lease of claims from now on, or what of their
// results awaits a review, for managers. It returns the project after the change, and *[VersionConflict] as an expected outcome.
func (s *Service) Update(ctx context.Context, in Update) (Project, error) {
	var name, description string
	var keywords []string
	var err error
	if in.Name != nil {
		if name, err = parseName("input.name", "a name", *in.Name); err != nil {
			return Project{}, err
		}
	}
	if in.Description != nil {
		if description, err = parseDescription("input.description", *in.Description); err != nil {
			return Project{}, err
		}
	}
	if in.Keywords != nil {
		if keywords, err = ParseKeywords("input.suggestedKeywords", *in.Keywords, MaxSuggestions); err != nil {
			return Project{}, err
		}
	}
	if l := in.LeaseMinutes; l != nil && (*l < MinLease || *l > MaxLease) {
		return Project{}, fault.Invalidf("input.leaseMinutes", "a claim lasts %d to %d minutes", MinLease, MaxLease)
	}
	if n := in.ReviewPercent; n != nil && (*n < 0 || *n > 100) {
		return Project{}, fault.Invalidf("input.reviewPercent", "a percentage is 0 to 100")
	}
	if n := in.NewcomerDays; n != nil && (*n < 0 || *n > MaxNewcomerDays) {
		return Project{}, fault.Invalidf("input.newcomerDays", "a member is new for 0 to %d days", MaxNewcomerDays)
	}
	if n := in.QueueSize; n != nil && (*n < 0 || *n > MaxQueueSize) {
		return Project{}, fault.Invalidf("input.queueSize", "a queue holds 1 to %d items, or 0 for the usual number", MaxQueueSize)
	}
	return once(ctx, s, "updateProject", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Project, error) {
		return s.edit(ctx, in.ID, in.ExpectedVersion, func(before Project) (Project, error) {
			after := before
			if in.Name != nil {
				after.Name = name
			}
			if in.Description != nil {
				after.Description = description
			}
			if in.Keywords != nil {
				after.Keywords = keywords
			}
			if in.LeaseMinutes != nil {
				after.Lease = Lease(*in.LeaseMinutes)
			}
			if in.ReviewPercent != nil {
				after.Reviews.Unreviewed = 100 - *in.ReviewPercent
			}
			if in.NewcomerDays != nil {
				after.Reviews.NewcomerDays = *in.NewcomerDays
			}
			if in.QueueSize != nil {
				after.QueueSize = *in.QueueSize
			}
			return s.replace(ctx, before, after, key)
		})
	}, s.reread)
}

// replace puts after in the place of before, with a version of its own unless both are the same: then only the key is recorded.
func (s *Service) replace(ctx context.Context, before, after Project, key idempotency.Key) (Project, error) {
	if after.Name != before.Name || after.Description != before.Description || after.QueueSize != before.QueueSize ||
		after.Lease != before.Lease || after.Reviews != before.Reviews || !slices.Equal(after.Keywords, before.Keywords) {
		after.Version++
		after.UpdatedAt = domain.Later(s.o.Now, before.UpdatedAt)
	}
	err := s.o.Store.UpdateProject(ctx, before, after, key.With(string(after.ID)))
	if err == nil && (after.Name != before.Name || after.QueueSize != before.QueueSize) {
		s.tellChanged(ctx, after)
	}
	return after, err
}

// RemoveKeywords is the input of [Service.RemoveKeywords].
type RemoveKeywords struct {
	ID             ID
	Keywords       []string // 1 to MaxSuggestions
	IdempotencyKey *string  `json:"-"`
}

// RemoveKeywords takes keywords out of those that the project suggests, for managers; what others change meanwhile stays. Those that
// it does not suggest change nothing. It returns the project after the change.
func (s *Service) RemoveKeywords(ctx context.Context, in RemoveKeywords) (Project, error) {
	keywords, err := ParseKeywords("input.keywords", in.Keywords, MaxSuggestions)
	if err != nil {
		return Project{}, err
	}
	if len(keywords) == 0 {
		return Project{}, fault.Invalidf("input.keywords", "give at least one keyword")
	}
	return once(ctx, s, "removeSuggestedKeywords", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Project, error) {
		return s.edit(ctx, in.ID, nil, func(before Project) (Project, error) {
			after := before
			after.Keywords = slices.DeleteFunc(slices.Clone(before.Keywords), func(there string) bool {
				return slices.ContainsFunc(keywords, func(k string) bool { return tag.Fold(k) == tag.Fold(there) })
			})
			return s.replace(ctx, before, after, key)
		})
	}, s.reread)
}

func nameTaken(field string) error {
	return &fault.Error{Kind: NameTaken.Kind, Field: field, Message: NameTaken.Message, Cause: NameTaken}
}
