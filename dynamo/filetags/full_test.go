package filetags_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/tag"
)

// Things of which every attribute is there.
var fullIndex = filetag.Index{Tags: []filetag.Tag{{Word: tag.Word{Key: "work", Value: "Work"}, Public: true}}, SetName: "Suite", Via: dynamotest.DocumentScore, Shards: 4}

var fullTagSet = filetag.Set{
	Key: filetag.Key{Item: dynamotest.FullScoreItem.ItemRef, Author: dynamotest.AUUID}, Index: fullIndex, Counted: &filetag.Index{Tags: fullIndex.Tags, SetName: "Other", Via: dynamotest.DocumentScore, Shards: 2},
	Version: "v",
}

var fullLayout = filetag.Layout{Shards: 4, Before: 2, Writing: true, Since: dynamotest.FullTime, Position: "p", Version: "v"}

// What a row was written of is what is read from it, whatever it has.
func TestRowsOfFileTagsAreReadAsTheyWereWritten(t *testing.T) {
	dynamotest.Full(t, fullTagSet)
	dynamotest.Full(t, fullIndex)
	assert.Equal(t, fullTagSet, dynamotest.Decoded(t, filetags.TagSetRow(fullTagSet), filetags.DecodeTagSet))
	for key, row := range filetags.FileTagRows(fullTagSet.Key, fullIndex) {
		if row["valueOrder"] == nil {
			continue // of the set
		}
		found := filetags.FoundTag{Entry: filetag.Entry{Key: fullTagSet.Key, Via: fullIndex.Via, Value: "work"}, Order: dynamo.Text(row["valueOrder"])}
		assert.Equal(t, found, dynamotest.Decoded(t, row, filetags.DecodeTagRow), key)
	}
	dynamotest.Full(t, fullLayout)
	assert.Equal(t, fullLayout, dynamotest.Decoded(t, filetags.LayoutRow(fullLayout), filetags.DecodeLayout))
}

// BenchmarkDecodeFileTags reads one row of each kind that is read in large numbers.
func BenchmarkDecodeFileTags(b *testing.B) {
	dynamotest.Decoding(b, "TagSet", filetags.TagSetRow(fullTagSet), filetags.DecodeTagSet)
	for _, row := range filetags.FileTagRows(fullTagSet.Key, fullTagSet.Index) {
		if row["valueOrder"] != nil {
			dynamotest.Decoding(b, "Tag", row, filetags.DecodeTagRow)
			break
		}
	}
}
