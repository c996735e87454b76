package floor

import (
	"bytes"
	"slices"
)

func separate(out []byte, i int) []byte {
	if i > 0 {
		out = append(out, ',')
	}
	return out
}

// appendMember writes a field with its value, and null if there is none.
func appendMember(out []byte, name string, value []byte) []byte {
	out = append(append(append(out, '"'), name...), `":`...)
	if value == nil {
		return append(out, "null"...)
	}
	return append(out, value...)
}

func appendPerson(out []byte, r *row) []byte {
	return appendMember(append(appendMember(out, "id", r.user), ','), "name", r.name)
}

func appendProfile(out []byte, r *row) []byte {
	return appendMember(append(appendPerson(out, r), ','), "email", r.email)
}

// appendNote begins an object of a note, which it leaves open.
func appendNote(out []byte, n *row) []byte {
	out = appendMember(append(out, '{'), "id", n.note)
	out = appendMember(append(out, ','), "title", n.title)
	out = appendMember(append(out, ','), "content", n.content)
	out = appendMember(append(out, ','), "deadline", n.deadline)
	out = appendMember(append(out, ','), "createdAt", n.created)
	out = appendMember(append(out, ','), "updatedAt", n.updated)
	return appendMember(append(out, ','), "version", n.version.bare())
}

// appendTags writes the tags of a note in their order.
func appendTags(out []byte, tags spelled) ([]byte, error) {
	if tags == nil {
		return out, nil
	}
	all, err := tags.list()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b spelled) int { return bytes.Compare(a.bare(), b.bare()) })
	for i, tag := range all {
		out = append(appendMember(append(separate(out, i), '{'), "value", tag), '}')
	}
	return out, nil
}

// appendEnd closes a list of nodes.
func appendEnd(out []byte, more bool) []byte {
	out = append(out, `],"pageInfo":{"hasNextPage":`...)
	if more {
		return append(out, "true}}"...)
	}
	return append(out, "false}}"...)
}
