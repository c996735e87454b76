package project

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
)

// results is a store of finished items and of one export, and the files of that.
type results struct {
	current  Export
	items    []Item
	efforts  map[ItemID][]Effort // the newest first
	hidden   map[string]bool     // external ids that the list does not show the first time
	listed   int                 // how often the list was begun
	asked    int                 // for efforts of items
	batches  int                 // for efforts by id
	met      []UserID            // whose names were asked for
	namesErr error
	listErr  error
	saving   func()
	saves    []Export
	file     *string
}

func (s *results) ExportsByID(context.Context, []TransferID) ([]Export, []error) {
	return []Export{s.current}, []error{nil}
}

func (s *results) PutExport(_ context.Context, before *Export, after Export, _ []task.Task, _ idempotency.Key) error {
	if s.saving != nil {
		s.saving()
	}
	if before.Version != s.current.Version {
		return &TransferConflict{}
	}
	s.current = after
	s.saves = append(s.saves, after)
	return nil
}

func (s *results) ListItems(_ context.Context, _ ID, status Status, w page.Window) (page.Slice[Item], error) {
	if w.From == "" {
		s.listed++
	}
	var found []Item
	for _, item := range s.items {
		if (status == "" || item.Status == status) && item.ExternalID > w.From && (s.listed > 1 || !s.hidden[item.ExternalID]) && len(found) <= w.Limit {
			found = append(found, item)
		}
	}
	return page.Fill(w, found, func(i Item) string { return i.ExternalID }), s.listErr
}

func (s *results) EffortsByID(_ context.Context, ids []EffortID) ([]Effort, []error) {
	s.batches++
	found := make([]Effort, len(ids))
	errs := make([]error, len(ids))
	for i, id := range ids {
		errs[i] = notFound("effort")
		for _, efforts := range s.efforts {
			for _, e := range efforts {
				if e.EffortID == id {
					found[i], errs[i] = e, nil
				}
			}
		}
	}
	return found, errs
}

func (s *results) ListEffortsOfItems(_ context.Context, requests []ItemEffortsRequest) ([]page.Slice[Effort], []error) {
	slices := make([]page.Slice[Effort], len(requests))
	for i, r := range requests {
		s.asked++
		var found []Effort
		for _, e := range s.efforts[r.Item] {
			if r.Window.From == "" || e.EffortID.ID < r.Window.From {
				found = append(found, e)
			}
		}
		slices[i] = page.Fill(r.Window, found[:min(len(found), r.Window.Limit+1)], func(e Effort) string { return e.EffortID.ID })
	}
	return slices, make([]error, len(requests))
}

func (s *results) ListLabels(context.Context, []ID) ([][]Label, []error) {
	return [][]Label{{
		{LabelID: LabelID{Project: importProject, Kind: Category, ID: "c1"}, Name: "Animals"}, {LabelID: LabelID{Project: importProject, Kind: Subcategory, ID: "s1"}, Name: "=Cats"},
	}}, []error{nil}
}

func (s *results) ListTeams(context.Context, []ID) ([][]Team, []error) {
	return [][]Team{{{TeamID: TeamID{Project: importProject, ID: "t1"}, Name: "Blue"}}}, []error{nil}
}

// LabelsByID and TeamsByID know what is in no list any more: one that was merged, and a deleted team.
func (s *results) LabelsByID(_ context.Context, ids []LabelID) ([]Label, []error) {
	found, errs := make([]Label, len(ids)), make([]error, len(ids))
	for i, id := range ids {
		switch id.ID {
		case "merged":
			found[i] = Label{LabelID: id, Name: "Beasts", Into: "c1"}
		case "c1":
			found[i] = Label{LabelID: id, Name: "Animals"}
		default:
			errs[i] = notFound("category")
		}
	}
	return found, errs
}

func (s *results) TeamsByID(_ context.Context, ids []TeamID) ([]Team, []error) {
	found, errs := make([]Team, len(ids)), make([]error, len(ids))
	for i, id := range ids {
		if found[i] = (Team{TeamID: id, Name: "Former"}); id.ID != "former" {
			errs[i] = notFound("team")
		}
	}
	return found, errs
}

