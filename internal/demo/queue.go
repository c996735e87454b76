package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

const claimProjectItems = `mutation ClaimProjectItems($input: ClaimProjectItemsInput!) {
  claimProjectItems(input: $input) {
    items { ...held }
    problem { __typename ... on Problem { message } }
  }
}` + heldFragment

const finishProjectItem = `mutation FinishProjectItem($input: FinishProjectItemInput!) {
  finishProjectItem(input: $input) {
    effort { id }
    problem { __typename ... on Problem { message } }
  }
}`

const skipProjectItem = `mutation SkipProjectItem($input: SkipProjectItemInput!) {
  skipProjectItem(input: $input) { problem { __typename ... on Problem { message } } }
}`

const releaseProjectItem = `mutation ReleaseProjectItem($input: ReleaseProjectItemInput!) {
  releaseProjectItem(input: $input) { problem { __typename ... on Problem { message } } }
}`

const reviewEffort = `mutation ReviewEffort($input: ReviewEffortInput!) {
  reviewEffort(input: $input) { problem { __typename ... on Problem { message } } }
}`

const undoFinish = `mutation UndoFinish($input: UndoFinishInput!) {
  undoFinish(input: $input) {
    item { ...held }
    problem { __typename ... on Problem { message } }
  }
}` + heldFragment

// heldFragment is what one needs to know of an item to work on it.
const heldFragment = `
fragment held on ProjectItem { id externalId claim { token } efforts(first: 1) { nodes { id } } }`

// held is an item in somebody's hands.
type held struct {
	ID         string `json:"id"`
	ExternalID string `json:"externalId"`
	Claim      *struct {
		Token string `json:"token"`
	} `json:"claim"` // nil when it is in nobody's hands any more
	Efforts struct {
		Nodes []struct {
			ID string `json:"id"`
		} `json:"nodes"`
	} `json:"efforts"` // one, if it was finished before
}

// problem is why a mutation did nothing.
type problem struct {
	Type    string `json:"__typename"`
	Message string `json:"message"`
}

func (p *problem) error() error {
	if p == nil {
		return errors.New("the server said nothing")
	}
	return errors.New(p.Message)
}

// errNothing says that the queue hands out nothing at this moment.
var errNothing = errors.New("the queue hands out nothing")

// claim takes up to count items out of the queue; round tells claims of one person from one another. It returns errNothing when
// there are none, also because the project is paused or the person holds too many.
func (l *loader) claim(ctx context.Context, m member, project string, count int, round string) ([]held, error) {
	var data struct {
		Payload struct {
			Items   []held   `json:"items"`
			Problem *problem `json:"problem"`
		} `json:"claimProjectItems"`
	}
	if err := l.changeAgain(ctx, m, claimProjectItems, round, map[string]any{"projectId": project, "count": count}, &data); err != nil {
		return nil, err
	}
	if why := data.Payload.Problem; why != nil {
		return nil, fmt.Errorf("%w: %s", errNothing, why.Message)
	}
	items := inHand(data.Payload.Items)
	if len(items) == 0 {
		return nil, errNothing
	}
	return items, nil
}

// inHand leaves out what the person has lost meanwhile: a claim that is asked for again gives what it gave.
func inHand(items []held) []held {
	return slices.DeleteFunc(items, func(h held) bool { return h.Claim == nil })
}

// finish says what an item is, and returns the effort; "" when the item was lost meanwhile.
func (l *loader) finish(ctx context.Context, m member, p archive, item held, found finding) (effort string, err error) {
	input := map[string]any{"itemId": item.ID, "token": item.Claim.Token, "categoryId": under(found.category, p.Categories)}
	if found.subcategory != "" {
		input["subcategoryId"] = under(found.subcategory, p.Subcategories)
	}
	if len(found.keywords) > 0 {
		input["keywords"] = found.keywords
	}
	var data struct {
		Payload struct {
			Effort *struct {
				ID string `json:"id"`
			} `json:"effort"`
		} `json:"finishProjectItem"`
	}
	if err := l.change(ctx, m, finishProjectItem, input, &data); err != nil || data.Payload.Effort == nil {
		return "", err
	}
	return data.Payload.Effort.ID, nil
}

// skip gives up an item for a reason. It reports whether the person still had it; so do the following.
func (l *loader) skip(ctx context.Context, m member, item held, reason string) (bool, error) {
	input := map[string]any{"itemId": item.ID, "token": item.Claim.Token, "reason": reason}
	if reason == "TO_ME_LATER" {
		input["minutes"] = 1
	}
	var data struct {
		Payload outcome `json:"skipProjectItem"`
	}
	err := l.change(ctx, m, skipProjectItem, input, &data)
	return data.Payload.Problem == nil, err
}

type outcome struct {
	Problem *problem `json:"problem"`
}

func (l *loader) release(ctx context.Context, m member, item held) (bool, error) {
	var data struct {
		Payload outcome `json:"releaseProjectItem"`
	}
	err := l.change(ctx, m, releaseProjectItem, map[string]any{"itemId": item.ID, "token": item.Claim.Token}, &data)
	return data.Payload.Problem == nil, err
}

// review says what a reviewer finds about an effort, of which the item was found to be of a category.
func (l *loader) review(ctx context.Context, m member, effort, externalID, category string) (bool, error) {
	verdict, comment := reviewOf(externalID, category)
	var data struct {
		Payload outcome `json:"reviewEffort"`
	}
	err := l.change(ctx, m, reviewEffort, map[string]any{"effortId": effort, "verdict": verdict, "comment": comment}, &data)
	return data.Payload.Problem == nil, err
}

// undo takes an effort back, and returns the item, which the person has again; nil when it is too late.
func (l *loader) undo(ctx context.Context, m member, effort string) (*held, error) {
	var data struct {
		Payload struct {
			Item *held `json:"item"`
		} `json:"undoFinish"`
	}
	if err := l.change(ctx, m, undoFinish, map[string]any{"effortId": effort}, &data); err != nil {
		return nil, err
	}
	if item := data.Payload.Item; item != nil && item.Claim != nil {
		return item, nil
	}
	return nil, nil
}
