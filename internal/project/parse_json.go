package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/jsontext"
)

// jsonRecords reads JSON Lines: one object per line with externalId, name, type, url and metadata. Empty lines mean nothing. What
// the line of an export has besides is left out.
type jsonRecords struct {
	lines *lines
	parse func(text []byte) (record, error)
}

// startJSON refuses the JSON array that many programs write instead: its lines would all be mistakes.
func startJSON(l *lines) error {
	if err := l.start(); err != nil {
		return err
	}
	text, _, err := l.window(1024)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		return fault.New(fault.Invalid, "the file is a JSON array; JSON Lines has one object on each line and nothing around them")
	}
	return nil
}

func (j *jsonRecords) at() position { return j.lines.at }

func (j *jsonRecords) next() (record, error) {
	for {
		line := j.lines.at.Lines + 1
		text, long, err := j.lines.line()
		if err != nil {
			return record{}, err
		}
		if !long && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var r record
		switch {
		case long:
			r.Mistake = mistakeTooLong
		case len(text) > MaxLineBytes:
			r.Mistake = mistakeTooLong
		case !utf8.Valid(text):
			r.Mistake = mistakeNotUTF8
		default:
			if r, err = j.parse(text); err != nil {
				r = record{Mistake: err.Error()}
			}
		}
		r.Line, r.End = line, j.lines.at
		return r, nil
	}
}

// parseJSON returns what the object says; its errors are sentences about a line.
func parseJSON(text []byte) (record, error) {
	if at := jsontext.LoneSurrogate(text); at >= 0 {
		return record{}, fmt.Errorf("has half of a surrogate pair at byte %d, which is no character: write both halves or neither", at+1)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return record{}, fmt.Errorf("is not JSON: %s at byte %d", syntax.Error(), syntax.Offset)
		}
		return record{}, errors.New("is not a JSON object")
	}
	if fields == nil { // null
		return record{}, errors.New("is not a JSON object")
	}
	ofExport := exported(func(name string) bool { _, has := fields[name]; return has })
	var r record
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		if string(value) == "null" {
			value = nil
		}
		var err error
		switch name {
		case "externalId":
			err = jsonString(value, &r.ExternalID)
		case "name":
			err = jsonString(value, &r.Name)
		case "type":
			err = jsonString(value, &r.Type)
		case "url":
			err = jsonString(value, &r.URL)
		case "metadata":
			err = jsonObject(value, &r.Metadata)
		default:
			if ofExport && slices.Contains(columnNames, name) {
				continue
			}
			return record{}, fmt.Errorf("has the unknown field %q; put what is not externalId, name, type or url inside metadata", short(name))
		}
		if err != nil {
			return record{}, fmt.Errorf("%s %w", name, err)
		}
	}
	return r, nil
}

func jsonString(value []byte, into *string) error {
	if value != nil && json.Unmarshal(value, into) != nil {
		return errors.New("is not a string")
	}
	return nil
}

func jsonObject(value []byte, into *map[string]any) error {
	if value == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(into) != nil {
		return errors.New("is not an object")
	}
	return nil
}

// short bounds what of a file is repeated in a message.
func short(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
