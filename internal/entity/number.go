package entity

import (
	"errors"
	"strconv"
	"strings"
)

// What DynamoDB keeps of a number: see "Data types" in its developer guide. It takes smaller ones than these too, but what is
// taken at one end is taken at the other.
const (
	maxDigits   = 38
	maxExponent = 125 // of the first significant digit, either way
)

// decimal is a number as 0.d₁d₂…dₙ × 10^exponent, d₁ and dₙ not 0. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

var (
	errNoNumber = errors.New("this is not a number")
	errTooLong  = errors.New("a number has at most 38 significant digits")
	errTooLarge = errors.New("a number lies between 1e-125 and 1e126, or is 0, or is the negative of such a one")
)

// parseDecimal reads a number in JSON's spelling. Equal numbers have equal decimals: 1.0, 1 and 1e0, -0 and 0.
func parseDecimal(text string) (decimal, error) {
	unsigned, negative := strings.CutPrefix(text, "-")
	mantissa, power := unsigned, 0
	if i := strings.IndexAny(unsigned, "eE"); i >= 0 {
		mantissa = unsigned[:i]
		n, err := strconv.Atoi(unsigned[i+1:])
		switch {
		case errors.Is(err, strconv.ErrSyntax):
			return decimal{}, errNoNumber
		case err != nil, n > 1_000_000, n < -1_000_000:
			power = 1_000_000 // refused below, unless the number is zero
		default:
			power = n
		}
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	if !allDigits(whole) || (point && !allDigits(fraction)) || (len(whole) > 1 && whole[0] == '0') {
		return decimal{}, errNoNumber
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	d := decimal{negative: negative, exponent: len(digits) - len(fraction) + power}
	d.digits = strings.TrimRight(digits, "0")
	switch first := d.exponent - 1; {
	case d.digits == "":
		return decimal{}, nil
	case len(d.digits) > maxDigits:
		return decimal{}, errTooLong
	case first > maxExponent || first < -maxExponent:
		return decimal{}, errTooLarge
	}
	return d, nil
}

func allDigits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// key spells the number so that keys, compared as bytes, are ordered as the numbers are, and equal numbers have one key. It
// holds nothing but digits and "A", so that nothing in it needs an escape:
//
//	"0" xxx digits "A"   a negative number, exponent and digits as their complement to nines: the larger, the further in front;
//	                     "A" sorts behind every digit, so that -51, "0…48A", comes before -5, "0…4A"
//	"1"                  zero
//	"2" xxx digits       a positive number
//
// where xxx is the exponent plus 500, and the digits have no zeros at their ends: 5 is "25015", 51 is "250251", 0.5 "25005".
func (d decimal) key() string {
	if d.digits == "" {
		return "1"
	}
	tail := strconv.Itoa(d.exponent+500) + d.digits // three digits: the exponent lies between -124 and 126
	if !d.negative {
		return "2" + tail
	}
	return "0" + strings.Map(func(r rune) rune { return '0' + '9' - r }, tail) + "A"
}
