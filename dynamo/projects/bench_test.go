package projects_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/project"
)

// benchmarkItems is how many items one round writes, in chunks as imports make them.
const benchmarkItems = 9_000

// chunkItems and workers are those of project.Importer.
const (
	chunkItems = 45
	workers    = 8
)

func inParts(b *testing.B, items []project.Item, n int, do func(part []project.Item) error) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(workers)
	for part := range slices.Chunk(items, n) {
		group.Go(func() error { return do(part) })
	}
	require.NoError(b, group.Wait())
}

// BenchmarkImportItems writes items as imports do; compare with BenchmarkBatchWriteItem.
func BenchmarkImportItems(b *testing.B) {
	w, db, _ := dynamotest.OpenWorldOfProjects(b)
	i := w.Import()
	line := 1
	b.ResetTimer()
	for b.Loop() {
		items := w.Draw(i, line, benchmarkItems)
		line += benchmarkItems
		inParts(b, items, chunkItems, func(part []project.Item) error {
			_, _, err := db.ImportItems(b.Context(), part)
			return err
		})
	}
	b.ReportMetric(float64(line-1)/b.Elapsed().Seconds(), "items/s")
}

// BenchmarkBatchWriteItem writes the same rows in full batches, on no condition.
func BenchmarkBatchWriteItem(b *testing.B) {
	w, db, _ := dynamotest.OpenWorldOfProjects(b)
	i := w.Import()
	line := 1
	b.ResetTimer()
	for b.Loop() {
		items := w.Draw(i, line, benchmarkItems)
		line += benchmarkItems
		// 25 items are two batches.
		inParts(b, items, dynamo.MaxBatchWrite, func(part []project.Item) error {
			var writes []dynamo.Put
			for _, item := range part {
				row, err := projects.ItemRow(item)
				if err != nil {
					return err
				}
				name, key := projects.StatusEntry(item)
				writes = append(writes, dynamo.Put{Table: dynamo.EntitiesMaster, Item: row}, dynamo.Put{Table: dynamo.IndexEntries, Item: entities.IndexRow(projects.ItemID(item.ItemID), name, key, nil)})
			}
			return db.BatchPut(b.Context(), writes)
		})
	}
	b.ReportMetric(float64(line-1)/b.Elapsed().Seconds(), "items/s")
}
