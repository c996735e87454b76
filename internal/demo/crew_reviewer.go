package demo

import (
	"context"
	"math/rand/v2"
	"slices"
)

const findUnreviewed = `query FindUnreviewed($id: ID!) {
  project(id: $id) {
    members(first: 50) {
      nodes {
        user { name }
        efforts(first: 5) { nodes { id undoneAt category { name } item { externalId } review { verdict } } }
      }
    }
  }
}`

// reviewOne has a reviewer look at something that one of the made-up people has finished lately, and nobody has looked at.
func (s *shift) reviewOne(ctx context.Context, p person) error {
	if err := s.rest(ctx, 2*s.Pace); err != nil {
		return err
	}
	me, err := s.as(p)
	if err != nil {
		return err
	}
	var data struct {
		Project struct {
			Members struct {
				Nodes []struct {
					User    named `json:"user"`
					Efforts struct {
						Nodes []effortState `json:"nodes"`
					} `json:"efforts"`
				} `json:"nodes"`
			} `json:"members"`
		} `json:"project"`
	}
	if err := s.ask(ctx, me, findUnreviewed, map[string]any{"id": s.project.id}, &data); err != nil {
		return err
	}
	var unseen []effortState
	for _, m := range data.Project.Members.Nodes {
		if m.User.Name == p.name || !slices.ContainsFunc(people[1:], func(other person) bool { return other.name == m.User.Name }) {
			continue
		}
		for _, e := range m.Efforts.Nodes {
			if e.Review == nil && e.UndoneAt == nil {
				unseen = append(unseen, e)
			}
		}
	}
	if len(unseen) == 0 {
		return errNothing
	}
	ctx, cancel := settled(ctx)
	defer cancel()
	e := unseen[rand.IntN(len(unseen))]
	done, err := s.review(ctx, me, e.ID, e.Item.ExternalID, e.Category.Name)
	if done && err == nil {
		s.tally.reviewed.Add(1)
	}
	return err
}
