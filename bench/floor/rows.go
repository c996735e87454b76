package floor

import (
	"errors"

	"github.com/go-faster/jx"
)

// spelled is a value as it stands in an answer of DynamoDB: a JSON string with its quotes, or an array of them. It is a part
// of the answer, and is copied as it is.
type spelled []byte

// value returns the text of a string.
func (s spelled) value() (string, error) { return jx.DecodeBytes(s).Str() }

// bare is what stands between the quotes.
func (s spelled) bare() []byte {
	if len(s) < 2 {
		return nil
	}
	return s[1 : len(s)-1]
}

// list returns the elements of an array.
func (s spelled) list() ([]spelled, error) {
	d := jx.DecodeBytes(s)
	elements, err := d.ArrIter()
	if err != nil {
		return nil, err
	}
	all := make([]spelled, 0, 8)
	for elements.Next() {
		element, err := d.Raw()
		if err != nil {
			return nil, err
		}
		all = append(all, spelled(element))
	}
	return all, elements.Err()
}

// row has those attributes of all kinds of rows that the questions need.
type row struct {
	pk, user, name, email                                                       spelled
	note, title, content, deadline, created, updated, version, permission, tags spelled
}

func (r *row) attribute(name []byte) *spelled {
	switch string(name) {
	case "PK":
		return &r.pk
	case "user_id":
		return &r.user
	case "name":
		return &r.name
	case "email":
		return &r.email
	case "note_id":
		return &r.note
	case "title":
		return &r.title
	case "content":
		return &r.content
	case "deadline":
		return &r.deadline
	case "created_at":
		return &r.created
	case "updated_at":
		return &r.updated
	case "version":
		return &r.version
	case "permission":
		return &r.permission
	case "tags":
		return &r.tags
	}
	return nil
}

// decodeQuery returns the rows of the answer to a Query that asks for so many.
func decodeQuery(answer []byte, expected int) (rows []row, err error) {
	d := jx.DecodeBytes(answer)
	err = fields(d, func(name []byte) error {
		switch string(name) {
		case "Items":
			rows, err = decodeRows(d, expected)
			return err
		case "LastEvaluatedKey":
			return errors.New("the answer has a second page")
		}
		return d.Skip()
	})
	return rows, err
}

// decodeBatch returns the rows of the answer to a BatchGetItem of one table.
func decodeBatch(answer []byte, expected int) (rows []row, err error) {
	d := jx.DecodeBytes(answer)
	err = fields(d, func(name []byte) error {
		switch string(name) {
		case "Responses":
			return fields(d, func([]byte) error {
				rows, err = decodeRows(d, expected)
				return err
			})
		case "UnprocessedKeys":
			return fields(d, func([]byte) error { return errors.New("the answer leaves keys out") })
		}
		return d.Skip()
	})
	return rows, err
}

func decodeRows(d *jx.Decoder, expected int) ([]row, error) {
	rows := make([]row, 0, expected)
	items, err := d.ArrIter()
	if err != nil {
		return nil, err
	}
	for items.Next() {
		rows = append(rows, row{})
		if err := rows[len(rows)-1].decode(d); err != nil {
			return nil, err
		}
	}
	return rows, items.Err()
}

func (r *row) decode(d *jx.Decoder) error {
	attributes, err := d.ObjIter()
	if err != nil {
		return err
	}
	for attributes.Next() {
		into := r.attribute(attributes.Key())
		if into == nil {
			if err := d.Skip(); err != nil {
				return err
			}
			continue
		}
		kinds, err := d.ObjIter() // {"S":"…"}
		if err != nil {
			return err
		}
		for kinds.Next() {
			raw, err := d.Raw()
			if err != nil {
				return err
			}
			*into = spelled(raw)
		}
		if err := kinds.Err(); err != nil {
			return err
		}
	}
	return attributes.Err()
}

// fields calls each for every field of an object; it has to read the value.
func fields(d *jx.Decoder, each func(name []byte) error) error {
	all, err := d.ObjIter()
	if err != nil {
		return err
	}
	for all.Next() {
		if err := each(all.Key()); err != nil {
			return err
		}
	}
	return all.Err()
}
