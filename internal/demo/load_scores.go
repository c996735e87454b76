package demo

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"time"
)

const findScores = `query FindScores {
  viewer { scores(first: 500) { nodes { id title } } }
}`

const describeScore = `query DescribeScore($id: ID!) {
  score(id: $id) { pageCount annotationCount snapshots { name } items(first: 500) { nodes { id name } } }
}`

const createScore = `mutation CreateScore($input: CreateScoreInput!) {
  createScore(input: $input) { score { id } problem { __typename ... on Problem { message } } }
}`

const updateScore = `mutation UpdateScore($input: UpdateScoreInput!) {
  updateScore(input: $input) { problem { __typename ... on Problem { message } } }
}`

const createSnapshot = `mutation CreateSnapshot($input: CreateSnapshotInput!) {
  createSnapshot(input: $input) { problem { __typename ... on Problem { message } } }
}`

const requestUpload = `mutation RequestUpload($input: RequestUploadInput!) {
  requestUpload(input: $input) {
    upload { itemId put { method url headers { name value } } }
    problem { __typename ... on Problem { message } }
  }
}`

const setItemTags = `mutation SetItemTags($input: SetItemTagsInput!) {
  setItemTags(input: $input) { tags { value } }
}`

const completeUpload = `mutation CompleteUpload($input: CompleteUploadInput!) {
  completeUpload(input: $input) { item { id } problem { __typename ... on Problem { message } } }
}`

// scoreState is a score as the server has it.
type scoreState struct {
	id              string
	PageCount       int     `json:"pageCount"`
	AnnotationCount int     `json:"annotationCount"`
	Snapshots       []named `json:"snapshots"`
	Items           struct {
		Nodes []named `json:"nodes"`
	} `json:"items"`
}

// loadScores makes what is missing of the scores: each from an empty one to its second snapshot.
func (l *loader) loadScores(ctx context.Context, members []member, _ time.Time) error {
	scores := planScores(l.size.scores, l.size.people)
	total := 0
	for _, s := range scores {
		total += s.steps()
	}
	shown := newProgress(l.options.Progress, "scores", total)
	defer shown.finish()
	there := map[string]string{} // ids by person and title
	for i, m := range members {
		var found struct {
			Viewer struct {
				Scores struct {
					Nodes []struct {
						ID    string `json:"id"`
						Title string `json:"title"`
					} `json:"nodes"`
				} `json:"scores"`
			} `json:"viewer"`
		}
		if err := l.ask(ctx, m, findScores, nil, &found); err != nil {
			return err
		}
		for _, s := range found.Viewer.Scores.Nodes {
			there[fmt.Sprint(i, s.Title)] = s.ID
		}
	}
	return l.each(ctx, len(scores), func(ctx context.Context, i int) error {
		s := scores[i]
		return l.loadScore(ctx, members[s.owner], s, there[fmt.Sprint(s.owner, s.title)], shown)
	})
}

func (l *loader) loadScore(ctx context.Context, m member, planned plannedScore, id string, shown progress) error {
	if id == "" {
		var created struct {
			Payload struct {
				Score   *named   `json:"score"`
				Problem *problem `json:"problem"`
			} `json:"createScore"`
		}
		input := map[string]any{"title": planned.title, "description": planned.description, "access": planned.access, "annotations": planned.annotations}
		if err := l.change(ctx, m, createScore, input, &created); err != nil {
			return err
		}
		if created.Payload.Score == nil { // somebody deleted it today: it stays deleted until its key is forgotten
			shown.add(planned.steps())
			return nil
		}
		id = created.Payload.Score.ID
	}
	shown.add(1)
	var data struct {
		Score scoreState `json:"score"`
	}
	if err := l.ask(ctx, m, describeScore, map[string]any{"id": id}, &data); err != nil {
		return err
	}
	data.Score.id = id
	if err := l.fillPages(ctx, m, planned, data.Score, shown); err != nil {
		return err
	}
	if err := l.snapshot(ctx, m, data.Score, planned.snapshots[0]); err != nil {
		return err
	}
	if had := data.Score.AnnotationCount; had == len(planned.annotations) {
		err := l.done(ctx, m, updateScore, map[string]any{"scoreId": id, "annotations": []any{
			map[string]any{"insert": map[string]any{"at": had, "texts": planned.added}},
		}}, "updateScore")
		if err != nil {
			return err
		}
	}
	err := l.snapshot(ctx, m, data.Score, planned.snapshots[1])
	shown.add(3)
	return err
}

