package entity

import (
	"encoding/json"
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
	return "0" + strings.Map(complement, tail) + "A"
}

// complement returns the complement of a digit to nine.
func complement(r rune) rune { return '0' + '9' - r }

// decimalOf returns the number that a key spells; false when it spells none.
func decimalOf(key string) (decimal, bool) {
	if key == "1" {
		return decimal{}, true
	}
	tail, positive := strings.CutPrefix(key, "2")
	if !positive {
		var ok bool
		if tail, ok = strings.CutPrefix(key, "0"); !ok {
			return decimal{}, false
		}
		if tail, ok = strings.CutSuffix(tail, "A"); !ok {
			return decimal{}, false
		}
		tail = strings.Map(complement, tail)
	}
	if len(tail) < 4 || !allDigits(tail) {
		return decimal{}, false
	}
	exponent, err := strconv.Atoi(tail[:3])
	return decimal{negative: !positive, digits: tail[3:], exponent: exponent - 500}, err == nil
}

// The longest numbers that are spelled without an exponent, as JavaScript does.
const (
	wholeDigits  = 21 // digits before the point
	leadingZeros = 6  // zeros behind it
)

// number spells the number as JSON does, in the shortest way.
func (d decimal) number() json.Number {
	sign := ""
	if d.negative {
		sign = "-"
	}
	n := len(d.digits)
	switch {
	case n == 0:
		return "0"
	case d.exponent >= n && d.exponent <= wholeDigits:
		return json.Number(sign + d.digits + strings.Repeat("0", d.exponent-n))
	case d.exponent > 0 && d.exponent < n:
		return json.Number(sign + d.digits[:d.exponent] + "." + d.digits[d.exponent:])
	case d.exponent <= 0 && d.exponent > -leadingZeros:
		return json.Number(sign + "0." + strings.Repeat("0", -d.exponent) + d.digits)
	}
	mantissa := d.digits[:1]
	if n > 1 {
		mantissa += "." + d.digits[1:]
	}
	return json.Number(sign + mantissa + "e" + strconv.Itoa(d.exponent-1))
}
