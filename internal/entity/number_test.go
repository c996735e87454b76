package entity

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func numberKey(t require.TestingT, text string) string {
	d, err := parseDecimal(text)
	require.NoError(t, err, text)
	return d.key()
}

func TestKeysOfNumbers(t *testing.T) {
	for key, texts := range map[string][]string{
		"1":                              {"0", "-0", "0.0", "0e9", "-0.00E-7", "0e999999999999"},
		"25011":                          {"1", "1.0", "1e0", "10e-1", "0.1e1", "0.001E+3", "1.000000000000000000000000000000000000000000000"},
		"25015":                          {"5"},
		"250251":                         {"51", "5.1e1", "51.00"},
		"25005":                          {"0.5", "5e-1"},
		"04984A":                         {"-5", "-5.0"},
		"049748A":                        {"-51"},
		"26261":                          {"1e125"},
		"23761":                          {"1e-125"},
		"03738A":                         {"-1e125"},
		"2538" + strings.Repeat("9", 38): {strings.Repeat("9", 38), strings.Repeat("9", 38) + ".0"},
	} {
		for _, text := range texts {
			assert.Equal(t, key, numberKey(t, text), text)
		}
	}
}

func TestWhatIsNoNumber(t *testing.T) {
	for text, want := range map[string]error{
		"": errNoNumber, "-": errNoNumber, "+1": errNoNumber, ".5": errNoNumber, "5.": errNoNumber, "01": errNoNumber,
		"1e": errNoNumber, "e1": errNoNumber, "1e1.5": errNoNumber, "0x1": errNoNumber, "NaN": errNoNumber, "1 ": errNoNumber,
		"--1": errNoNumber, "1.-1": errNoNumber, "٣": errNoNumber, "1_0": errNoNumber,
		strings.Repeat("9", 39): errTooLong, "0." + strings.Repeat("1", 39): errTooLong,
		"1e126": errTooLarge, "-1e126": errTooLarge, "1e-126": errTooLarge, "1e99999999999999999999": errTooLarge, "1e-99999999999999999999": errTooLarge,
	} {
		_, err := parseDecimal(text)
		assert.ErrorIs(t, err, want, text)
	}
}

// The number that a key stands for is spelled in the shortest way.
func TestNumbersOfKeys(t *testing.T) {
	for text, want := range map[string]string{
		"-12.5": "-12.5", "0.0": "0", "100": "100", "1e20": "100000000000000000000", "1e21": "1e21", "0.000001": "0.000001", "1e-7": "1e-7",
		"-120e-9": "-1.2e-7", "12345e30": "1.2345e34", "1e125": "1e125", "-1e-125": "-1e-125",
	} {
		d, ok := decimalOf(numberKey(t, text))
		assert.True(t, ok, text)
		assert.Equal(t, json.Number(want), d.number(), text)
	}
	for _, key := range []string{"", "Ada", "0", "2", "2501", "3501", "0498", "0498A", "25o11", "25011A"} {
		_, ok := decimalOf(key)
		assert.False(t, ok, key)
	}
	rapid.Check(t, func(t *rapid.T) {
		d, err := parseDecimal(number.Draw(t, "number"))
		require.NoError(t, err)
		back, ok := decimalOf(d.key())
		require.True(t, ok)
		require.Equal(t, d, back)
		again, err := parseDecimal(string(back.number()))
		require.NoError(t, err)
		require.Equal(t, d, again)
	})
}

// number draws a number in any spelling that JSON has for it, small ones often.
var number = rapid.Custom(func(t *rapid.T) string {
	text := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
	text += rapid.SampledFrom([]string{rapid.StringMatching(`0|[1-9][0-9]{0,2}`).Draw(t, "small"), rapid.StringMatching(`[1-9][0-9]{0,18}`).Draw(t, "large")}).Draw(t, "whole")
	text += rapid.StringMatching(`(\.0{0,3}[0-9]{1,15})?`).Draw(t, "fraction")
	return text + rapid.StringMatching(`([eE][+-]?(0?[0-9]|[1-9][0-9]))?`).Draw(t, "exponent")
})

var alphabet = regexp.MustCompile(`^[0-9]+A?$`)

func TestKeysAreOrderedAsNumbersAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := number.Draw(t, "a")
		b := number.Draw(t, "b")
		if rapid.Bool().Draw(t, "near") { // one digit apart, or the same in another spelling
			b = strings.Replace(a, "0", rapid.SampledFrom([]string{"0", "00", "01", "1"}).Draw(t, "digit"), 1)
		}
		ra, ok := new(big.Rat).SetString(a)
		require.True(t, ok, a)
		rb, ok := new(big.Rat).SetString(b)
		if !ok {
			t.Skip()
		}
		da, err := parseDecimal(a)
		require.NoError(t, err)
		db, err := parseDecimal(b)
		if err != nil {
			t.Skip() // "01" is not JSON
		}
		ka, kb := da.key(), db.key()
		require.Equal(t, ra.Cmp(rb), strings.Compare(ka, kb), "%s is %s, %s is %s", a, ka, b, kb)
		require.Equal(t, ra.Cmp(rb) == 0, ka == kb)
		require.Regexp(t, alphabet, ka)

		round := "0." + da.digits + "0e" + big.NewInt(int64(da.exponent)).String()
		if da.negative {
			round = "-" + round
		}
		exact, ok := new(big.Rat).SetString(round)
		require.True(t, ok)
		require.Zero(t, ra.Cmp(exact), "nothing of the number is lost")
		require.Equal(t, ka, numberKey(t, round))
	})
}