// fillPages uploads the images that are missing, and makes pages of them unless there are some.
func (l *loader) fillPages(ctx context.Context, m member, planned plannedScore, state scoreState, shown progress) error {
	pages := make([]any, len(planned.pages))
	for i, page := range planned.pages {
		item := under(page.name, state.Items.Nodes)
		if item == "" && state.PageCount == 0 {
			var err error
			picture := plannedFile{score: state.id, set: "Pages", name: page.name, draw: func() ([]byte, error) { return DrawStaves(page.seed) }}
			if item, err = l.uploadPicture(ctx, m, picture); err != nil {
				return fmt.Errorf("upload %s of %s: %w", page.name, planned.title, err)
			}
		}
		if item != "" {
			if err := l.tagPage(ctx, m, item, page); err != nil {
				return err
			}
		}
		pages[i] = map[string]any{"itemId": item, "name": page.name, "label": page.label}
		shown.add(1)
	}
	shown.add(1)
	if state.PageCount > 0 {
		return nil
	}
	return l.done(ctx, m, updateScore, map[string]any{"scoreId": state.id, "pages": []any{
		map[string]any{"insert": map[string]any{"at": 0, "pages": pages}},
	}}, "updateScore")
}

// tagPage puts the tags of a page on its item.
func (l *loader) tagPage(ctx context.Context, m member, item string, page plannedPage) error {
	var tags []any
	for _, value := range page.tags {
		tags = append(tags, map[string]any{"value": value})
	}
	if page.private != "" {
		tags = append(tags, map[string]any{"value": page.private, "visibility": "PRIVATE"})
	}
	return l.change(ctx, m, setItemTags, map[string]any{"itemId": item, "tags": tags}, &struct{}{})
}

// plannedFile is a picture to upload, to a score or to the library when there is none.
type plannedFile struct {
	score, set, name string
	draw             func() ([]byte, error) // as PNG
}

// uploadPicture draws and uploads a picture, and returns the id of its item.
func (l *loader) uploadPicture(ctx context.Context, m member, picture plannedFile) (string, error) {
	file, err := picture.draw()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(file)
	var requested struct {
		Payload struct {
			Upload *struct {
				ItemID string         `json:"itemId"`
				Put    *uploadRequest `json:"put"`
			} `json:"upload"`
			Problem *problem `json:"problem"`
		} `json:"requestUpload"`
	}
	input := map[string]any{
		"name": picture.name, "setName": picture.set, "type": "image/png", "size": len(file), "sha256": base64.StdEncoding.EncodeToString(sum[:]),
	}
	if picture.score != "" {
		input["scoreId"] = picture.score
	}
	if err := l.change(ctx, m, requestUpload, input, &requested); err != nil {
		return "", err
	}
	upload := requested.Payload.Upload
	if upload == nil {
		return "", requested.Payload.Problem.error()
	}
	if to := upload.Put; to != nil {
		if err := l.repeat(ctx, func() error { return l.upload(ctx, *to, file) }); err != nil {
			return "", err
		}
	}
	return upload.ItemID, l.done(ctx, m, completeUpload, map[string]any{"itemId": upload.ItemID}, "completeUpload")
}

// snapshot takes a snapshot unless there is one of the name.
func (l *loader) snapshot(ctx context.Context, m member, state scoreState, name string) error {
	if slices.ContainsFunc(state.Snapshots, func(s named) bool { return s.Name == name }) {
		return nil
	}
	return l.done(ctx, m, createSnapshot, map[string]any{"scoreId": state.id, "name": name}, "createSnapshot")
}

// done sends a mutation of which only matters that there was no problem; field is what it is called in the answer.
func (l *loader) done(ctx context.Context, m member, mutation string, input map[string]any, field string) error {
	data := map[string]outcome{}
	if err := l.change(ctx, m, mutation, input, &data); err != nil {
		return err
	}
	if p := data[field].Problem; p != nil {
		return fmt.Errorf("%s as %s: %w", field, m.email, p.error())
	}
	return nil
}
