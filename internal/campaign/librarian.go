package campaign

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
)

// Uploader sends a file as a server has signed it. The error says that it is perhaps not there.
type Uploader interface {
	Upload(ctx context.Context, request Signed, content []byte) error
}

// Signed is a request that a server has signed.
type Signed struct {
	Method, URL string
	Headers     []struct{ Name, Value string }
}

// Librarian uploads files, puts a tag on each, and takes some of the tags away.
type Librarian struct {
	Maker
	Uploader Uploader
}

const (
	uploadMutation   = `mutation($in: RequestUploadInput!) { result: requestUpload(input: $in) { upload { itemId put { method url headers { name value } } } problem { __typename } } }`
	completeMutation = `mutation($in: CompleteUploadInput!) { result: completeUpload(input: $in) { item { id } problem { __typename } } }`
	tagMutation      = `mutation($in: SetItemTagsInput!) { result: setItemTags(input: $in) { item { id } } }`
	filesQuery       = `query($id: ID!, $after: Cursor) { user(id: $id) { items(first: 100, after: $after) { pageInfo { hasNextPage endCursor }
		nodes { id name tags(first: 20) { nodes { value } } } } } }`
)

func filesOf(user string) string { return "files of " + user }
func tagsOf(file string) string  { return "tags of " + file }

// Run keeps files until the context ends.
func (l *Librarian) Run(ctx context.Context) {
	for l.rest(ctx, l.Rand) {
		name := l.name("file")
		file := l.uploads(ctx, name)
		if file == "" || !l.rest(ctx, l.Rand) {
			continue
		}
		tag := l.name("tag")
		in := map[string]any{"itemId": file, "tags": []any{map[string]any{"value": tag, "visibility": "PRIVATE"}}}
		if l.makes(ctx, tag, tagMutation, in, &struct{}{}, tagsOf(file)) && l.Rand.IntN(4) == 0 && l.rest(ctx, l.Rand) {
			l.takes(ctx, tagsOf(file), tag, tagMutation, map[string]any{"itemId": file, "tags": []any{}})
		}
	}
}

// uploads makes a file and returns its id; "" when nobody knows whether there is one.
func (l *Librarian) uploads(ctx context.Context, name string) string {
	content := []byte("This is " + name + ".")
	sum := sha256.Sum256(content)
	var requested struct {
		Upload *struct {
			ItemID string
			Put    *Signed
		}
	}
	in := map[string]any{"name": name, "type": "text/plain", "size": len(content), "sha256": base64.StdEncoding.EncodeToString(sum[:])}
	if a := l.asks(ctx, uploadMutation, in, &requested); a.outcome != Acknowledged || requested.Upload == nil || requested.Upload.Put == nil {
		return ""
	}
	if !l.sends(ctx, *requested.Upload.Put, content) {
		return ""
	}
	var r struct{ Item *struct{ ID string } }
	if !l.makes(ctx, name, completeMutation, map[string]any{"itemId": requested.Upload.ItemID}, &r, filesOf(l.User)) || r.Item == nil {
		return ""
	}
	return r.Item.ID
}

// sends uploads the file, again and again while that fails.
func (l *Librarian) sends(ctx context.Context, request Signed, content []byte) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.Patience)
	defer cancel()
	for l.Uploader.Upload(ctx, request, content) != nil {
		if !l.rest(ctx, l.Rand) {
			return false
		}
	}
	return true
}

// Stored reads what is stored of what the librarian made.
func (l *Librarian) Stored(ctx context.Context, s *Stored) error {
	type file struct {
		ID, Name string
		Tags     struct{ Nodes []struct{ Value string } }
	}
	type found struct{ User *struct{ Items listed[file] } }
	files, err := list(ctx, &l.Maker, filesQuery, l.User, func(d *found) *listed[file] {
		if d.User == nil {
			return nil
		}
		return &d.User.Items
	})
	names := Collection{ID: filesOf(l.User)}
	for _, one := range files {
		names.Members = append(names.Members, one.Name)
		tags := Collection{ID: tagsOf(one.ID)}
		for _, tag := range one.Tags.Nodes {
			tags.Members = append(tags.Members, tag.Value)
		}
		s.Collections = append(s.Collections, tags)
	}
	s.Collections = append(s.Collections, names)
	return err
}
