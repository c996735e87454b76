package domain_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/viewer"
)

func TestSelfIsAUser(t *testing.T) {
	t.Parallel()
	_, err := domain.Self(t.Context())
	assert.True(t, fault.Is(err, fault.Unauthenticated), "got %v", err)
	id, err := domain.Self(viewer.With(t.Context(), viewer.Viewer{UserID: "ada"}))
	require.NoError(t, err)
	assert.Equal(t, viewer.UserID("ada"), id)
}

func TestAllowedReadsWhatMayBeRead(t *testing.T) {
	t.Parallel()
	odd, gone := errors.New("odd"), errors.New("gone")
	may := func(n int) error {
		if n%2 == 1 {
			return odd
		}
		return nil
	}
	var asked [][]int
	read := func(keys []int) ([]string, []error) {
		asked = append(asked, keys)
		values, errs := make([]string, len(keys)), make([]error, len(keys))
		for i, n := range keys {
			if values[i] = fmt.Sprint(n); n == 6 {
				values[i], errs[i] = "", gone
			}
		}
		return values, errs
	}
	values, errs := domain.Allowed([]int{1, 2, 3, 4, 6}, may, read)
	assert.Equal(t, []string{"", "2", "", "4", ""}, values)
	assert.Equal(t, []error{odd, nil, odd, nil, gone}, errs)
	values, errs = domain.Allowed([]int{2, 4}, may, read)
	assert.Equal(t, []string{"2", "4"}, values)
	assert.Equal(t, []error{nil, nil}, errs)
	_, errs = domain.Allowed([]int{2}, may, func([]int) ([]string, []error) { return []string{"2"}, nil })
	assert.Nil(t, errs, "none failed")
	_, errs = domain.Allowed([]int{1, 3}, may, read)
	assert.Equal(t, []error{odd, odd}, errs)
	assert.Equal(t, [][]int{{2, 4, 6}, {2, 4}}, asked, "nothing is read when nothing may be")
}

// taken is a conflict.
type taken struct{}

func (taken) Error() string { return "taken" }

func TestEditStartsAgainAfterConflictsOnly(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for what, c := range map[string]struct {
		read   error
		stores []error // of the tries
		want   error
		reads  int
	}{
		"at once":                     {nil, []error{nil}, nil, 1},
		"others were faster":          {nil, []error{taken{}, fmt.Errorf("store: %w", taken{}), nil}, nil, 3},
		"it cannot be stored":         {nil, []error{taken{}, broken}, broken, 2},
		"it cannot be read":           {broken, nil, broken, 1},
		"what was read is a conflict": {taken{}, nil, taken{}, 1},
	} {
		reads := 0
		after, err := domain.Edit[taken](retry.Until(t.Context()), "it", func() (int, error) { reads++; return reads, c.read }, func(before int) (string, error) {
			return fmt.Sprint("after ", before), c.stores[before-1]
		})
		require.ErrorIs(t, err, c.want, what)
		assert.Equal(t, c.reads, reads, what)
		if c.want == nil {
			assert.Equal(t, fmt.Sprint("after ", reads), after, what)
		}
	}
	hurried, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := domain.Edit[taken](retry.Until(hurried), "it", func() (int, error) { return 0, nil }, func(int) (int, error) { return 0, taken{} })
	assert.True(t, fault.Is(err, fault.Unavailable), "got %v", err)
}

func TestFirstAndGone(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	n, err := domain.First([]int{7}, nil)
	assert.Equal(t, []any{7, nil}, []any{n, err})
	n, err = domain.First([]int{7}, []error{broken})
	assert.Equal(t, []any{0, broken}, []any{n, err})
	n, err = domain.Gone(7, fault.New(fault.NotFound, "gone"))
	assert.Equal(t, []any{0, nil}, []any{n, err})
	n, err = domain.Gone(7, broken)
	assert.Equal(t, []any{7, broken}, []any{n, err})
}

func TestLaterIsAlwaysLater(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6_999_999, time.FixedZone("", 3600))
	clock := func() time.Time { return now }
	at := domain.Later(clock, time.Time{})
	assert.Equal(t, now.UTC().Truncate(time.Millisecond), at)
	for _, ahead := range []time.Duration{0, time.Hour} {
		assert.Equal(t, at.Add(ahead+time.Millisecond), domain.Later(clock, at.Add(ahead)), "the clock of another server is ahead")
	}
}

func ExampleSelf() {
	_, err := domain.Self(context.Background())
	fmt.Println(err)
	// Output: unauthenticated: sign up first: createUser
}
