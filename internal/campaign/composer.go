package campaign

import (
	"context"
	"errors"
	"fmt"
)

// Composer makes scores, writes annotations into them, and takes snapshots.
type Composer struct {
	Maker
	Begun func(score string) // is told of each new score; nil for nobody
}

const (
	scoreMutation    = `mutation($in: CreateScoreInput!) { result: createScore(input: $in) { score { id } problem { __typename } } }`
	annotateMutation = `mutation($in: UpdateScoreInput!) { result: updateScore(input: $in) { score { version } problem { __typename } } }`
	snapshotMutation = `mutation($in: CreateSnapshotInput!) { result: createSnapshot(input: $in) { snapshot { id } problem { __typename } } }`
	scoresQuery      = `query($id: ID!, $after: Cursor) { user(id: $id) { scores(first: 5, after: $after) { pageInfo { hasNextPage endCursor }
		nodes { id title annotations { text } snapshots { id name } } } } }`
	asOfQuery = `query($s: ID!) { node(id: $s) { ... on Snapshot { score { annotations { text } } } } }`
)

func scoresOf(user string) string       { return "scores of " + user }
func annotationsOf(score string) string { return "annotations of " + score }
func snapshotsOf(score string) string   { return "snapshots of " + score }

// each is how many things go into one place before the next one is made.
const each = 60

// Run composes until the context ends.
func (c *Composer) Run(ctx context.Context) {
	score := ""
	for n := 0; c.rest(ctx, c.Rand); n++ {
		switch {
		case score == "" || n%each == each-1:
			score = c.begins(ctx)
		case c.Rand.IntN(5) == 0:
			name := fmt.Sprintf("snapshot %d", n)
			c.changes(ctx, score, snapshotsOf(score), name, snapshotMutation, map[string]any{"scoreId": score, "name": name})
		default:
			text := c.name("annotation")
			steps := []any{map[string]any{"insert": map[string]any{"at": 0, "texts": []string{text}}}}
			c.changes(ctx, score, annotationsOf(score), text, annotateMutation, map[string]any{"scoreId": score, "annotations": steps})
		}
	}
}

// changes sends a mutation of a score that puts something into a collection, and writes down what came of it.
func (c *Composer) changes(ctx context.Context, score, collection, name, mutation string, in map[string]any) {
	var r struct {
		Score    *struct{ Version int }
		Snapshot *struct{ ID string }
	}
	o := c.asks(ctx, mutation, in, &r).did(Make, c.User, collection)
	o.Content, o.Score = name, score
	if r.Score != nil {
		o.Version = r.Score.Version
	}
	if r.Snapshot != nil {
		o.Made = r.Snapshot.ID
	}
	c.History.Did(o)
}

// begins makes a score and returns its id, "" when nobody knows whether there is one.
func (c *Composer) begins(ctx context.Context) string {
	var r struct{ Score *struct{ ID string } }
	title := c.name("score")
	if c.makes(ctx, title, scoreMutation, map[string]any{"title": title}, &r, scoresOf(c.User)) && r.Score != nil {
		if c.Begun != nil {
			c.Begun(r.Score.ID)
		}
		return r.Score.ID
	}
	return ""
}

// texts are annotations.
type texts []struct{ Text string }

func (t texts) all() (all []string) {
	for _, one := range t {
		all = append(all, one.Text)
	}
	return all
}

// Stored reads what is stored of what the composer made.
func (c *Composer) Stored(ctx context.Context, s *Stored) error {
	type score struct {
		ID          string
		Title       string
		Annotations texts
		Snapshots   []struct{ ID, Name string }
	}
	type found struct {
		User *struct{ Scores listed[score] }
	}
	scores, err := list(ctx, &c.Maker, scoresQuery, c.User, func(d *found) *listed[score] {
		if d.User == nil {
			return nil
		}
		return &d.User.Scores
	})
	titles := Collection{ID: scoresOf(c.User)}
	for _, one := range scores {
		titles.Members = append(titles.Members, one.Title)
		snapshots := Collection{ID: snapshotsOf(one.ID)}
		for _, kept := range one.Snapshots {
			snapshots.Members = append(snapshots.Members, kept.Name)
			members, failed := c.asOf(ctx, kept.ID)
			err = errors.Join(err, failed)
			s.Copies = append(s.Copies, Copy{Of: annotationsOf(one.ID), In: snapshots.ID, Name: kept.Name, Members: members})
		}
		s.Collections = append(s.Collections, snapshots, Collection{ID: annotationsOf(one.ID), Members: one.Annotations.all()})
	}
	s.Collections = append(s.Collections, titles)
	return err
}

// asOf reads the annotations of a score as of a snapshot.
func (c *Composer) asOf(ctx context.Context, snapshot string) ([]string, error) {
	var data struct {
		Node *struct{ Score *struct{ Annotations texts } }
	}
	if err := c.reads(ctx, asOfQuery, map[string]any{"s": snapshot}, &data); err != nil {
		return nil, err
	}
	if data.Node == nil || data.Node.Score == nil {
		return nil, fmt.Errorf("snapshot %s has no score", snapshot)
	}
	return data.Node.Score.Annotations.all(), nil
}
