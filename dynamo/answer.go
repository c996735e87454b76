package dynamo

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/taggie/taggie/internal/memory"
)

// answer is a response of DynamoDB to a read. Each row type decodes its own attributes straight from the text that came over the wire: the
// SDK's way through maps of attribute values costs eight times the CPU.
type answer struct {
	scanned     *scanner // nil before there is an answer
	size        int      // in bytes
	items       []found
	unprocessed []found // keys
	last        map[string]types.AttributeValue
}

// found is an item of an answer. The table, with its full name, is known only in answers to BatchGetItem.
type found struct {
	table string
	Item
}

// scanners are used again: an answer can have 16 MB.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// The largest buffers that are used again: of answers of about 1 MB.
const (
	mostText  = 1 << 20
	mostNodes = 1 << 15
)

// release gives the buffers back; the items must not be used any more.
func (a *answer) release() {
	if s := a.scanned; s != nil && cap(s.text) <= mostText && cap(s.nodes) <= mostNodes {
		s.text, s.nodes, s.at, s.strings = s.text[:0], s.nodes[:0], 0, strings.Builder{}
		scanners.Put(s)
	}
	clear(a.items)
	*a = answer{items: a.items[:0]}
}

// into makes a call of the SDK fill a instead of maps of attribute values. Signing, retries, checksums and errors stay
// the SDK's.
func (a *answer) into(o *dynamodb.Options) {
	o.Protocol = leanProtocol{ClientProtocol: o.Protocol, answer: a}
}

type leanProtocol struct {
	smithyhttp.ClientProtocol
	answer *answer
}

// DeserializeResponse reads a good response into the answer and what is left of it (capacity, unprocessed keys, last key)
// into the SDK's output as well, where telemetry finds it.
func (p leanProtocol) DeserializeResponse(ctx context.Context, schema *smithy.OperationSchema, registry *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, resp, out)
	}
	p.answer.release()                           // an attempt before this one may have failed half-way
	p.answer.scanned = scanners.Get().(*scanner) //nolint:errcheck,forcetypeassert // nothing else is put there
	var capacity []types.ConsumedCapacity
	err := p.answer.read(ctx, resp)
	if err == nil {
		capacity, err = p.answer.scan()
	}
	if err != nil {
		return &smithy.DeserializationError{Err: err}
	}
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		out.LastEvaluatedKey = p.answer.last
		if len(capacity) > 0 {
			out.ConsumedCapacity = &capacity[0]
		}
	case *dynamodb.GetItemOutput:
		if len(capacity) > 0 {
			out.ConsumedCapacity = &capacity[0]
		}
	case *dynamodb.BatchGetItemOutput:
		out.ConsumedCapacity = capacity
		out.UnprocessedKeys = p.answer.leftovers()
	}
	return nil
}

// leftovers are the keys that were not processed: how many of which table is what the SDK's output has to tell.
func (a *answer) leftovers() map[string]types.KeysAndAttributes {
	if len(a.unprocessed) == 0 {
		return nil
	}
	left := map[string]types.KeysAndAttributes{}
	for _, key := range a.unprocessed {
		left[key.table] = types.KeysAndAttributes{Keys: append(left[key.table].Keys, nil)}
	}
	return left
}

// read reads the text of the answer, for which there has to be room.
func (a *answer) read(ctx context.Context, resp *smithyhttp.Response) error {
	freePlace(ctx)
	buf := a.scanned.text[:0]
	n := int(resp.ContentLength)
	if n > 0 {
		if err := memory.Take(ctx, n); err != nil {
			return noRoom{err}
		}
	}
	if n > cap(buf) {
		buf = make([]byte, 0, n+512)
	}
	for {
		if len(buf) == cap(buf) {
			if n < 0 { // unknown
				if err := memory.Take(ctx, max(len(buf), 512)); err != nil {
					return noRoom{err}
				}
			}
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := resp.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		a.scanned.text, a.size = buf, len(buf)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// noRoom says that there is no room for an answer. Nobody tries again: that is up to the client.
type noRoom struct{ error }

// Unwrap returns what the client is told.
func (e noRoom) Unwrap() error { return e.error }

// hadNoRoom reports whether there was no room for an answer.
func hadNoRoom(err error) bool { _, is := errors.AsType[noRoom](err); return is }

// scan finds everything in the answer. What is null is taken for absent: engines differ there.
func (a *answer) scan() (capacity []types.ConsumedCapacity, err error) {
	s := a.scanned
	if uint64(a.size) > math.MaxUint32 {
		return nil, errors.New("the answer is too large")
	}
	err = s.object(func(name span) error {
		if s.absent() {
			return nil
		}
		switch string(s.bytes(name)) {
		case "Items":
			return s.array(func() error { return a.keep(&a.items, "") })
		case "Item":
			return a.keep(&a.items, "")
		case "Responses":
			return s.object(func(name span) error {
				table := string(s.bytes(name))
				return s.array(func() error { return a.keep(&a.items, table) })
			})
		case "LastEvaluatedKey":
			return a.lastKey()
		case "UnprocessedKeys":
			return s.object(func(name span) error { return a.unprocessedTable(string(s.bytes(name))) })
		case "ConsumedCapacity":
			of := func() error {
				c, err := s.consumed()
				capacity = append(capacity, c)
				return err
			}
			if s.peek() == '[' {
				return s.array(of)
			}
			return of()
		}
		return s.skip(0)
	})
	if err == nil {
		err = s.end()
	}
	return capacity, err
}

func (a *answer) keep(to *[]found, table string) error {
	at, err := a.scanned.item()
	*to = append(*to, found{table, Item{Value{a.scanned, at}}})
	return err
}

func (a *answer) lastKey() error {
	at, err := a.scanned.item()
	if err != nil {
		return err
	}
	a.last = make(map[string]types.AttributeValue, 4)
	return Value{a.scanned, at}.Object(func(name []byte, v Value) error {
		of, err := v.Any() // a string, or a number where the index sorts by one
		if err == nil {
			a.last[string(name)], err = Attribute(of)
		}
		return err
	})
}

func (a *answer) unprocessedTable(table string) error {
	s := a.scanned
	return s.object(func(field span) error {
		if string(s.bytes(field)) != "Keys" {
			return s.skip(0)
		}
		return s.array(func() error { return a.keep(&a.unprocessed, table) })
	})
}

// consumed reads which capacity a table consumed.
func (s *scanner) consumed() (c types.ConsumedCapacity, err error) {
	err = s.object(func(name span) error {
		switch string(s.bytes(name)) {
		case "TableName":
			table, err := s.str()
			c.TableName = aws.String(string(s.bytes(table)))
			return err
		case "CapacityUnits":
			digits, err := s.number()
			if err != nil {
				return err
			}
			units, err := strconv.ParseFloat(string(digits), 64)
			c.CapacityUnits = &units
			return err
		}
		return s.skip(0)
	})
	return c, err
}
