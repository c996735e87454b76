package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
)

// The data set. What is read is the same for everybody: one user with 100 notes of about 1.2 KB and four tags, each
// shared with five out of 150 users, and 300 notes of ten other owners that are shared with that user.
const (
	ownNotes      = 100
	sharedNotes   = 300
	otherOwners   = 10
	team          = 150
	sharesPerNote = 5

	issuer  = "https://bench.example.com"
	subject = "reader"
)

var words = strings.Fields(`alpine bridge castle delta ember forest garden harbour island jungle kettle lantern meadow
	north orchard pepper quarry river summit timber upland valley willow yonder zenith`)

// sentence returns about n bytes of text that differs from seed to seed.
func sentence(seed, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[(seed*7+i*(seed%5+1)+i*i)%len(words)])
	}
	return b.String()
}

// loader puts the data set through the domain's own services, so that the rows are what the server would write.
type loader struct {
	users *user.Service
	notes *note.Service
}

func load(ctx context.Context, client *dynamodb.Client, prefix string) error {
	db := dynamo.New(dynamo.Options{Client: client, TablePrefix: prefix})
	if err := db.ApplyTables(ctx, func(dynamo.Step) {}); err != nil {
		return err
	}
	l := loader{
		users: user.NewService(user.Options{Store: users.Store{DB: db}, Probes: unlimited{}, Now: time.Now, NewID: uuid.NewString}),
		notes: note.NewService(note.Options{Store: notes.Store{DB: db}.Store(), Now: time.Now, NewID: uuid.NewString}),
	}
	reader, asReader, err := l.signUp(ctx, subject)
	if err != nil {
		return err
	}
	members := make([]user.ID, team)
	for i := range members {
		member, _, err := l.signUp(ctx, fmt.Sprintf("member-%03d", i))
		if err != nil {
			return err
		}
		members[i] = member.ID
	}
	for i := range ownNotes {
		with := make([]user.ID, sharesPerNote)
		for j := range with {
			with[j] = members[(i*sharesPerNote+j)%team]
		}
		if err := l.note(asReader, i, with...); err != nil {
			return err
		}
	}
	for i := range otherOwners {
		_, asOwner, err := l.signUp(ctx, fmt.Sprintf("owner-%02d", i))
		if err != nil {
			return err
		}
		for j := range sharedNotes / otherOwners {
			if err := l.note(asOwner, i*1000+j, reader.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// unlimited lets everybody sign up.
type unlimited struct{}

// Allow allows it.
func (unlimited) Allow(context.Context, string) (bool, error) { return true, nil }

func (l loader) signUp(ctx context.Context, name string) (user.User, context.Context, error) {
	v := viewer.Viewer{Identity: viewer.Identity{Issuer: issuer, Subject: name, Local: true}}
	u, err := l.users.Create(viewer.With(ctx, v), user.Create{Name: "User " + name, Email: name + "@example.com"})
	v.UserID = u.ID
	return u, viewer.With(ctx, v), err
}

func (l loader) note(ctx context.Context, seed int, with ...user.ID) error {
	n, err := l.notes.Create(ctx, note.Create{
		Title: sentence(seed, 40), Content: sentence(seed+1, 600),
		Deadline: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, seed%365),
		Tags:     []string{words[seed%25], words[(seed+3)%25], words[(seed+8)%25], words[(seed+15)%25]},
	})
	if err != nil {
		return err
	}
	for i, u := range with {
		permission := note.View
		if i%2 == 1 {
			permission = note.Edit
		}
		if _, err := l.notes.Share(ctx, note.PutShare{Note: n.ID, User: u, Permission: permission}); err != nil {
			return err
		}
	}
	return nil
}
