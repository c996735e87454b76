package dynamo

import (
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
)

// Count reads a number that came with a failed condition.
func Count(v types.AttributeValue) int {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		i, _ := strconv.Atoi(n.Value) // numbers in our rows are whole
		return i
	}
	return 0
}

// OneWhen is the number 1 where something is so, and no attribute where it is not.
func OneWhen(set bool) types.AttributeValue {
	if !set {
		return nil
	}
	return Number(1)
}

// Texts is a list of strings.
func Texts(of []string) types.AttributeValue {
	list := make([]types.AttributeValue, len(of))
	for i, s := range of {
		list[i] = Str(s)
	}
	return &types.AttributeValueMemberL{Value: list}
}

// ReadTexts reads what texts wrote.
func ReadTexts(v Value) ([]string, error) {
	var all []string
	err := v.List(func(s string) error {
		all = append(all, s)
		return nil
	})
	return all, err
}

// Missing turns [ErrMissing] into NotFound, and a slice without any error into nil.
func Missing(errs []error, text string) []error {
	failed := false
	for i, err := range errs {
		if err == ErrMissing { //nolint:errorlint // BatchGet returns it bare
			errs[i] = fault.New(fault.NotFound, "%s", text)
		}
		failed = failed || err != nil
	}
	if !failed {
		return nil
	}
	return errs
}

// Text is the text of an attribute; "" when it is none.
func Text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// IDOf reads an id that a row has in its short spelling.
func IDOf[ID ~string](v Value) (ID, error) {
	s, err := v.Str()
	if err != nil {
		return "", err
	}
	id, err := keys.DecodeUUID(s)
	return ID(id), err
}

// ItemOf returns a row as a read returns it, so that the decoders that read lists read those rows, too, that come with failed conditions.
func ItemOf(row Attrs) Item {
	item, _ := ParseItem(RowJSON(row)) // which writes what can be read
	return item
}

// RowJSON writes a row as DynamoDB spells it.
func RowJSON(row Attrs) []byte {
	raw, _ := json.Marshal(rowJSONMap(row)) // strings, booleans, bytes, maps and slices of them
	return raw
}

func rowJSONMap(row Attrs) map[string]any {
	m := make(map[string]any, len(row))
	for name, v := range row {
		m[name] = valueJSON(v)
	}
	return m
}

func valueJSON(v types.AttributeValue) map[string]any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": rowJSONMap(v.Value)}
	case *types.AttributeValueMemberL:
		l := make([]any, len(v.Value))
		for i, element := range v.Value {
			l[i] = valueJSON(element)
		}
		return map[string]any{"L": l}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	}
	return map[string]any{"NULL": true}
}
