package entity

import (
	"errors"
	"maps"

	"github.com/taggie/taggie/internal/fault"
)

// ReservedInMeta reports whether a name in the meta of an entity is Taggie's own: the store keeps there what it has to know of the
// entity. No client sees these or sets them.
func ReservedInMeta(name string) bool {
	switch name {
	case "version", "deleting", "deletion":
		return true
	}
	return false
}

// parseMeta returns a copy of the meta of an entity in the form of [Entity.Meta], or what is wrong with it; nil for none.
func parseMeta(field string, meta map[string]any) (map[string]any, error) {
	if len(meta) == 0 {
		return nil, nil
	}
	for name := range meta {
		if ReservedInMeta(name) {
			return nil, fault.Invalidf(within(field, name), "the names version, deleting and deletion are reserved in meta")
		}
	}
	var p parser
	return p.object(field, meta, 1)
}

// checkTogether says whether the attributes and the meta of an entity are too large for one row. Each may be as large as both together.
func checkTogether(field string, attributes, meta map[string]any) error {
	if len(meta) == 0 {
		return nil
	}
	var p parser
	n := 0
	for _, object := range []map[string]any{attributes, meta} {
		if _, err := p.object(field, object, 1); err != nil {
			return err
		}
		bytes, err := jsonBytes(object)
		if err != nil {
			return err
		}
		n += bytes
	}
	return checkSize(field, "attributes and meta have together", n, MaxAttributeBytes, p.stored)
}

// checkMeta says whether the meta that an entity would have is too large or too deep by itself: another program may have put it.
func checkMeta(meta map[string]any) error {
	err := checkTogether("input.meta", map[string]any{}, meta)
	if failed, is := errors.AsType[*fault.Error](err); is && failed.Kind == fault.Invalid {
		return fault.Invalidf(failed.Field, "the meta of the entity cannot be kept: %s; `meta: {}` in setEntity clears it", failed.Message)
	}
	return err
}

// merged returns what an object is when changes are made to it: null removes a name, and what is absent stays.
func merged(object, changes map[string]any) map[string]any {
	after := maps.Clone(object)
	if after == nil {
		after = map[string]any{}
	}
	for name, value := range changes {
		if after[name] = value; value == nil {
			delete(after, name)
		}
	}
	return after
}
