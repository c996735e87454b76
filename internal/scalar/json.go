package scalar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// MarshalJSON writes a JSON object, null when there is none. What is in it came from JSON, as UnmarshalJSON reads it.
func MarshalJSON(object map[string]any) graphql.Marshaler {
	if object == nil {
		return graphql.Null
	}
	return graphql.WriterFunc(func(w io.Writer) {
		text, err := json.Marshal(object)
		if err != nil {
			panic(fmt.Errorf("write a JSON object: %w", err))
		}
		_, _ = w.Write(text)
	})
}

// UnmarshalJSON reads a JSON object and nothing else. Numbers are [json.Number] in it, with the digits they came with; in a
// literal of the document, only those that an int64 or a float64 keeps.
func UnmarshalJSON(v any) (map[string]any, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%.40v is not a JSON object", v)
	}
	return plainObject(object)
}

// plain makes the numbers in a value json.Number.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool, json.Number:
		return v, nil
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), nil
	case float64:
		text, err := json.Marshal(v)
		return json.Number(text), err
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			var err error
			if list[i], err = plain(element); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		return plainObject(v)
	}
	return nil, fmt.Errorf("%.40v is no JSON", v)
}

func plainObject(of map[string]any) (map[string]any, error) {
	object := make(map[string]any, len(of))
	for name, value := range of {
		var err error
		if object[name], err = plain(value); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// MarshalInt64 writes a whole number.
func MarshalInt64(i int64) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.FormatInt(i, 10)) })
}

// UnmarshalInt64 reads a whole number of 64 bits, given as a number or, by clients whose numbers are shorter, as text.
func UnmarshalInt64(v any) (int64, error) {
	var text string
	switch v := v.(type) {
	case int64:
		return v, nil
	case json.Number:
		text = v.String()
	case string:
		text = v
	default:
		return 0, fmt.Errorf("%.40v is not an Int64", v)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not an Int64", text)
	}
	return n, nil
}

// MarshalIndexKey writes a text as string, a [json.Number] as number, and the parts of a key as list.
func MarshalIndexKey(v any) graphql.Marshaler {
	switch v := v.(type) {
	case string:
		return graphql.MarshalString(v)
	case json.Number:
		return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, v.String()) })
	case []any:
		parts := make(graphql.Array, len(v))
		for i, part := range v {
			parts[i] = MarshalIndexKey(part)
		}
		return parts
	}
	return graphql.Null
}

// UnmarshalIndexKey reads a text as string or a number as [json.Number], or a list of these.
func UnmarshalIndexKey(v any) (any, error) {
	read, err := plain(v)
	if err != nil {
		return nil, err
	}
	parts, several := read.([]any)
	if !several {
		parts = []any{read}
	}
	if len(parts) == 0 {
		return nil, errors.New("an empty list is no key")
	}
	for _, part := range parts {
		switch part.(type) {
		case string, json.Number:
		default:
			return nil, fmt.Errorf("%.40v is neither a text nor a number, nor a list of these", v)
		}
	}
	return read, nil
}
