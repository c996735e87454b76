package demo

import (
	"context"
	"fmt"
	"time"
)

const findLibrary = `query FindLibrary($after: Cursor) {
  viewer { items(first: 500, after: $after) { nodes { id name setName } pageInfo { hasNextPage endCursor } } }
}`

const importItems = `mutation ImportItems($input: ImportItemsInput!) {
  importItems(input: $input) {
    import { id state message bytes lines }
    problem { __typename ... on Problem { message } }
  }
}`

// loadPostcards makes what is missing of the project of pictures: they are drawn, uploaded to the demo user's library, and imported
// from there. An item is in a project once, so that importing again adds what is missing.
func (l *loader) loadPostcards(ctx context.Context, members []member, _ time.Time) error {
	cards := planPostcards(l.size.postcards)
	if len(cards) == 0 {
		return nil
	}
	shown := newProgress(l.options.Progress, "postcards", 2*len(cards))
	defer shown.finish()
	ada := members[0]
	p, err := l.project(ctx, ada, postcards)
	if err != nil {
		return err
	}
	if err := l.fillTeams(ctx, members, p); err != nil {
		return err
	}
	library, err := l.library(ctx, ada)
	if err != nil {
		return err
	}
	ids := make([]string, len(cards))
	err = l.each(ctx, len(cards), func(ctx context.Context, i int) (err error) {
		if ids[i] = library[cards[i].name]; ids[i] == "" {
			picture := plannedFile{name: cards[i].name, set: postcardsSet, draw: cards[i].card.png}
			if ids[i], err = l.uploadPicture(ctx, ada, picture); err != nil {
				return fmt.Errorf("upload %s: %w", cards[i].name, err)
			}
		}
		shown.add(1)
		return nil
	})
	if err != nil {
		return err
	}
	var started struct {
		Payload struct {
			Import  *importState `json:"import"`
			Problem *problem     `json:"problem"`
		} `json:"importItems"`
	}
	if err := l.changeAgain(ctx, ada, importItems, p.round(), map[string]any{"projectId": p.id, "itemIds": ids}, &started); err != nil {
		return err
	}
	if started.Payload.Import == nil {
		return fmt.Errorf("import the postcards: %w", started.Payload.Problem.error())
	}
	return l.wait(ctx, ada, *started.Payload.Import, len(cards), shown)
}

// library returns the ids of somebody's postcards by name.
func (l *loader) library(ctx context.Context, m member) (map[string]string, error) {
	ids := map[string]string{}
	var after *string
	for {
		var data struct {
			Viewer struct {
				Items struct {
					Nodes []struct {
						ID      string `json:"id"`
						Name    string `json:"name"`
						SetName string `json:"setName"`
					} `json:"nodes"`
					PageInfo struct {
						HasNextPage bool    `json:"hasNextPage"`
						EndCursor   *string `json:"endCursor"`
					} `json:"pageInfo"`
				} `json:"items"`
			} `json:"viewer"`
		}
		if err := l.ask(ctx, m, findLibrary, map[string]any{"after": after}, &data); err != nil {
			return nil, err
		}
		items := data.Viewer.Items
		for _, item := range items.Nodes {
			if item.SetName == postcardsSet {
				ids[item.Name] = item.ID
			}
		}
		if !items.PageInfo.HasNextPage {
			return ids, nil
		}
		after = items.PageInfo.EndCursor
	}
}
