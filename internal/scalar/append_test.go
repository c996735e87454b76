package scalar

import (
	"bytes"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTextIsAppendedAsGqlgenWritesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("a\"\\\n\r\t\x00\x1f\x7fé\u2028"))),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		var want bytes.Buffer
		graphql.MarshalString(s).MarshalGQL(&want)
		require.Equal(t, "x"+want.String(), string(AppendString([]byte("x"), s)))
	})
}
