package dynamo

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Any reads an attribute of which only the client knows the type: as string, [json.Number], bool, nil, map[string]any or
// []any. Sets and bytes have no counterpart in JSON and are an [ErrNotJSON].
func (v Value) Any() (any, error) {
	switch n := v.node(); n.kind {
	case isString:
		return v.Str()
	case isNumber:
		return json.Number(v.s.bytes(n.of)), nil
	case isTrue, isFalse:
		return n.kind == isTrue, nil
	case isNull:
		return nil, nil
	case isMap:
		m := map[string]any{}
		return m, v.Object(func(name []byte, v Value) (err error) {
			m[string(name)], err = v.Any()
			return err
		})
	case isList:
		l := []any{}
		err := v.within(isList, func(v Value) error {
			of, err := v.Any()
			l = append(l, of)
			return err
		})
		return l, err
	default:
		return nil, fmt.Errorf("attribute is of type %s: %w", kindNames[n.kind], ErrNotJSON)
	}
}

// ErrNotJSON is wrapped by the error of [Value.Any] for a value that JSON cannot express.
var ErrNotJSON = errors.New("JSON has no such type")

// ErrUnkept is wrapped by every error of [Attribute]: it is the client who chose the value.
var ErrUnkept = errors.New("DynamoDB does not keep this")

// The limits of DynamoDB on values; see "Data types" and "Service, account, and table quotas" in its developer guide.
const (
	maxDigits   = 38   // significant digits of a number
	minExponent = -130 // of the first significant digit
	maxExponent = 125
	maxDepth    = 31 // maps and lists within one another: DynamoDB has 32 levels, and the innermost value is one
)

// Attribute is the counterpart of [Value.Any]: it writes a string, [json.Number], bool, nil, map[string]any or []any as
// an attribute value. What DynamoDB would refuse, or other types, are an errUnkept.
func Attribute(of any) (types.AttributeValue, error) { return attributeWithin(of, 0) }

func attributeWithin(of any, depth int) (types.AttributeValue, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: there are more than %d lists and objects within one another", ErrUnkept, maxDepth)
	}
	switch of := of.(type) {
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case string:
		return Str(of), nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: of}, nil
	case json.Number:
		n, err := kept(string(of))
		return &types.AttributeValueMemberN{Value: n}, err
	case map[string]any:
		m := make(Attrs, len(of))
		for name, element := range of {
			a, err := attributeWithin(element, depth+1)
			if err != nil {
				return nil, err
			}
			m[name] = a
		}
		return &types.AttributeValueMemberM{Value: m}, nil
	case []any:
		l := make([]types.AttributeValue, len(of))
		for i, element := range of {
			a, err := attributeWithin(element, depth+1)
			if err != nil {
				return nil, err
			}
			l[i] = a
		}
		return &types.AttributeValueMemberL{Value: l}, nil
	}
	return nil, fmt.Errorf("%w: a value of type %T", ErrUnkept, of)
}

// kept returns a number as it can be written. DynamoDB keeps the value and not the spelling: 1.50 comes back as 1.5.
func kept(n string) (string, error) {
	const digits = "0123456789"
	// Valid alone would let other values than numbers pass, and white space around them.
	if n == "" || !strings.Contains("-"+digits, n[:1]) || !strings.Contains(digits, n[len(n)-1:]) || !json.Valid([]byte(n)) {
		return "", fmt.Errorf("%w: %q is not a number", ErrUnkept, n)
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(n, "-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	significant := strings.TrimLeft(whole+fraction, "0")
	if significant == "" {
		return "0", nil
	}
	first := len(significant) - 1 - len(fraction) // the exponent of the first significant digit
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > 1<<30 || e < -1<<30 {
			return "", fmt.Errorf("%w: the number's exponent is out of range", ErrUnkept)
		}
		first += e
	}
	switch {
	case len(strings.TrimRight(significant, "0")) > maxDigits:
		return "", fmt.Errorf("%w: the number has more than %d significant digits", ErrUnkept, maxDigits)
	case first < minExponent || first > maxExponent:
		return "", fmt.Errorf("%w: the number's exponent is out of range", ErrUnkept)
	}
	return n, nil
}
