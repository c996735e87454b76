package page

import (
	"encoding/base64"
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/internal/fault"
)

var list = Binding{Viewer: "ada", Name: "User.notes", Args: []string{"ada", "2027"}}

func ptr[T any](v T) *T { return &v }

// cursor returns the cursor of a position in a list.
func cursor(t require.TestingT, c *Codec, b Binding, position string) Cursor {
	o, err := c.Open(b, Args{})
	require.NoError(t, err)
	return o.At(position).Cursor()
}

func refused(t require.TestingT, err error, field string) {
	e, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok, "got %v", err)
	require.Equal(t, fault.Invalid, e.Kind)
	require.Equal(t, field, e.Field)
}

func TestArguments(t *testing.T) {
	codec := NewCodec([]byte("secret"))
	at := ptr(cursor(t, codec, list, "x"))
	for _, c := range []struct {
		name  string
		args  Args
		field string // at fault; "" when all is well
		want  Window
	}{
		{"nothing", Args{}, "", Window{Limit: Default}},
		{"the smallest", Args{First: ptr(1)}, "", Window{Limit: 1}},
		{"the largest", Args{First: ptr(500)}, "", Window{Limit: 500}},
		{"first 0", Args{First: ptr(0)}, "first", Window{}},
		{"first 501", Args{First: ptr(501)}, "first", Window{}},
		{"first below zero", Args{First: ptr(-1)}, "first", Window{}},
		{"last 0", Args{Last: ptr(0)}, "last", Window{}},
		{"last 501", Args{Last: ptr(501)}, "last", Window{}},
		{"both", Args{First: ptr(1), Last: ptr(1)}, "last", Window{}},
		{"after and before", Args{After: at, Before: at}, "before", Window{}},
		{"after with last", Args{After: at, Last: ptr(1)}, "after", Window{}},
		{"before with first", Args{Before: at, First: ptr(1)}, "before", Window{}},
		{"backward", Args{Last: ptr(3)}, "", Window{Limit: 3, Backward: true}},
		{"after", Args{After: at}, "", Window{Limit: Default, From: "x"}},
		{"before", Args{Before: at}, "", Window{Limit: Default, From: "x", Backward: true}},
		{"before with last", Args{Before: at, Last: ptr(2)}, "", Window{Limit: 2, From: "x", Backward: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := codec.Open(list, c.args)
			if c.field != "" {
				refused(t, err, c.field)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, o.Window)
		})
	}
}

func TestCursorsAreBound(t *testing.T) {
	codec := NewCodec([]byte("secret"))
	mine := cursor(t, codec, list, "position")
	for name, other := range map[string]Binding{
		"another viewer":     {Viewer: "grace", Name: list.Name, Args: list.Args},
		"another list":       {Viewer: list.Viewer, Name: "User.tags", Args: list.Args},
		"other arguments":    {Viewer: list.Viewer, Name: list.Name, Args: []string{"ada", "2028"}},
		"fewer arguments":    {Viewer: list.Viewer, Name: list.Name, Args: []string{"ada"}},
		"joined arguments":   {Viewer: list.Viewer, Name: list.Name, Args: []string{"ada 2027"}},
		"quoted differently": {Viewer: list.Viewer, Name: list.Name, Args: []string{`ada" "2027`}},
		"anonymous":          {Name: list.Name, Args: list.Args},
	} {
		_, err := codec.Open(other, Args{After: &mine})
		refused(t, err, "after")
		assert.NotEqual(t, mine, cursor(t, codec, other, "position"), name)
	}
}

func TestForgedCursorsAreRefused(t *testing.T) {
	codec := NewCodec([]byte("secret"))
	good := cursor(t, codec, list, "position")
	raw, err := base64.RawURLEncoding.DecodeString(string(good))
	require.NoError(t, err)
	forged := []Cursor{"", "x", "!", good + "A", good[1:], Cursor(string(good) + "="), " " + good, good + "\n",
		Cursor(base64.RawURLEncoding.EncodeToString(raw[:macSize])), Cursor(base64.RawURLEncoding.EncodeToString([]byte("position")))}
	for i := range raw { // every changed bit is noticed
		for bit := range 8 {
			changed := append([]byte(nil), raw...)
			changed[i] ^= 1 << bit
			forged = append(forged, Cursor(base64.RawURLEncoding.EncodeToString(changed)))
		}
	}
	for _, c := range forged {
		_, err := codec.Open(list, Args{Before: &c})
		refused(t, err, "before")
	}
}

func TestCursorsDoNotTellPositions(t *testing.T) {
	codec := NewCodec([]byte("secret"))
	const position = "the value of a tag that the viewer may not see"
	raw, err := base64.RawURLEncoding.DecodeString(string(cursor(t, codec, list, position)))
	require.NoError(t, err)
	for n := range len(position) - 2 {
		assert.NotContains(t, string(raw), position[n:n+3])
	}
	assert.Equal(t, cursor(t, codec, list, position), cursor(t, codec, list, position), "an edge has the same cursor each time")
}

func TestSecretsRotate(t *testing.T) {
	older, newer := NewCodec([]byte("old")), NewCodec([]byte("new"), []byte("old"))
	c := cursor(t, older, list, "x")
	o, err := newer.Open(list, Args{After: &c})
	require.NoError(t, err, "cursors of the old secret are still good")
	assert.Equal(t, "x", o.Window.From)
	c = cursor(t, newer, list, "x")
	_, err = older.Open(list, Args{After: &c})
	refused(t, err, "after")
	_, err = NewCodec([]byte("new")).Open(list, Args{After: &c})
	require.NoError(t, err, "new cursors are signed with the new secret")
}