func (s *results) Open(context.Context, string, int64) (io.ReadCloser, error) {
	return nil, errors.New("an export opens nothing")
}

func (s *results) Delete(context.Context, string) error {
	return errors.New("an export deletes nothing")
}

func (s *results) Upload(_ context.Context, key, contentType string, write func(io.Writer) error) (int64, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return 0, err
	}
	text := key + " " + contentType + "\n" + b.String()
	s.file = &text
	return int64(b.Len()), nil
}

func newResults(items int) *results {
	s := &results{efforts: map[ItemID][]Effort{}, hidden: map[string]bool{}, current: Export{TransferID: TransferID{Project: importProject, ID: "e"}, Format: JSONLines, State: Queued, Version: 1}}
	for i := range items {
		id := fmt.Sprintf("x%05d", i)
		s.items = append(s.items, Item{ItemID: ItemIDOf(importProject, id), ExternalID: id, Name: "N", Status: New, Import: "i", Line: i + 1})
	}
	return s
}

func (s *results) exporter() Exporter {
	now := time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC)
	return Exporter{Store: s, Files: s, User: func(id UserID) string { return string(id) }, Names: s.names, Now: func() time.Time { now = now.Add(400 * time.Millisecond); return now }}
}

func (s *results) names(_ context.Context, ids []UserID) ([]string, error) {
	s.met = append(s.met, ids...)
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = map[UserID]string{"u1": "=Ada"}[id]
	}
	return names, s.namesErr
}

// finish makes the item a finished one, so many times over.
func (s *results) finish(at, times int) {
	item := &s.items[at]
	item.Status, item.Category, item.Subcategory, item.Keywords, item.Efforts = Finished, "c1", "s1", []string{"@x", "y"}, times
	for i := range times {
		e := Effort{EffortID: EffortID{Project: importProject, ID: fmt.Sprintf("%s-%05d", item.ExternalID, i)}, Item: item.ItemID.ID, User: "u1", Team: "t1",
			Category: "c1", Subcategory: "s1", Keywords: item.Keywords, FinishedAt: time.Date(2026, 1, 2, 3, 4, 5, i*1e6, time.UTC)}
		s.efforts[item.ItemID] = append([]Effort{e}, s.efforts[item.ItemID]...)
		item.LastEffort = e.EffortID.ID
	}
}

func TestTheEffortsOfItemsThatWereFinishedOnceAreReadTogether(t *testing.T) {
	s := newResults(100)
	for i := range 90 {
		s.finish(i, 1)
	}
	var b strings.Builder
	_, err := s.exporter().Write(t.Context(), &b, importProject, CSV, Finished, nil)
	require.NoError(t, err)
	assert.Equal(t, 90, strings.Count(b.String(), ",u1,'=Ada,Blue,2026-01-02T03:04:05Z,1,{}\n"))
	assert.Equal(t, 1, s.batches)
	assert.Zero(t, s.asked)

	s.items[3].LastEffort = "lost"
	_, err = s.exporter().Write(t.Context(), io.Discard, importProject, CSV, Finished, nil)
	assert.True(t, fault.Is(err, fault.NotFound), err)
}

func TestTheNameOfAUserIsReadOnce(t *testing.T) {
	s := newResults(2*page.Max + 1) // several pages
	for i := range s.items {
		s.finish(i, 1)
	}
	s.efforts[s.items[7].ItemID][0].User = "gone"
	var b strings.Builder
	_, err := s.exporter().Write(t.Context(), &b, importProject, CSV, "", nil)
	require.NoError(t, err)
	assert.ElementsMatch(t, []UserID{"u1", "gone"}, s.met)
	assert.Equal(t, 1, strings.Count(b.String(), ",gone,,Blue,"), "a user that does not exist has none")

	s.namesErr = errors.New("away")
	_, err = s.exporter().Write(t.Context(), io.Discard, importProject, CSV, "", nil)
	assert.ErrorIs(t, err, s.namesErr)
}

func TestAllEffortsOfAnItemAreRead(t *testing.T) {
	s := newResults(1)
	s.finish(0, 2*page.Max+1)
	var b strings.Builder
	_, err := s.exporter().Write(t.Context(), &b, importProject, CSV, "", nil)
	require.NoError(t, err)
	assert.Contains(t, b.String(), ",1001,{}\n")
}

