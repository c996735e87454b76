package scalar

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func written(t time.Time) string {
	var b strings.Builder
	MarshalDateTime(t).MarshalGQL(&b)
	return b.String()
}

func TestDateTimeIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(-62135596799999, 253402300799999).Draw(t, "ms"))
		text := written(at)
		require.Len(t, text, len(Milli)+2, "fixed width, so that it sorts")
		read, err := UnmarshalDateTime(strings.Trim(text, `"`))
		require.NoError(t, err)
		require.True(t, at.Equal(read))
		require.Equal(t, time.UTC, read.Location())
	})
}

func TestDateTimeAsSent(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-20T08:00:00Z":             `"2026-11-20T08:00:00.000Z"`,
		"2026-11-20T08:00:00.123456789Z":   `"2026-11-20T08:00:00.123Z"`,
		"2026-11-20T17:00:00+09:00":        `"2026-11-20T08:00:00.000Z"`,
		"2026-11-20T08:00:00-00:00":        `"2026-11-20T08:00:00.000Z"`,
		"0001-01-01T00:00:00.001Z":         `"0001-01-01T00:00:00.001Z"`,
		"9999-12-31T23:59:59.999Z":         `"9999-12-31T23:59:59.999Z"`,
		"2024-02-29T00:00:00Z":             `"2024-02-29T00:00:00.000Z"`,
		"2026-11-20T08:00:00.999999+00:30": `"2026-11-20T07:30:00.999Z"`,
		"2026-11-20t08:00:00z":             `"2026-11-20T08:00:00.000Z"`,
		"2026-11-20t08:00:00.5+01:00":      `"2026-11-20T07:00:00.500Z"`,
		"2016-12-31T23:59:60Z":             `"2017-01-01T00:00:00.000Z"`,
		"2016-12-31T23:59:60.999z":         `"2017-01-01T00:00:00.000Z"`,
		"2017-01-01T08:59:60+09:00":        `"2017-01-01T00:00:00.000Z"`,
	} {
		read, err := UnmarshalDateTime(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, written(read), text)
	}
	for _, bad := range []any{
		"", "2026-11-20", "2026-11-20 08:00:00Z", "2026-11-20T08:00:00", "2026-11-20T8:00:00Z", "2026-11-20T08:00:00,5Z", "2026-02-30T00:00:00Z",
		"2026-11-20T24:00:00Z", "2026-11-20T08:00:60Z", "2016-12-31T23:59:61Z", "2016-12-31T23:59:60+01:00", "9999-12-31T23:59:60Z", "2026-11-20\u017f08:00:00Z", "2026-11-20T08:00:00+24:00", "10000-01-01T00:00:00Z", "0000-12-31T00:00:00Z", "0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "tomorrow", " 2026-11-20T08:00:00Z", 1763625600, nil, json.Number("1"), true,
	} {
		_, err := UnmarshalDateTime(bad)
		assert.Error(t, err, "%v", bad)
	}
	assert.Equal(t, "null", written(time.Time{}))
}

func FuzzDateTime(f *testing.F) {
	f.Add("2026-11-20T08:00:00Z")
	f.Add("2026-11-20T08:00:00.1234+23:59")
	f.Fuzz(func(t *testing.T, s string) {
		read, err := UnmarshalDateTime(s)
		if err != nil {
			return
		}
		again, err := UnmarshalDateTime(strings.Trim(written(read), `"`))
		if err != nil || !again.Equal(read) {
			t.Fatalf("%q is read as %s and then as %s, %v", s, read, again, err)
		}
	})
}

func TestInt(t *testing.T) {
	for _, good := range []any{json.Number("0"), json.Number("-2147483648"), json.Number("2147483647"), int64(7), 7, int64(math.MinInt32)} {
		n, err := UnmarshalInt(good)
		require.NoError(t, err)
		var b strings.Builder
		MarshalInt(n).MarshalGQL(&b)
		want, err := json.Marshal(good)
		require.NoError(t, err)
		assert.Equal(t, string(want), b.String())
	}
	for _, bad := range []any{
		json.Number("2147483648"), json.Number("-2147483649"), json.Number("1.0"), json.Number("1e3"), json.Number("99999999999999999999"),
		"12", 1.0, true, nil, int64(math.MaxInt32) + 1, []any{1},
	} {
		_, err := UnmarshalInt(bad)
		assert.Error(t, err, "%v", bad)
	}
}

func TestStringTakesTextOnly(t *testing.T) {
	s, err := UnmarshalString("7")
	require.NoError(t, err)
	assert.Equal(t, "7", s)
	for _, v := range []any{7, int64(7), 1.5, true, nil, json.Number("7"), []any{"7"}} {
		_, err := UnmarshalString(v)
		assert.Error(t, err, "%v", v)
	}
}