func FuzzCursor(f *testing.F) {
	codec := NewCodec([]byte("secret"))
	f.Add("position", "ada", "arg")
	f.Add("", "", "\x00\"")
	f.Fuzz(func(t *testing.T, position, viewer, arg string) {
		b := Binding{Viewer: viewer, Name: "list", Args: []string{arg}}
		c := cursor(t, codec, b, position)
		o, err := codec.Open(b, Args{After: &c})
		if position == "" {
			if err == nil {
				t.Fatal("a cursor without a position is none")
			}
			return
		}
		if err != nil || o.Window.From != position {
			t.Fatalf("%q became %q, %v", position, o.Window.From, err)
		}
		random := Cursor(position)
		if _, err := codec.Open(b, Args{After: &random}); err == nil {
			t.Fatalf("%q is taken for a cursor", random)
		}
	})
}

// read does what a store does with a list in memory.
func read(all []string, w Window) Slice[string] {
	at := sort.SearchStrings(all, w.From)
	var rows []string
	other := false
	if w.Backward {
		end := len(all)
		if w.From != "" {
			end, other = at, at < len(all)
		}
		for i := end - 1; i >= 0 && len(rows) <= w.Limit; i-- {
			rows = append(rows, all[i])
		}
	} else {
		start := 0
		if w.From != "" {
			start = at
			if at < len(all) && all[at] == w.From {
				start++
			}
			other = start > 0
		}
		rows = append(rows, all[start:min(len(all), start+w.Limit+1)]...)
	}
	s := Fill(w, rows, func(s string) string { return s })
	s.Other = other
	return s
}

// Following the cursors of a connection, in either direction, gives the whole list, and both flags are exact.
func TestConnectionsWalkTheList(t *testing.T) {
	codec := NewCodec([]byte("secret"))
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z#]{1,3}`), 0, 12, rapid.ID).Draw(t, "list")
		sort.Strings(all)
		n := rapid.IntRange(1, 5).Draw(t, "n")
		for _, backward := range []bool{false, true} {
			var got []string
			var from *Cursor
			for {
				args := Args{First: &n, After: from}
				if backward {
					args = Args{Last: &n, Before: from}
				}
				o, err := codec.Open(list, args)
				require.NoError(t, err)
				c := Plain(o, read(all, o.Window))
				require.Len(t, c.Nodes(), len(c.Edges))
				if len(c.Edges) == 0 {
					require.Nil(t, c.PageInfo.StartCursor())
					require.Nil(t, c.PageInfo.EndCursor())
				} else {
					require.Equal(t, c.Edges[0].Cursor(), *c.PageInfo.StartCursor())
					require.Equal(t, c.Edges[len(c.Edges)-1].Cursor(), *c.PageInfo.EndCursor())
				}
				if backward {
					got = append(c.Nodes(), got...)
					require.Equal(t, len(got) < len(all), c.PageInfo.HasPreviousPage)
					require.Equal(t, from != nil, c.PageInfo.HasNextPage)
					from = c.PageInfo.StartCursor()
				} else {
					got = append(got, c.Nodes()...)
					require.Equal(t, len(got) < len(all), c.PageInfo.HasNextPage)
					require.Equal(t, from != nil, c.PageInfo.HasPreviousPage)
					from = c.PageInfo.EndCursor()
				}
				if len(got) >= len(all) {
					break
				}
				require.Len(t, c.Edges, n, "pages are full")
			}
			require.Equal(t, fmt.Sprint(all), fmt.Sprint(got))
		}
	})
}

func TestCursorInGraphQL(t *testing.T) {
	var c Cursor
	require.NoError(t, c.UnmarshalGQL("abc"))
	require.Error(t, c.UnmarshalGQL(3))
	var b strings.Builder
	c.MarshalGQL(&b)
	assert.Equal(t, `"abc"`, b.String())
}

func ExampleCodec_Open() {
	codec := NewCodec([]byte("a secret that all servers share"))
	list := Binding{Viewer: "ada", Name: "User.notes", Args: []string{"ada"}}
	opened, _ := codec.Open(list, Args{First: ptr(2)})
	page := Plain(opened, read([]string{"a", "b", "c"}, opened.Window))
	fmt.Println(page.Nodes(), page.PageInfo.HasNextPage)

	opened, _ = codec.Open(list, Args{After: page.PageInfo.EndCursor()})
	page = Plain(opened, read([]string{"a", "b", "c"}, opened.Window))
	fmt.Println(page.Nodes(), page.PageInfo.HasNextPage)
	// Output:
	// [a b] true
	// [c] false
}

// A page that is short although there is more says where to go on, even when it is empty.
func TestAShortPageHasAnEnd(t *testing.T) {
	codec := NewCodec([]byte("secret"))
	for _, backward := range []bool{false, true} {
		args := Args{First: ptr(2)}
		if backward {
			args = Args{Last: ptr(2)}
		}
		o, err := codec.Open(list, args)
		require.NoError(t, err)
		info := Plain(o, Slice[string]{More: true, Until: "here"}).PageInfo
		end := info.EndCursor()
		if backward {
			end = info.StartCursor()
		}
		require.NotNil(t, end)
		assert.Equal(t, cursor(t, codec, list, "here"), *end)
		assert.Equal(t, !backward, info.HasNextPage)
	}
}
