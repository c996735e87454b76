package loaders

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClearForgetsEveryLoader(t *testing.T) {
	l := New(t.Context(), Sources{}, Shows{})
	loaders := 0
	var count func(reflect.Value)
	count = func(of reflect.Value) {
		for i := range of.NumField() {
			switch field := of.Field(i); {
			case field.Kind() == reflect.Struct:
				count(field)
			case strings.HasPrefix(field.Type().String(), "*loaders.Loader["):
				assert.False(t, field.IsNil(), "%s is not made", of.Type().Field(i).Name)
				loaders++
			}
		}
	}
	count(reflect.ValueOf(*l))
	require.Greater(t, loaders, 30)
	assert.Len(t, l.clear, loaders, "a loader was made without register")
}

func TestClearedValuesAreReadAgain(t *testing.T) {
	var s source
	r := &response{ctx: t.Context(), observe: unobserved}
	l := register(r, "test", s.fetch)
	all := &Loaders{clear: r.clear}
	l.Prefetch([]int{1})
	all.Clear()
	v, err := l.Load(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, 2, v)
	assert.Equal(t, [][]int{{1}, {1}}, s.batches)
}
