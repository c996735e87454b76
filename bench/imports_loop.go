package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

const (
	// batchRows is what one BatchWriteItem takes.
	batchRows = 25
	// rowsPerItem is what an import writes of each: the item, and its entry in the index of statuses.
	rowsPerItem = 2
	// loopWorkers is how many calls the loop has under way: as many as the importer.
	loopWorkers = 8
	// pieceBatches is how many batches are prepared at a time. The clock stands still meanwhile.
	pieceBatches = 400
)

// recorded is a row as it was put.
type recorded struct {
	Table string          `json:"t"`
	Item  json.RawMessage `json:"i"`
}

// record imports once, and keeps the rows of the items in a file.
func (b imports) record(ctx context.Context) error {
	file, err := os.Create(b.rows)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	out := bufio.NewWriter(file)
	var mu sync.Mutex
	rows := 0
	e, err := b.startEngine(ctx, func(operation string, body []byte) error {
		if operation != "TransactWriteItems" {
			return nil
		}
		var in struct {
			TransactItems []struct {
				Put *struct {
					TableName string
					Item      json.RawMessage
				}
			}
		}
		if err := json.Unmarshal(body, &in); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, action := range in.TransactItems {
			// An import's own row, its progress, is nothing that the loop has to write.
			var of struct {
				Type text `json:"_type"`
			}
			if action.Put == nil {
				continue
			}
			if err := json.Unmarshal(action.Put.Item, &of); err != nil {
				return err
			}
			if of.Type.S != "ProjectItem" {
				continue
			}
			rows++
			line, err := json.Marshal(recorded{action.Put.TableName, action.Put.Item})
			if err != nil {
				return err
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer e.stop()
	if _, err := b.imported(ctx, e); err != nil {
		return err
	}
	if rows != rowsPerItem*b.items {
		return fmt.Errorf("%d items are %d rows", b.items, rows)
	}
	return errors.Join(out.Flush(), file.Close())
}

// looped writes the recorded rows by full calls of BatchWriteItem and nothing else.
func (b imports) looped(ctx context.Context, e *importEngine) (written, error) {
	file, err := os.Open(b.rows)
	if err != nil {
		return written{}, err
	}
	defer func() { _ = file.Close() }()
	rows := json.NewDecoder(bufio.NewReaderSize(file, 1<<20))
	e.calls.reset()
	var w written
	for {
		batches, err := prepare(rows)
		if err != nil || len(batches) == 0 {
			w.calls = e.calls.all()
			return w, err
		}
		runtime.GC() // what preparing left behind is not the loop's
		c, err := startClock()
		if err != nil {
			return w, err
		}
		if err := errors.Join(write(ctx, e.client, batches), c.stop(&w)); err != nil {
			return w, err
		}
	}
}

// prepare reads the rows of the next calls; none at the end.
func prepare(rows *json.Decoder) ([]dynamodb.BatchWriteItemInput, error) {
	batches := make([]dynamodb.BatchWriteItemInput, 0, pieceBatches)
	for range pieceBatches {
		requests, n := map[string][]types.WriteRequest{}, 0
		for ; n < batchRows; n++ {
			var row recorded
			if err := rows.Decode(&row); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			item, err := attributevalue.UnmarshalMapJSON(row.Item)
			if err != nil {
				return nil, err
			}
			requests[row.Table] = append(requests[row.Table], types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
		}
		if n == 0 {
			break
		}
		batches = append(batches, dynamodb.BatchWriteItemInput{RequestItems: requests})
	}
	return batches, nil
}

func write(ctx context.Context, client *dynamodb.Client, batches []dynamodb.BatchWriteItemInput) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loopWorkers)
	for i := range batches {
		group.Go(func() error {
			out, err := client.BatchWriteItem(ctx, &batches[i])
			if err == nil && len(out.UnprocessedItems) > 0 {
				err = errors.New("the engine left rows unprocessed")
			}
			return err
		})
	}
	return group.Wait()
}
