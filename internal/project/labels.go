package project

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// AddLabels is the input of [Service.AddLabels].
type AddLabels struct {
	Project                   ID
	Categories, Subcategories []string
	IdempotencyKey            *string `json:"-"`
}

// AddLabels adds to the two lists, for managers. It returns the project, and [NameTaken] as an
// expected outcome, wrapped in a fault that names the field.
func (s *Service) AddLabels(ctx context.Context, in AddLabels) (Project, error) {
	if len(in.Categories)+len(in.Subcategories) == 0 {
		return Project{}, fault.Invalidf("input.categories", "give at least one category or subcategory")
	}
	labels, err := s.parseBoth(in.Project, in.Categories, in.Subcategories)
	if err != nil {
		return Project{}, err
	}
	return once(ctx, s, "addProjectCategories", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Project, error) {
		p, err := s.get(ctx, in.Project, Manager)
		if err != nil {
			return Project{}, err
		}
		err = s.o.Store.AddLabels(ctx, p.Member.User, in.Project, labels, s.telling(p.ID, toldLists), key.With(string(in.Project)))
		if errors.Is(err, NameTaken) {
			return Project{}, s.taken(ctx, p, labels)
		}
		if err == nil {
			s.tellChanged(ctx, p)
		}
		return p, err
	}, s.reread)
}

// taken says in which list a name of the labels is taken.
func (s *Service) taken(ctx context.Context, p Project, labels []Label) error {
	there, err := domain.First(s.o.Store.ListLabels(ctx, []ID{p.ID}))
	if err != nil {
		return err
	}
	field := "input.subcategories"
	for _, l := range Category.Of(labels) {
		if slices.ContainsFunc(Category.Of(there), func(t Label) bool { return t.Key() == l.Key() }) {
			field = "input.categories"
		}
	}
	return nameTaken(field)
}

// LabelChange is what is changed of a label; zero leaves a part as it is.
type LabelChange struct {
	Name    string
	Retired *bool
	Into    string // the label of the same list that takes its place
	At      time.Time
	By      UserID // "" when nobody asked for it
}

// Of returns the label after the change.
func (c LabelChange) Of(l Label) Label {
	if c.Name != "" {
		l.Name = c.Name
	}
	switch {
	case c.Retired == nil:
	case !*c.Retired:
		l.RetiredAt = time.Time{}
	case l.RetiredAt.IsZero():
		l.RetiredAt = c.At
	}
	l.Into = c.Into
	return l
}

// ErrMerged says that a label is in no list any more.
var ErrMerged = &fault.Error{Kind: fault.Conflict, Message: "it was merged into another one: change that"}

// ErrNoTarget says that a label cannot be merged into another.
var ErrNoTarget = &fault.Error{Kind: fault.Invalid, Field: "input.mergeInto", Message: "give another one of the same list that is not retired"}

// UpdateLabel is the input of [Service.UpdateLabel]; nil leaves a part as it is.
type UpdateLabel struct {
	Label          LabelID
	Name           *string
	Retired        *bool
	MergeInto      *LabelID // nothing else is given then
	IdempotencyKey *string  `json:"-"`
}

// UpdateLabel gives a label another name, retires it or takes that back, or merges it into another of its list, for managers. What was labelled with one
// that was merged follows by a task. It returns the label, and [NameTaken] as an expected outcome, wrapped in a fault that names the field;
// [ErrMerged] of one that was merged into a different one.
func (s *Service) UpdateLabel(ctx context.Context, in UpdateLabel) (Label, error) {
	c := LabelChange{Retired: in.Retired}
	if in.Name != nil {
		name, err := parseName("input.name", "a name", *in.Name)
		if err != nil {
			return Label{}, err
		}
		c.Name = name
	}
	if into := in.MergeInto; into != nil {
		if in.Name != nil || in.Retired != nil {
			return Label{}, fault.Invalidf("input.mergeInto", "give a name or `retired` in a request of its own")
		}
		if into.Project != in.Label.Project || into.Kind != in.Label.Kind || into.ID == in.Label.ID {
			return Label{}, ErrNoTarget
		}
		c.Into = into.ID
	}
	return once(ctx, s, "update"+string(in.Label.Kind), in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Label, error) {
		p, err := s.get(ctx, in.Label.Project, Manager)
		if err != nil {
			return Label{}, err
		}
		c.At, c.By = domain.Later(s.o.Now, time.Time{}), p.Member.User
		follow := s.telling(p.ID, toldLists)
		if c.Into != "" {
			follow = append(follow, in.Label.task(c.At))
		}
		l, err := s.o.Store.UpdateLabel(ctx, in.Label, c, follow, key.With(in.Label.ID))
		if errors.Is(err, NameTaken) {
			return Label{}, nameTaken("input.name")
		}
		if err == nil {
			s.tellChanged(ctx, p)
		}
		return p.Label(l), err
	}, func(ctx context.Context, _ []string) (Label, error) {
		p, err := s.get(ctx, in.Label.Project, Taggie)
		if err != nil {
			return domain.Gone(Label{}, err)
		}
		l, err := domain.First(s.o.Store.LabelsByID(ctx, []LabelID{in.Label}))
		return domain.Gone(p.Label(l), err)
	})
}

// task is what has all that was labelled with a label that was merged follow it.
func (l LabelID) task(due time.Time) task.Task {
	return task.Task{Kind: RunRelabel, ID: string(l.Kind) + "-" + l.ID, Scope: string(l.Project), Due: due}
}

// LabelOf is the label whose task it is.
func LabelOf(t task.Task) LabelID {
	kind, id, _ := strings.Cut(t.ID, "-")
	return LabelID{Project: ID(t.Scope), Kind: Kind(kind), ID: id}
}

// Label is where an item has its label of a kind.
func (i *Item) Label(k Kind) *string { return k.of(&i.Category, &i.Subcategory) }

// Label is where an effort has its label of a kind.
func (e *Effort) Label(k Kind) *string { return k.of(&e.Category, &e.Subcategory) }

func (k Kind) of(category, subcategory *string) *string {
	if k == Subcategory {
		return subcategory
	}
	return category
}

// CurrentLabels reads labels, in place of those that were merged the ones that took their places. The errors are aligned with ids.
func CurrentLabels(ctx context.Context, read func(context.Context, []LabelID) ([]Label, []error), ids []LabelID) ([]Label, []error) {
	labels, errs := read(ctx, ids)
	for i, l := range labels { // a label is merged into one that is not, so that this ends
		for l.Into != "" {
			var err error
			if l, err = domain.First(read(ctx, []LabelID{{Project: l.Project, Kind: l.Kind, ID: l.Into}})); err != nil {
				return nil, slices.Repeat([]error{err}, len(ids))
			}
		}
		labels[i] = l
	}
	return labels, errs
}

// InUse returns the labels that items can be found to be.
func InUse(labels []Label) []Label {
	return slices.DeleteFunc(slices.Clone(labels), func(l Label) bool { return !l.RetiredAt.IsZero() })
}
