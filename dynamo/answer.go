package dynamo

import (
	"context"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/go-faster/jx"
)

// answer is a response of DynamoDB to a read, with the items still as they came over the wire. Each row type decodes
// its own attributes straight from there: the SDK's way through maps of attribute values costs eight times the CPU.
type answer struct {
	body        []byte // items point into it
	items       []item
	unprocessed map[string][][]byte // keys, by table
	last        map[string]types.AttributeValue
}

// item is a row as a JSON object of attribute values. The table, with its full name, is known only in answers to
// BatchGetItem.
type item struct {
	table string
	json  []byte
}

// bodies are reused: an answer can have 16 MB.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// release gives the body back; the items must not be used any more.
func (a *answer) release() {
	if body := a.body; body != nil && cap(body) <= 1<<20 {
		bodies.Put(&body) // not &a.body: the answer may be filled again while somebody else has the buffer
	}
	*a = answer{}
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
	p.answer.release() // an attempt before this one may have failed half-way
	if err := p.answer.read(resp); err != nil {
		return &smithy.DeserializationError{Err: err}
	}
	var capacity []types.ConsumedCapacity
	if err := p.answer.parse(&capacity); err != nil {
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

func (a *answer) leftovers() map[string]types.KeysAndAttributes {
	if len(a.unprocessed) == 0 {
		return nil
	}
	left := make(map[string]types.KeysAndAttributes, len(a.unprocessed))
	for table, keys := range a.unprocessed {
		left[table] = types.KeysAndAttributes{Keys: make([]map[string]types.AttributeValue, len(keys))}
	}
	return left
}

func (a *answer) read(resp *smithyhttp.Response) error {
	buf := *(bodies.Get().(*[]byte)) //nolint:errcheck // the pool holds nothing else
	buf = buf[:0]
	if n := int(resp.ContentLength); n > cap(buf) {
		buf = make([]byte, 0, n+512)
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := resp.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			a.body = buf
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// parse finds the items and the rest in the body.
func (a *answer) parse(capacity *[]types.ConsumedCapacity) error {
	if len(a.body) == 0 {
		return io.ErrUnexpectedEOF
	}
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(a.body)
	return d.ObjBytes(func(d *jx.Decoder, name []byte) error {
		switch string(name) {
		case "Items":
			return d.Arr(func(d *jx.Decoder) error { return a.item("", d) })
		case "Item":
			return a.item("", d)
		case "Responses":
			return d.ObjBytes(func(d *jx.Decoder, name []byte) error {
				table := string(name)
				return d.Arr(func(d *jx.Decoder) error { return a.item(table, d) })
			})
		case "LastEvaluatedKey":
			return d.ObjBytes(a.lastKey)
		case "UnprocessedKeys":
			return d.ObjBytes(a.unprocessedTable)
		case "ConsumedCapacity":
			if d.Next() == jx.Array {
				return d.Arr(func(d *jx.Decoder) error { return consumed(d, capacity) })
			}
			return consumed(d, capacity)
		}
		return d.Skip()
	})
}

func (a *answer) item(table string, d *jx.Decoder) error {
	raw, err := d.Raw()
	a.items = append(a.items, item{table, raw})
	return err
}

func (a *answer) lastKey(d *jx.Decoder, key []byte) error {
	name := string(key) // the next read overwrites key
	if a.last == nil {
		a.last = make(map[string]types.AttributeValue, 4)
	}
	v, err := Value{d}.Any() // a string, or a number where the index sorts by one
	if err != nil {
		return err
	}
	a.last[name], err = Attribute(v)
	return err
}

func (a *answer) unprocessedTable(d *jx.Decoder, table []byte) error {
	name := string(table)
	if a.unprocessed == nil {
		a.unprocessed = map[string][][]byte{}
	}
	return d.ObjBytes(func(d *jx.Decoder, field []byte) error {
		if string(field) != "Keys" {
			return d.Skip()
		}
		return d.Arr(func(d *jx.Decoder) error {
			raw, err := d.Raw()
			a.unprocessed[name] = append(a.unprocessed[name], raw)
			return err
		})
	})
}

func consumed(d *jx.Decoder, to *[]types.ConsumedCapacity) error {
	if d.Next() == jx.Null {
		return d.Null()
	}
	var c types.ConsumedCapacity
	err := d.ObjBytes(func(d *jx.Decoder, name []byte) error {
		switch string(name) {
		case "TableName":
			table, err := d.Str()
			c.TableName = aws.String(table)
			return err
		case "CapacityUnits":
			units, err := d.Float64()
			c.CapacityUnits = aws.Float64(units)
			return err
		}
		return d.Skip()
	})
	*to = append(*to, c)
	return err
}
