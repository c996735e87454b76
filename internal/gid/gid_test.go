package gid

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/internal/fault"
)

func TestIDsAreReadBack(t *testing.T) {
	part := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
	rapid.Check(t, func(t *rapid.T) {
		id := Of(rapid.StringMatching(`[A-Z][a-z]{1,8}`).Draw(t, "type"), rapid.SliceOfN(part, 1, 3).Draw(t, "key")...)
		if len(id.String()) > MaxBytes {
			return
		}
		read, err := Parse(id.String())
		require.NoError(t, err)
		require.Equal(t, id, read)
		key, err := read.As("input.id", id.Type, len(id.Key))
		require.NoError(t, err)
		require.Equal(t, id.Key, key)
		_, err = read.As("input.id", id.Type, len(id.Key)+1)
		require.True(t, fault.Is(err, fault.Invalid))
	})
}

// Whatever is accepted has exactly one spelling.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "Tm90ZQBuMQ", "Tm90ZQBuMQ=", "Tm90ZQBuMR", "Tm90\nZQBuMQ", "Tm90ZQ", "AG4x", "Tm90ZQD_", Of("Note", "n", "").String()} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := Parse(s)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if id.String() != s {
			t.Fatalf("%q is read as %q, which is spelled %q", s, id, id.String())
		}
	})
}

func TestWhatIsNoID(t *testing.T) {
	for name, s := range map[string]string{
		"empty": "", "no key": "Tm90ZQ", "no type": "AG4x", "not base64": "!!!!", "padded": "Tm90ZQBuMQ==", "of the other alphabet": "Tm90ZQD/",
		"bits left over": "Tm90ZQBuMR", "line break": "Tm90\nZQBuMQ", "not UTF-8": "Tm90ZQD_", "too long": strings.Repeat("A", MaxBytes+4),
	} {
		_, err := Parse(s)
		assert.True(t, fault.Is(err, fault.Invalid), name)
		var id ID
		require.NoError(t, id.UnmarshalGQL(s), "one bad id of a list must not take the others with it")
		_, err = id.As("ids.1", "Note", 1)
		assert.True(t, fault.Is(err, fault.Invalid), name)
	}
	var id ID
	assert.Error(t, id.UnmarshalGQL(7))
}

func TestIDOfAnotherTypeNamesTheField(t *testing.T) {
	_, err := Of("User", "u1").As("input.id", "Note", 1)
	e, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok)
	assert.Equal(t, fault.Invalid, e.Kind)
	assert.Equal(t, "input.id", e.Field)
}

func ExampleOf() {
	id := Of("Version", "n1", "3")
	fmt.Println(id)
	read, _ := Parse("VmVyc2lvbgBuMQAz")
	fmt.Println(read.Type, read.Key)
	// Output:
	// VmVyc2lvbgBuMQAz
	// Version [n1 3]
}
