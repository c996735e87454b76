package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
)

// plannedProject is a project without its items and people.
type plannedProject struct {
	name, description                   string
	categories, subcategories, keywords []string
}

// townArchive is the project that the crew works on.
var townArchive = plannedProject{
	name: projectName, description: projectDescription,
	categories: names(subjects, func(s subject) string { return s.category }), subcategories: subcategories, keywords: suggestedKeywords,
}

func names[T any](all []T, name func(T) string) []string {
	found := make([]string, len(all))
	for i, one := range all {
		found[i] = name(one)
	}
	return found
}

// plannedItem is an item of the project, in the form of a line of the import.
type plannedItem struct {
	ExternalID string         `json:"externalId"`
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	URL        string         `json:"url"`
	Metadata   map[string]any `json:"metadata"`
}

// planItems returns the first items of the archive, always the same.
func planItems(count int) []plannedItem {
	items := make([]plannedItem, count)
	for i := range items {
		items[i] = planItem(i)
	}
	return items
}

func planItem(i int) plannedItem {
	id := fmt.Sprintf("archive-%05d", i+1)
	r, s := source(-1, i), subjects[subjectOf(id)]
	year := 1880 + r.IntN(60)
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

// finding is what somebody finds an item to be.
type finding struct {
	category, subcategory string // the latter may be ""
	keywords              []string
}

// subjectOf returns what an item shows, as a position in the subjects. It follows from the item's external id alone, also for items
// that others imported: which items one gets is the queue's choice.
func subjectOf(externalID string) int {
	return sourceOf("subject of " + externalID).IntN(len(subjects))
}

// findingOf returns what whoever looks at an item finds it to be.
func findingOf(externalID string) finding {
	r, s := sourceOf("finding of "+externalID), subjects[subjectOf(externalID)]
	f := finding{category: s.category}
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

// mistakeOf returns what somebody in a hurry takes an item for.
func mistakeOf(externalID string) finding {
	return finding{category: subjects[(subjectOf(externalID)+1)%len(subjects)].category}
}

// reviewOf returns what a reviewer says about an item that was found to be of a category.
func reviewOf(externalID, category string) (verdict, comment string) {
	r, right := sourceOf("review of "+externalID), findingOf(externalID).category
	if category != right {
		return "INCORRECT", fmt.Sprintf("%s %s, not %s.", pick(r, corrections), right, category)
	}
	return "CORRECT", pick(r, praises)
}

// plannedWork is what a person does in the project, in this order. What the person finds out follows from the items that the queue
// hands out.
type plannedWork struct {
	by       int // a number in the list of people
	finishes []plannedFinish
	skips    int
	reviewer int // who looks at the results
}

// plannedFinish is one item that a person finishes.
type plannedFinish struct{ mistaken, reviewed bool }

// reviews is how many results are looked at.
func (w plannedWork) reviews() int {
	n := 0
	for _, f := range w.finishes {
		if f.reviewed {
			n++
		}
	}
	return n
}

// steps is how many changes the work is.
func (w plannedWork) steps() int { return len(w.finishes) + w.skips + w.reviews() }

// Of how many items one is finished, or skipped since nobody can say what it is; and who does the latter.
const (
	everyFinished = 16
	everySkipped  = 50
	skipper       = 2
)

// planWork returns who does what in the project of a set, the same always. What a person does for a smaller set is the beginning of
// what the person does for a larger one.
func planWork(s size) []plannedWork {
	works := make([]plannedWork, s.people)
	for i := range works {
		works[i].by, works[i].reviewer = i, reviewerOf(i, s)
	}
	for k := range s.items / everyFinished {
		// Whoever finishes an item of the small set is in the small set.
		among := full.people - 1
		if k < small.items/everyFinished {
			among = small.people - 1
		}
		f := plannedFinish{mistaken: k%11 == 4}
		f.reviewed = f.mistaken || k%4 == 1
		by := 1 + k%among
		works[by].finishes = append(works[by].finishes, f)
	}
	works[skipper].skips = s.items / everySkipped
	return slices.DeleteFunc(works, func(w plannedWork) bool { return w.steps() == 0 })
}

// reviewerOf returns who looks at the results of a person: one of the reviewers, or the manager when no other one is in the set.
func reviewerOf(by int, s size) int {
	var may []int
	for _, i := range membersOf("REVIEWER") {
		if i != by && i < s.people {
			may = append(may, i)
		}
	}
	if len(may) == 0 {
		return 0
	}
	return may[by%len(may)]
}

// membersOf returns who is in the teams of a type.
func membersOf(kind string) []int {
	var all []int
	for _, t := range teams {
		if t.kind == kind {
			all = append(all, t.members...)
		}
	}
	return all
}
