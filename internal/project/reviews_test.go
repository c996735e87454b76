package project

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSomeResultsAwaitAReview(t *testing.T) {
	joined := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	later := joined.AddDate(0, 0, 7)
	for _, of := range []struct {
		reviews Reviews
		at      time.Time
		want    int // of the draws 0 to 199
	}{
		{Reviews{}, later, 200}, {Reviews{Unreviewed: 100}, later, 0}, {Reviews{Unreviewed: 80}, later, 40}, {Reviews{Unreviewed: 99}, later, 2},
		{Reviews{Unreviewed: 100, NewcomerDays: 7}, later, 0}, {Reviews{Unreviewed: 100, NewcomerDays: 7}, later.Add(-time.Millisecond), 200},
		{Reviews{Unreviewed: 100, NewcomerDays: 8}, later, 200}, {Reviews{Unreviewed: 50, NewcomerDays: 1}, later, 100},
	} {
		awaiting := 0
		for draw := range uint32(200) {
			if (Project{Reviews: of.reviews}).ToReview(Member{AddedAt: joined}, of.at, draw) {
				awaiting++
			}
		}
		assert.Equal(t, of.want, awaiting, of)
	}
}
