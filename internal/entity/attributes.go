package entity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
)

// parseAttributes returns a copy of the attributes of an entity in the form of [Entity.Attributes], or what is wrong with them.
func parseAttributes(field string, attributes map[string]any) (map[string]any, error) {
	return parseObject(field, attributes, MaxAttributeBytes)
}

// parseRelationAttributes does the same for the attributes of a relation; nil for none.
func parseRelationAttributes(field string, attributes map[string]any) (map[string]any, error) {
	if len(attributes) == 0 {
		return nil, nil
	}
	return parseObject(field, attributes, MaxRelationAttributeBytes)
}

func parseObject(field string, attributes map[string]any, maxBytes int) (map[string]any, error) {
	for name := range attributes {
		if strings.HasPrefix(name, "_") {
			return nil, fault.Invalidf(within(field, name), "names of attributes that begin with an underscore are reserved")
		}
	}
	var p parser
	object, err := p.object(field, attributes, 1)
	if err != nil {
		return nil, err
	}
	n, err := jsonBytes(object)
	if err != nil {
		return nil, err
	}
	return object, checkSize(field, "the attributes have", n, maxBytes, p.stored)
}

// checkSize says what is wrong with something that has so many bytes as JSON and takes so many in DynamoDB.
func checkSize(field, of string, n, maxBytes, stored int) error {
	switch {
	case n > maxBytes:
		return fault.Invalidf(field, "%s at most %d bytes as JSON, these have %d", of, maxBytes, n)
	case stored > MaxStoredBytes:
		return fault.Invalidf(field, "%s at most %d bytes in DynamoDB, these have %d", of, MaxStoredBytes, stored)
	}
	return nil
}

// jsonBytes counts the bytes of a value as JSON, without the escapes that only HTML needs.
func jsonBytes(of any) (int, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(of)
	if err != nil {
		return 0, fault.Wrap(fault.Internal, err, "attributes could not be written as JSON")
	}
	return b.Len() - 1, nil // without the line end
}

// parser copies a value and counts what DynamoDB will: 3 bytes and one per element for lists and maps, up to 21 and a sign for
// numbers, 1 for null and booleans.
type parser struct{ stored int }

func (p *parser) object(field string, object map[string]any, depth int) (map[string]any, error) {
	if depth > MaxDepth {
		return nil, fault.Invalidf(field, "attributes are nested at most %d levels deep", MaxDepth)
	}
	p.stored += 3
	parsed := make(map[string]any, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) { // so that of several mistakes the same one is told each time
		at := within(field, name)
		switch {
		case name == "":
			return nil, fault.Invalidf(field, "the name of an attribute may not be empty")
		case !utf8.ValidString(name):
			return nil, fault.Invalidf(field, "the name of an attribute must be valid UTF-8")
		case len(name) > MaxAttributeNameBytes:
			return nil, fault.Invalidf(field, "the name of an attribute has at most %d bytes", MaxAttributeNameBytes)
		}
		value, err := p.value(at, object[name], depth+1)
		if err != nil {
			return nil, err
		}
		parsed[name] = value
		p.stored += len(name) + 1
	}
	return parsed, nil
}

func (p *parser) value(field string, of any, depth int) (any, error) {
	switch of := of.(type) {
	case nil, bool:
		p.stored++
		return of, nil
	case string:
		if !utf8.ValidString(of) {
			return nil, fault.Invalidf(field, "text must be valid UTF-8")
		}
		p.stored += len(of)
		return of, nil
	case json.Number, int, int64, float64:
		number, digits, err := parseNumber(field, of)
		p.stored += digits/2 + 3
		return number, err
	case map[string]any:
		return p.object(field, of, depth)
	case []any:
		if depth > MaxDepth {
			return nil, fault.Invalidf(field, "attributes are nested at most %d levels deep", MaxDepth)
		}
		p.stored += 3 + len(of)
		list := make([]any, len(of))
		for i, element := range of {
			value, err := p.value(within(field, strconv.Itoa(i)), element, depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	}
	return nil, fault.Invalidf(field, "this is no JSON value")
}

// parseNumber reads a number as it comes from JSON, or from a literal in a GraphQL document.
func parseNumber(field string, of any) (json.Number, int, error) {
	if f, ok := of.(float64); ok {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return "", 0, fault.Invalidf(field, "this is no JSON value")
		}
		of = strconv.FormatFloat(f, 'g', -1, 64)
	}
	text := fmt.Sprint(of)
	d, err := parseDecimal(text)
	if err != nil {
		return "", 0, fault.Invalidf(field, "%s", err)
	}
	return json.Number(text), len(d.digits), nil
}

// within extends the path of a field, bounded and as text that can be printed: what follows is the client's.
func within(field, name string) string {
	const enough = 200
	if len(field) > enough {
		return field
	}
	if len(name) > MaxNameBytes {
		name = name[:MaxNameBytes] + "…"
	}
	return field + "." + strings.ToValidUTF8(name, "\uFFFD")
}
