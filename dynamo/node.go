package dynamo

// node is an attribute value: its name, where it has one, and where its contents are.
type node struct {
	name span
	of   span   // a text without its quotes; an item, and something of an unknown type, whole
	next uint32 // the node behind this one and what is within it
	kind kind
	// format is that of an item that says one; see [DB.readable]. It fits into what is left of 32 bytes.
	format uint16
}

// kind is the type of an attribute value.
type kind uint8

const (
	unknown kind = iota // a type that DynamoDB did not have when this was written
	isString
	isNumber
	isBinary
	isTrue
	isFalse
	isNull
	isMap
	isList
	isSet // of strings, numbers or binaries, which are nodes within it
	isNumberSet
	isBinarySet
)

// kindNames are the names of types, as DynamoDB spells them.
var kindNames = [...]string{"unknown", "S", "N", "B", "BOOL", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}

// item keeps an object of attribute values, and returns its node.
func (s *scanner) item() (uint32, error) {
	s.peek()
	from, i := s.at, len(s.nodes)
	s.nodes = append(s.nodes, node{kind: isMap})
	s.format = 0
	err := s.attributes(0)
	n := &s.nodes[i]
	n.format = s.format
	n.of, n.next = span{from: uint32(from), to: uint32(s.at)}, uint32(len(s.nodes))
	return uint32(i), err
}

// attributes keeps the attribute values of an object. It does not use [scanner.object], whose calls of each it would have to pay for with every
// attribute of every row.
func (s *scanner) attributes(depth int) error {
	if !s.take('{') {
		return s.fail("an object")
	}
	if s.take('}') {
		return nil
	}
	for {
		name, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.fail("a colon")
		}
		at := len(s.nodes)
		if err := s.value(name, depth); err != nil {
			return err
		}
		if depth == 0 && s.isFormat(name) {
			n := &s.nodes[at]
			s.format = formatOf(n.kind, string(s.bytes(n.of)))
		}
		if s.take(',') {
			continue
		}
		if !s.take('}') {
			return s.fail("the next attribute")
		}
		return nil
	}
}

// isFormat reports whether an attribute is [FormatAttribute].
func (s *scanner) isFormat(name span) bool {
	return (name.to-name.from == uint32(len(FormatAttribute)) || name.escaped) && string(s.bytes(name)) == FormatAttribute
}

// value keeps an attribute value: an object with one member, whose name is the type.
func (s *scanner) value(name span, depth int) error {
	if !s.take('{') {
		return s.fail("an attribute value")
	}
	typ, err := s.str()
	if err != nil {
		return err
	}
	if !s.take(':') {
		return s.fail("a colon")
	}
	i := len(s.nodes)
	s.nodes = append(s.nodes, node{name: name})
	n := &s.nodes[i]
	switch string(s.bytes(typ)) {
	case "S":
		n.kind = isString
		n.of, err = s.str()
	case "N":
		n.kind = isNumber
		n.of, err = s.str()
	case "B":
		n.kind = isBinary
		n.of, err = s.str()
	case "BOOL":
		if s.peek() == 'f' {
			n.kind, err = isFalse, s.literal("false")
		} else {
			n.kind, err = isTrue, s.literal("true")
		}
	case "NULL":
		n.kind, err = isNull, s.literal("true")
	case "M":
		n.kind = isMap
		err = s.nested(depth, func() error { return s.attributes(depth + 1) })
	case "L":
		n.kind = isList
		err = s.nested(depth, func() error { return s.array(func() error { return s.value(span{}, depth+1) }) })
	case "SS":
		n.kind = isSet
		err = s.set(isString)
	case "NS":
		n.kind = isNumberSet
		err = s.set(isNumber)
	case "BS":
		n.kind = isBinarySet
		err = s.set(isBinary)
	default:
		from := s.at
		err = s.skip(depth + 1)
		n.of = span{from: uint32(from), to: uint32(s.at)}
	}
	if err != nil {
		return err
	}
	s.nodes[i].next = uint32(len(s.nodes)) // n may be of a slice that has grown since
	if !s.take('}') {
		return s.fail("the end of an attribute value, which has one type")
	}
	return nil
}

func (s *scanner) nested(depth int, within func() error) error {
	if depth > maxNesting {
		return s.fail("fewer maps and lists within one another")
	}
	return within()
}

// set keeps the elements of a set.
func (s *scanner) set(of kind) error {
	return s.array(func() error {
		element, err := s.str()
		s.nodes = append(s.nodes, node{of: element, next: uint32(len(s.nodes)) + 1, kind: of})
		return err
	})
}
