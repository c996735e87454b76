package entity

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
)

// Condition chooses from an index by values of its kinds: texts, numbers as [json.Number] (or as a Go number), or, where a key has several
// parts, lists of the first ones. The zero Condition chooses all. Only one of Equals, BeginsWith, Between, and After or Before or both, is
// given.
type Condition struct {
	Prefix     []any // the first parts of a key, exactly; the others are about the parts behind them
	Equals     any
	BeginsWith *string // of texts only
	Between    *[2]any // both ends inclusive
	After      any     // exclusive
	Before     any     // exclusive
}

// bound is the beginning of keys, or a whole one.
type bound struct {
	key   string
	whole bool
}

// above returns what sorts behind all keys that begin so, and before every other key behind them.
func (b bound) above() string {
	if b.whole {
		return b.key
	}
	return b.key[:len(b.key)-1] + behindPart
}

// keys returns the condition as keys of the index.
func (x Index) keys(field string, c Condition) (Range, error) {
	given := 0
	for _, is := range []bool{c.Equals != nil, c.BeginsWith != nil, c.Between != nil, c.After != nil || c.Before != nil} {
		if is {
			given++
		}
	}
	prefix, parts, err := x.prefix(field+".prefix", c.Prefix)
	switch {
	case err != nil:
		return Range{}, err
	case given > 1:
		return Range{}, fault.Invalidf(field, "give one of equals, beginsWith, between, and after or before")
	case given == 1 && len(parts) == 0:
		return Range{}, fault.Invalidf(field+".prefix", "the prefix is a whole key, so that there is nothing left to choose from")
	case c.BeginsWith != nil && parts[0].Kind != StringKey:
		return Range{}, fault.Invalidf(field+".beginsWith", "the index %s holds numbers, which begin with nothing", x.Name)
	}
	operand := func(name string, of any) (b bound) {
		if of != nil && err == nil {
			b, err = x.bound(field+"."+name, prefix.key, parts, of)
		}
		return b
	}
	var r Range
	if c.BeginsWith != nil {
		var key string
		if key, err = x.operand(field+".beginsWith", parts[0], *c.BeginsWith); err == nil {
			if len(parts) > 1 {
				key = escapePart(key)
			}
			key = prefix.key + key
			r.BeginsWith = &key
		}
		return r, err
	}
	if prefix.key != "" {
		if r.BeginsWith = &prefix.key; prefix.whole {
			r = Range{Equals: &prefix.key}
		}
	}
	if c.Equals != nil {
		if b := operand("equals", c.Equals); b.whole {
			r.Equals = &b.key
		} else {
			r.BeginsWith = &b.key
		}
	}
	if c.Between != nil {
		if c.Between[0] == nil || c.Between[1] == nil {
			return Range{}, fault.Invalidf(field+".between", "give both ends")
		}
		r.Between = &[2]string{operand("between.0", c.Between[0]).key, ""}
		if high := operand("between.1", c.Between[1]); err == nil {
			r.Between[1] = high.above()
		}
	}
	if c.After != nil {
		if b := operand("after", c.After); err == nil {
			above := b.above()
			r.After = &above
		}
	}
	if c.Before != nil {
		r.Before = new(operand("before", c.Before).key)
	}
	switch {
	case err != nil:
		return Range{}, err
	case r.Between != nil && r.Between[0] > r.Between[1]:
		return Range{}, fault.Invalidf(field+".between", "the lower end comes first")
	case r.After != nil && r.Before != nil && *r.After >= *r.Before:
		return Range{}, fault.Invalidf(field+".before", "before must be greater than after")
	}
	return r, nil
}

// prefix returns how keys begin that have these first parts, and the parts behind them.
func (x Index) prefix(field string, of []any) (bound, []Part, error) {
	parts := x.parts()
	if len(of) == 0 {
		return bound{}, parts, nil
	}
	b, err := x.bound(field, "", parts, of)
	return b, parts[min(len(of), len(parts)):], err
}

// bound returns what keys begin with that begin with the prefix, of which these are the parts behind it. A value is the first of them, a
// list the first ones.
func (x Index) bound(field, prefix string, parts []Part, of any) (bound, error) {
	list, several := of.([]any)
	if !several {
		list = []any{of}
	}
	if len(list) == 0 || len(list) > len(parts) {
		return bound{}, fault.Invalidf(field, "the keys of the index %s have %d parts: give as many or fewer", x.Name, len(x.parts()))
	}
	b := bound{key: prefix}
	for i, value := range list {
		key, err := x.operand(field, parts[i], value)
		if err != nil {
			return bound{}, err
		}
		b.key, b.whole = appendPart(b.key, key, i == len(parts)-1), i == len(parts)-1
	}
	return b, nil
}

// operand returns the key of an operand.
func (x Index) operand(field string, part Part, of any) (string, error) {
	switch of := of.(type) {
	case string:
		switch {
		case part.Kind != StringKey:
			return "", fault.Invalidf(field, "the index %s holds numbers: give a number", x.Name)
		case of == "" || len(of) > MaxIndexKeyBytes:
			return "", fault.Invalidf(field, "the texts of an index have 1 to %d bytes", MaxIndexKeyBytes)
		case !utf8.ValidString(of):
			return "", fault.Invalidf(field, "text must be valid UTF-8")
		}
		return of, nil
	case json.Number, int, int64, float64:
		if part.Kind != NumberKey {
			return "", fault.Invalidf(field, "the index %s holds texts: give a text", x.Name)
		}
		number, _, err := parseNumber(field, of)
		if err != nil {
			return "", err
		}
		key, _ := part.key(number)
		return key, nil
	}
	return "", fault.Invalidf(field, "give a text or a number")
}
