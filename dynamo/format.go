package dynamo

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/internal/fault"
)

// A row says in which format it is, unless that is the first. All kinds of rows share one sequence of numbers: a format is a change of one
// kind, and has the next number. So a build knows all formats up to one number, and a row needs no more than its own number to be understood or
// refused, whatever its kind is and however much of it was read. See docs/changing.md for how to change a format.

const (
	// FormatAttribute is the attribute that has the number. A row without it is of the first format, as the rows of the source documents are.
	FormatAttribute = "_format"
	// FirstFormat is the format of rows that do not say one.
	FirstFormat = 1
	// NewestFormat is the newest format that this build reads. Rows of later ones are refused, and nothing of them is changed.
	NewestFormat = 1
)

// MessageNewer is what clients are told of a row of a later format.
const MessageNewer = "this was written by a newer version of Taggie, which this server cannot read; it was left as it is. Whoever operates this server has to upgrade it"

// InFormat is the attribute by which a layout declares the format that its rows are written in. of has the format of a row that is read: one of the
// formats up to [NewestFormat], and 0 where the row says none.
func InFormat[T any](writes int, of func(*T) *int) RowAttribute[T] {
	return RowAttribute[T]{
		Name: FormatAttribute,
		Write: func(*T) types.AttributeValue {
			if writes == FirstFormat {
				return nil
			}
			return Number(int64(writes))
		},
		Read: func(t *T, v Value) (err error) { *of(t), err = v.Int(); return err },
	}
}

// format is the format of a row. What is no whole number is a format that nobody can read.
func (item Item) format() int { return max(FirstFormat, int(item.node().format)) }

// unknownFormat is the format of a row whose attribute has no such number.
const unknownFormat = math.MaxUint16

// formatOf reads the number that the attribute has.
func formatOf(of kind, text string) uint16 {
	n, err := strconv.ParseUint(text, 10, 16)
	if of != isNumber || err != nil {
		return unknownFormat
	}
	return uint16(n)
}

// formatOfRow is the format of a row that came with a failed condition.
func formatOfRow(row Attrs) int {
	v, says := row[FormatAttribute]
	if !says {
		return FirstFormat
	}
	n, is := v.(*types.AttributeValueMemberN)
	if !is {
		return unknownFormat
	}
	return int(formatOf(isNumber, n.Value))
}

// readable returns nil for a row of a format that this build reads, and otherwise a fault of kind Outdated.
func (db *DB) readable(t Table, item Item) error {
	if item.format() <= db.newest {
		return nil
	}
	key, _ := KeyOf(item, t) // which a projection may have left out
	return db.outdated(t, key, item.format())
}

func (db *DB) outdated(t Table, key Key, format int) error {
	why := fmt.Errorf("row %q, %q of %s has format %d; this version reads formats up to %d", key.PK, key.SK, t.Name, format, db.newest)
	return fault.Wrap(fault.Outdated, why, MessageNewer)
}

// The names that the condition on the format has in expressions.
const (
	formatName      = "#row_format"
	formatValue     = ":row_format"
	formatCondition = "(attribute_not_exists(" + formatName + ") OR " + formatName + " <= " + formatValue + ")"
)

// formatNames are the names of that condition alone; nobody changes them.
var formatNames = map[string]string{formatName: FormatAttribute}

// guard is what makes one write conditional: all that there may be of an expression.
type guard struct {
	condition *string
	names     map[string]string
	values    Attrs
}

// guarded adds to the condition of a write, "" for none, that there is no row of a later format. That needs no unit and no call more. Names and
// values are copied.
func (db *DB) guarded(condition string, names map[string]string, values Attrs) guard {
	if condition == "" && len(names) == 0 && len(values) == 0 {
		return guard{aws.String(formatCondition), formatNames, Attrs{formatValue: Number(int64(db.newest))}}
	}
	g := guard{names: make(map[string]string, len(names)+1), values: make(Attrs, len(values)+1)}
	maps.Copy(g.names, names)
	maps.Copy(g.values, values)
	g.names[formatName], g.values[formatValue] = FormatAttribute, Number(int64(db.newest))
	switch {
	case condition == "":
	case isEither(condition):
		condition = "(" + condition + ") AND "
	default: // DynamoDB refuses parentheses that are not needed
		condition += " AND "
	}
	g.condition = aws.String(condition + formatCondition)
	return g
}

// isEither reports whether a condition is one OR another, outside of parentheses.
func isEither(condition string) bool {
	depth := 0
	for i, c := range condition {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ' ':
			if depth == 0 && strings.HasPrefix(condition[i:], " OR ") {
				return true
			}
		}
	}
	return false
}

// refusedWrite returns what it means that the condition of a write failed at a row: a fault of kind Outdated for a row of a later format, and
// otherwise nil.
func (db *DB) refusedWrite(t Table, row Attrs) error {
	format := formatOfRow(row)
	if format <= db.newest {
		return nil
	}
	return db.outdated(t, Key{Text(row[t.PK]), Text(row[t.SK])}, format)
}