func TestWhatWasTakenBackIsNoResult(t *testing.T) {
	s := newResults(3)
	for i := range s.items { // an item was finished once, twice and three times; each time the first finish was taken back
		s.finish(i, i+1)
		first := &s.efforts[s.items[i].ItemID][i]
		first.UndoneAt = first.FinishedAt.Add(time.Minute)
		s.items[i].Efforts--
	}
	s.items[0].Status, s.items[0].LastEffort = New, ""
	var b strings.Builder
	_, err := s.exporter().Write(t.Context(), &b, importProject, CSV, "", nil)
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	require.NoError(t, err)
	for i, row := range rows[1:] {
		assert.Equal(t, strconv.Itoa(i), row[12], row[0])
	}
}

func TestAnExportHoldsEachItemOnceAlsoWhenTheListLags(t *testing.T) {
	s := newResults(1_234)
	s.hidden = map[string]bool{"x00000": true, "x00700": true, "x01233": true}
	s.items[5].Import, s.items[5].Line = "", 0
	s.items[6].Import, s.items[6].Line = "", 0
	var b strings.Builder
	n, err := s.exporter().Write(t.Context(), &b, importProject, CSV, "", nil)
	require.NoError(t, err)
	assert.Equal(t, 1_234, n)
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	require.NoError(t, err)
	seen := map[string]int{}
	for _, row := range rows[1:] {
		seen[row[0]]++
	}
	assert.Len(t, seen, 1_234)
	assert.Len(t, rows, 1_235)
}

func (s *results) run(ctx context.Context, tries int) error {
	again, err := s.exporter().Run(ctx, task.Task{Kind: RunExport, ID: "e", Scope: string(importProject), Tries: tries})
	if !again.IsZero() {
		return errors.New("an export does not come back")
	}
	return err
}

func TestAnExportIsWrittenWithProgress(t *testing.T) {
	s := newResults(3*page.Max + 1)
	require.NoError(t, s.run(t.Context(), 0))
	assert.Equal(t, Done, s.current.State)
	assert.Equal(t, 1_501, s.current.Items)
	require.NotNil(t, s.file)
	head, body, _ := strings.Cut(*s.file, "\n")
	assert.Equal(t, ExportKey(s.current.TransferID)+" application/jsonl; charset=utf-8", head)
	assert.EqualValues(t, len(body), s.current.Bytes)
	assert.Equal(t, 1_501, strings.Count(body, "\n"))
	require.Greater(t, len(s.saves), 3)
	for i := range s.saves[1:] {
		assert.GreaterOrEqual(t, s.saves[i+1].Items, s.saves[i].Items)
	}
	file := s.file
	s.file = nil
	require.NoError(t, s.run(t.Context(), 1))
	assert.Nil(t, s.file, "one that is done is not done again")
	assert.NotNil(t, file)
}

func TestAnExportBeginsAgainAfterAnErrorAndHasNoFileBefore(t *testing.T) {
	s := newResults(10)
	s.listErr = fault.New(fault.Unavailable, "away")
	require.ErrorIs(t, s.run(t.Context(), 99), s.listErr)
	assert.Equal(t, Running, s.current.State)
	assert.Nil(t, s.file)
	s.listErr = errors.New("bug")
	require.ErrorIs(t, s.run(t.Context(), 1), s.listErr)
	require.NoError(t, s.run(t.Context(), triesOfFaults))
	assert.Equal(t, Failed, s.current.State)
	assert.NotEmpty(t, s.current.Message)

	s = newResults(10)
	s.current.Items = 7 // of a run that was lost
	require.NoError(t, s.run(t.Context(), 1))
	assert.Equal(t, 10, s.current.Items)
}

func TestAnExportThatWasCancelledHasNoFile(t *testing.T) {
	s := newResults(5 * page.Max)
	s.saving = func() {
		if len(s.saves) == 2 {
			s.current.State = Cancelled
			s.current.Version++
		}
	}
	require.NoError(t, s.run(t.Context(), 0))
	assert.Equal(t, Cancelled, s.current.State)
	assert.Nil(t, s.file)
}
