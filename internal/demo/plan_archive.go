package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
)

// plannedItem is an item of the project, in the form of a line of the import.
type plannedItem struct {
	ExternalID string         `json:"externalId"`
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	URL        string         `json:"url"`
	Metadata   map[string]any `json:"metadata"`

	finish *plannedFinish // nil for one that nobody has looked at yet
}

// plannedFinish is what somebody finds an item to be.
type plannedFinish struct {
	by                    int // a number in the list of people
	category, subcategory string
	keywords              []string
}

// everyFinished is of how many items one is finished.
const everyFinished = 16

// planItems returns the first items of the archive, always the same.
func planItems(count int) []plannedItem {
	items := make([]plannedItem, count)
	for i := range items {
		r := source(-1, i)
		s := pick(r, subjects)
		items[i] = planItem(r, s, i)
		if i%everyFinished == 5 {
			items[i].finish = planFinish(r, s, i)
		}
	}
	return items
}

func planItem(r *rand.Rand, s subject, i int) plannedItem {
	year := 1880 + r.IntN(60)
	id := fmt.Sprintf("archive-%05d", i+1)
	item := plannedItem{
		ExternalID: id,
		Name:       fmt.Sprintf("%s %s, %d", pick(r, s.names), pick(r, places), year),
		Metadata: map[string]any{
			"year": year, "box": 1 + i/40, "page": 1 + i%40,
			"size": map[string]any{"width": 90 + 10*r.IntN(12), "height": 60 + 10*r.IntN(12), "unit": "mm"},
		},
	}
	folder, extension := "photographs", ".jpg"
	item.Type = "image/jpeg"
	switch {
	case s.paper:
		folder, extension, item.Type = "papers", ".pdf", "application/pdf"
		item.Name = fmt.Sprintf("%s, from %s, %d", pick(r, s.names), pick(r, persons), year)
		item.Metadata["pages"] = 1 + r.IntN(12)
	case r.IntN(5) == 0:
		extension, item.Type = ".tiff", "image/tiff"
		fallthrough
	default:
		item.Metadata["photographer"] = pick(r, makers)
	}
	item.URL = "https://archive.example.com/" + path.Join(folder, id+extension)
	return item
}

func planFinish(r *rand.Rand, s subject, i int) *plannedFinish {
	// Whoever finishes an item of the small set is in the small set.
	among := len(people) - 1
	if i < small.items {
		among = small.people - 1
	}
	f := &plannedFinish{by: 1 + i/everyFinished%among, category: s.category}
	if r.IntN(5) > 0 {
		f.subcategory = pick(r, s.subcategories)
	}
	for _, k := range r.Perm(len(s.keywords))[:r.IntN(4)] {
		f.keywords = append(f.keywords, s.keywords[k])
	}
	if r.IntN(8) == 0 {
		f.keywords = append(f.keywords, "to be checked")
	}
	return f
}

// importFile returns the items as JSON Lines.
func importFile(items []plannedItem) ([]byte, error) {
	var file bytes.Buffer
	lines := json.NewEncoder(&file)
	for _, item := range items {
		if err := lines.Encode(item); err != nil {
			return nil, fmt.Errorf("write the file to import: %w", err)
		}
	}
	return file.Bytes(), nil
}
