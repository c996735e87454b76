package score

// Comparison says what differs between a snapshot and the score as it is.
type Comparison struct {
	Title       *Replaced // nil when it is the same
	Description *Replaced
	Pages       []Difference[Page]
	Annotations []Difference[string]
}

// Same reports whether there is no difference.
func (c Comparison) Same() bool {
	return c.Title == nil && c.Description == nil && len(c.Pages) == 0 && len(c.Annotations) == 0
}

// Replaced is a text that is another one now.
type Replaced struct{ Before, After string }

// Difference is an element that came, went, or is elsewhere among the others. Elements that only follow because others came or
// went are none.
type Difference[T any] struct {
	Before *int // the index in the snapshot; nil for one that came
	After  *int // the index in the score; nil for one that went
	Of     T
}

func compare(then, now Content) Comparison {
	return Comparison{
		Title: replaced(then.Title, now.Title), Description: replaced(then.Description, now.Description),
		Pages: differences(then.Pages, now.Pages), Annotations: differences(then.Annotations, now.Annotations),
	}
}

func replaced(before, after string) *Replaced {
	if before == after {
		return nil
	}
	return &Replaced{before, after}
}

// differences returns the least that has to come, go or move to make one list of the other: what went and what moved in the
// order before, then what came.
//
// Cost: the product of the lengths, of what is not the same at both ends; a million steps for 1,000 annotations.
func differences[T comparable](before, after []T) []Difference[T] {
	from := 0
	for from < len(before) && from < len(after) && before[from] == after[from] {
		from++
	}
	behind := 0
	for behind < len(before)-from && behind < len(after)-from && before[len(before)-1-behind] == after[len(after)-1-behind] {
		behind++
	}
	a, b := before[from:len(before)-behind], after[from:len(after)-behind]
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]uint16, len(a)+1)
	for i := range common {
		common[i] = make([]uint16, len(b)+1)
	}
	ids := map[T]int32{} // texts are compared once
	idsOf := func(all []T) []int32 {
		of := make([]int32, len(all))
		for i, one := range all {
			id, there := ids[one]
			if !there {
				id = int32(len(ids))
				ids[one] = id
			}
			of[i] = id
		}
		return of
	}
	x, y := idsOf(a), idsOf(b)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var all []Difference[T]
	came := []int{}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && x[i] == y[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			at := from + i
			all = append(all, Difference[T]{Before: &at, Of: a[i]})
			i++
		default:
			came = append(came, j)
			j++
		}
	}
	// What went and came has moved.
	went := map[T][]int{}
	for n, d := range all {
		went[d.Of] = append(went[d.Of], n)
	}
	for _, j := range came {
		at := from + j
		if was := went[b[j]]; len(was) > 0 {
			all[was[0]].After = &at
			went[b[j]] = was[1:]
			continue
		}
		all = append(all, Difference[T]{After: &at, Of: b[j]})
	}
	return all
}
