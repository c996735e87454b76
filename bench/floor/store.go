package floor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/go-faster/jx"
	"golang.org/x/sync/errgroup"
)

// store reads rows with calls that it writes and signs itself.
type store struct {
	address     *url.URL
	region      string
	table       string
	credentials aws.Credentials
	signer      *v4.Signer
	connections *http.Transport
}

func newStore(variable func(string) string) (*store, error) {
	address, err := url.Parse(variable("AWS_ENDPOINT_URL_DYNAMODB") + "/")
	if err != nil {
		return nil, err
	}
	return &store{
		address: address, region: variable("AWS_REGION"), table: variable("TAGGIE_TABLE_PREFIX") + "notes",
		credentials: aws.Credentials{AccessKeyID: variable("AWS_ACCESS_KEY_ID"), SecretAccessKey: variable("AWS_SECRET_ACCESS_KEY")},
		signer:      v4.NewSigner(),
		connections: &http.Transport{MaxIdleConns: 1000, MaxIdleConnsPerHost: 1000, DisableCompression: true},
	}, nil
}

type rowKey struct{ pk, sk string }

// span is a range of rows; index is "" for the table.
type span struct{ index, pk, low, high string }

// query returns the rows of a span.
func (s *store) query(ctx context.Context, of span, parts Parts, limit int) ([]row, error) {
	var w jx.Writer
	w.RawStr(`{"TableName":`)
	w.Str(s.table)
	if of.index == "" {
		w.RawStr(`,"ConsistentRead":true`)
	} else {
		w.RawStr(`,"IndexName":`)
		w.Str(of.index)
	}
	w.RawStr(`,"KeyConditionExpression":"#pk = :pk AND #sk BETWEEN :low AND :high","ExpressionAttributeNames":{"#pk":`)
	w.Str(of.index + "PK")
	w.RawStr(`,"#sk":`)
	w.Str(of.index + "SK")
	writeNames(&w, parts, ",")
	w.RawStr(`},"ExpressionAttributeValues":{":pk":{"S":`)
	w.Str(of.pk)
	w.RawStr(`},":low":{"S":`)
	w.Str(of.low)
	w.RawStr(`},":high":{"S":`)
	w.Str(of.high)
	w.RawStr(`}},"Limit":`)
	w.Int(limit)
	writeExpression(&w, parts)
	w.ObjEnd()
	answer, err := s.call(ctx, "Query", w.Buf)
	if err != nil {
		return nil, err
	}
	return decodeQuery(answer, limit)
}

// batch reads rows by key, 100 per call, the calls at the same time. The order is DynamoDB's.
func (s *store) batch(ctx context.Context, wanted []rowKey, parts Parts) ([]row, error) {
	if len(wanted) <= 100 {
		return s.batchOf(ctx, wanted, parts)
	}
	chunks := make([][]row, (len(wanted)+99)/100)
	group, ctx := errgroup.WithContext(ctx)
	i := 0
	for chunk := range slices.Chunk(wanted, 100) {
		into := &chunks[i]
		i++
		group.Go(func() (err error) {
			*into, err = s.batchOf(ctx, chunk, parts)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(chunks...), nil
}

func (s *store) batchOf(ctx context.Context, wanted []rowKey, parts Parts) ([]row, error) {
	w := jx.Writer{Buf: make([]byte, 0, 128+160*len(wanted))}
	w.RawStr(`{"RequestItems":{`)
	w.Str(s.table)
	w.RawStr(`:{"ConsistentRead":true,"Keys":[`)
	for i, k := range wanted {
		if i > 0 {
			w.Comma()
		}
		w.RawStr(`{"PK":{"S":`)
		w.Str(k.pk)
		w.RawStr(`},"SK":{"S":`)
		w.Str(k.sk)
		w.RawStr(`}}`)
	}
	w.RawStr(`]`)
	writeExpression(&w, parts)
	if parts.Names != nil {
		w.RawStr(`,"ExpressionAttributeNames":{`)
		writeNames(&w, parts, "")
		w.RawStr(`}`)
	}
	w.RawStr(`}}}`)
	answer, err := s.call(ctx, "BatchGetItem", w.Buf)
	if err != nil {
		return nil, err
	}
	return decodeBatch(answer, len(wanted))
}

// writeNames writes names, the first of them behind a comma where others come before.
func writeNames(w *jx.Writer, parts Parts, comma string) {
	for alias, name := range parts.Names {
		w.RawStr(comma)
		comma = ","
		w.Str(alias)
		w.RawStr(`:`)
		w.Str(name)
	}
}

func writeExpression(w *jx.Writer, parts Parts) {
	if parts.Expression != "" {
		w.RawStr(`,"ProjectionExpression":`)
		w.Str(parts.Expression)
	}
}

// call sends one request and returns the answer to it.
func (s *store) call(ctx context.Context, operation string, body []byte) ([]byte, error) {
	r := (&http.Request{
		Method: http.MethodPost, URL: s.address, Host: s.address.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Target": {"DynamoDB_20120810." + operation}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(ctx)
	address := *s.address // the signer writes into it
	r.URL = &address
	sum := sha256.Sum256(body)
	if err := s.signer.SignHTTP(ctx, s.credentials, r, hex.EncodeToString(sum[:]), "dynamodb", s.region, time.Now()); err != nil {
		return nil, err
	}
	response, err := s.connections.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer := make([]byte, max(response.ContentLength, 0))
	if _, err := io.ReadFull(response.Body, answer); err != nil {
		return nil, err
	}
	switch want := response.Header.Get("X-Amz-Crc32"); {
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s: %s", operation, response.Status, answer)
	case want != strconv.FormatUint(uint64(crc32.ChecksumIEEE(answer)), 10):
		return nil, fmt.Errorf("%s: the answer is damaged", operation)
	}
	return answer, nil
}
