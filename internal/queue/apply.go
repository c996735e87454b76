package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// transition is a transition as its script reads it: nothing may be null there.
type transition struct {
	ID            string           `json:"id"`
	Cause         labelling.Cause  `json:"cause"`
	Item          string           `json:"item"`
	Follows       string           `json:"follows"` // the id of the transition before it, or nothing
	Version       int              `json:"version"` // of the item
	Status        project.Status   `json:"status"`
	User          labelling.UserID `json:"user"`
	Author        labelling.UserID `json:"author"`
	Team          string           `json:"team"`
	Token         string           `json:"token"`
	Until         string           `json:"until"` // ms
	At            string           `json:"at"`    // ms
	Later         string           `json:"later"` // ms, or nothing
	From          project.Status   `json:"from"`  // of what is reviewed, undone or returned
	Incorrect     bool             `json:"incorrect"`
	Cleared       bool             `json:"cleared"`
	Keywords      []string         `json:"keywords"`
	Completions   []string         `json:"completions"`   // what the keywords are found by, one for each
	Categories    []string         `json:"categories"`    // one, or none
	Subcategories []string         `json:"subcategories"` // the same
	Efforts       []effort         `json:"efforts"`       // of what is removed or restored, or found by a reviewer
	ToReview      int              `json:"toReview"`
	Of            string           `json:"of"`       // the author of what is to review, escaped
	Category      string           `json:"category"` // of the same, escaped
}

// effort is an effort that is not counted any more, or is counted from now on.
type effort struct {
	Place         int              `json:"place"` // of the statistics of its team among the keys
	User          labelling.UserID `json:"user"`
	Incorrect     bool             `json:"incorrect"`
	Keywords      []string         `json:"keywords"`
	Completions   []string         `json:"completions"`
	Categories    []string         `json:"categories"`
	Subcategories []string         `json:"subcategories"`
	ToReview      bool             `json:"toReview"`
	Author        string           `json:"author"`   // escaped
	Category      string           `json:"category"` // escaped
	Into          *labels          `json:"into,omitempty"`
}

// labels are what an effort was found to be in place of others.
type labels struct {
	Categories    []string `json:"categories"`
	Subcategories []string `json:"subcategories"`
	Category      string   `json:"category"` // escaped
}

// firstTeam is the place of the first of the keys of teams of efforts.
const firstTeam = 23

// counted returns the efforts of a transition, and the teams whose keys they refer to.
func counted(t labelling.Transition) (efforts []effort, teams []string) {
	efforts = make([]effort, len(t.Efforts))
	for n, e := range t.Efforts {
		at := slices.Index(teams, e.Team)
		if at < 0 {
			at, teams = len(teams), append(teams, e.Team)
		}
		efforts[n] = effort{
			Place: firstTeam + at, User: e.User, Incorrect: e.Incorrect, Keywords: append([]string{}, e.Keywords...), Completions: completions(e.Keywords),
			Categories: some(e.Category), Subcategories: some(e.Subcategory), ToReview: e.ToReview, Author: escape(string(e.User)), Category: escape(e.Category),
		}
		if into := e.Into; t.Cause == labelling.Relabelled {
			efforts[n].Into = &labels{Categories: some(into.Category), Subcategories: some(into.Subcategory), Category: escape(into.Category)}
		}
	}
	return efforts, teams
}

// Apply follows a transition: statuses are counted anew, the item moves to where it belongs, statistics and sets change, and the
// event is appended, all in one step. It reports whether the transition was new; one that was applied already changes nothing.
// ErrNotReady; ErrEarly when the transition before it is not known to have been applied, and nothing is changed then.
func (q *Queue) Apply(ctx context.Context, t labelling.Transition) (bool, error) {
	from := t.From
	if from == "" {
		from = project.Finished
	}
	efforts, teams := counted(t)
	receiver, team := t.User, t.Team // who gets the item back, and which team is counted for
	if t.Cause == labelling.Reviewed {
		receiver, team = t.Author, t.AuthorTeam
	}
	body, err := json.Marshal(transition{
		ID: t.ID, Cause: t.Cause, Item: t.Item, Follows: t.Follows.ID, Version: t.Version, Status: t.Status, User: t.User, Author: t.Author, Team: t.Team, Token: t.Token,
		Until: millis(t.Until), At: millis(t.At), Later: millis(t.Later), From: from, Incorrect: t.Incorrect, Cleared: t.Cleared,
		Keywords: append([]string{}, t.Keywords...), Completions: completions(t.Keywords), Categories: some(t.Category), Subcategories: some(t.Subcategory),
		Efforts: efforts, ToReview: t.ToReview, Of: escape(string(receiver)), Category: escape(t.Category),
	})
	if err != nil {
		return false, fmt.Errorf("write down a transition: %w", err)
	}
	whose := t.User // the claim, and what was put off
	if t.Cause == labelling.Removed || t.Cause == labelling.Restored {
		receiver, whose = t.Author, t.Author
	}
	k := q.keysOf(t.Project)
	keys := []string{
		k.epoch(), k.applied(), k.metadata(), k.queue(), k.queued(), k.wip(), k.claims(), k.held(), k.events(),
		k.userQueue(whose), k.userReturned(receiver), k.userLater(whose), k.userSkipped(whose), k.team(team),
	}
	for _, w := range words {
		keys = append(keys, k.count(w))
	}
	for _, w := range words {
		keys = append(keys, k.top(w))
	}
	keys = append(keys, k.keywords(), k.reviews())
	for _, team := range teams {
		keys = append(keys, k.team(team))
	}
	keys = append(keys, k.present())
	return q.flag(ctx, "apply a transition", applyScript, keys, body, q.o.MaxEvents, labelling.Remembered.Milliseconds(),
		q.o.Hold.Milliseconds(), labelling.TopUsed, project.MaxQueueSize)
}

// some returns the word in a list, or an empty list for none.
func some(word string) []string {
	if word == "" {
		return []string{}
	}
	return []string{word}
}
