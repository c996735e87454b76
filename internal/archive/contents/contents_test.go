package contents

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
)

// numbers is a request for a list of so many numbers; below zero for a list that is gone.
type numbers struct {
	n      int
	window page.Window
}

// counted are lists of numbers, and how many were asked for at once.
func counted(width int, asked *[]int) lists[numbers, int] {
	return lists[numbers, int]{width: width, window: func(r *numbers) *page.Window { return &r.window }, list: func(rs []numbers) ([]page.Slice[int], []error) {
		*asked = append(*asked, len(rs))
		slices, errs := make([]page.Slice[int], len(rs)), make([]error, len(rs))
		for i, r := range rs {
			if r.n < 0 {
				errs[i] = fault.New(fault.NotFound, "it is gone")
				continue
			}
			from := 0
			_, _ = fmt.Sscan(r.window.From, &from)
			for at := from; at < min(r.n, from+r.window.Limit); at++ {
				slices[i].Items = append(slices[i].Items, at)
				slices[i].Positions = append(slices[i].Positions, fmt.Sprint(at+1))
			}
			slices[i].More = from+r.window.Limit < r.n
		}
		return slices, errs
	}}
}

func TestListsAreReadToTheirEnds(t *testing.T) {
	t.Parallel()
	lengths := []int{0, 7, -1, 3, 4, 1}
	requests := make([]numbers, len(lengths))
	for i, n := range lengths {
		requests[i] = numbers{n, page.Window{Limit: 3}}
	}
	var asked []int
	got := make([][]int, len(lengths))
	order := []int{}
	require.NoError(t, counted(4, &asked).each(requests, func(i int, some []int) error {
		assert.LessOrEqual(t, len(some), 3)
		got[i], order = append(got[i], some...), append(order, i)
		return nil
	}))
	for i, n := range lengths {
		assert.Len(t, got[i], max(n, 0))
		for at, number := range got[i] {
			assert.Equal(t, at, number)
		}
	}
	assert.IsNonDecreasing(t, order, "one list after the other")
	assert.Equal(t, []int{4, 1, 1, 2, 1}, asked, "the first pages together, the others one by one")

	enough := errors.New("enough")
	assert.ErrorIs(t, counted(4, &asked).each(requests, func(int, []int) error { return enough }), enough)
	broken := counted(4, &asked)
	broken.list = func(rs []numbers) ([]page.Slice[int], []error) {
		return make([]page.Slice[int], len(rs)), append(make([]error, len(rs)-1), enough)
	}
	assert.ErrorIs(t, broken.each(requests, func(int, []int) error { return nil }), enough)
}

// A name in a path cannot lead out of its folder, or be something else than a file.
func TestNamesAreNoPaths(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.png": "a.png", "../../etc/passwd": "_.._etc_passwd", `c:\x`: "c__x", "..": "file", "": "file", "été 楽譜.pdf": "été 楽譜.pdf", "\x00\n": "__",
		strings.Repeat("x", 100) + ".pdf": strings.Repeat("x", 76) + ".pdf",
		strings.Repeat("𠀀", 80) + ".pdf":  strings.Repeat("𠀀", 49) + ".pdf",
	} {
		assert.Equal(t, "files/id/"+want, pathOf(score.Item{ItemRef: score.ItemRef{ID: "id"}, Name: name}), "%q", name)
	}
}
