package score

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReshown(t *testing.T) {
	with := func(access Access, items ...ItemID) Score {
		s := Score{Ref: Ref{Owner: "ada", ID: "s"}, Access: access}
		for _, id := range items {
			s.Pages = append(s.Pages, Page{Item: id})
		}
		return s
	}
	for _, test := range []struct {
		reason        string
		before, after Score
		want          []ItemID
	}{
		{"created in private", Score{}, with(Private, "a"), nil},
		{"created for everybody", Score{}, with(Public, "a", "b", "a"), []ItemID{"a", "b"}},
		{"shown", with(Limited, "a", "b"), with(Public, "a", "b"), []ItemID{"a", "b"}},
		{"hidden, and a page more", with(Public, "a"), with(Private, "a", "b"), []ItemID{"a"}},
		{"a page comes, one goes, one stays", with(Public, "a", "b"), with(Public, "b", "c"), []ItemID{"a", "c"}},
		{"a page comes in private", with(Private, "a"), with(Private, "a", "b"), nil},
		{"shown without one of the pages", with(Private, "a", "b"), with(Public, "b"), []ItemID{"b"}},
		{"deleted", with(Public, "a"), Score{}, []ItemID{"a"}},
	} {
		var got []ItemID
		for _, item := range Reshown(test.before, test.after) {
			got = append(got, item.ID)
		}
		assert.Equal(t, test.want, got, test.reason)
	}
}

// told is a follower that keeps what it was told.
type told struct {
	items []ItemRef
	err   error
}

func (f *told) FollowItems(_ context.Context, items []ItemRef, _ ID) error {
	f.items = append(f.items, items...)
	return f.err
}

func TestTheTaskOfAnItemTellsTheFollower(t *testing.T) {
	ref := ItemRef{Owner: "ada", Score: Library, ID: "i"}
	f := &told{}
	items := NewItems(ItemsOptions{}).Telling(f)
	_, err := items.Follow(t.Context(), Following(ref, time.Time{}))
	require.NoError(t, err)
	assert.Equal(t, []ItemRef{ref}, f.items)
	f.err = errors.New("later")
	_, err = items.Follow(t.Context(), Following(ref, time.Time{}))
	assert.ErrorIs(t, err, f.err, "the task comes again")
}
