package labelling

import (
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/internal/project"
)

// tally adds up what a project's queue is rebuilt from. It knows what it contains, so that nothing is added twice and everything can
// be taken out again; a million items take some 40 MB.
type tally struct {
	project  project.ID
	now      time.Time
	items    map[id]added
	efforts  map[id]counted // as they were added
	counts   map[project.Status]int
	imported map[string]*int // items of each import
	claims   map[string]project.Item
	returned map[string]project.Item
	teams    map[string]map[UserID]UserStatistics
	keywords map[string]int
	labels   []used           // the first is no label
	places   map[string]int32 // in it, by id
	toReview map[reviews]int
	gone     map[string]bool // items that are not there any more, with all that happened to them
	settled  []string
}

// added is an item as it was added.
type added struct {
	version int
	status  project.Status
	by      *int // is one less without it
}

// counted is an effort as it was added.
type counted struct {
	incorrect, toReview   bool
	category, subcategory int32 // places in the labels of the tally
}

// used is how many efforts have a label.
type used struct {
	id                        string
	categories, subcategories int
}

// reviews are the efforts to review of an author and a category.
type reviews struct {
	author   UserID
	category string
}

// id is an id of an item or effort: most are UUIDs, and are kept as such.
type id [16]byte

func idOf(text string) id {
	if u, err := uuid.Parse(text); err == nil {
		return id(u)
	}
	sum := sha256.Sum256([]byte(text))
	return id(sum[:16])
}

func newTally(p project.ID, now time.Time) *tally {
	return &tally{
		project: p, now: now, items: map[id]added{}, efforts: map[id]counted{}, counts: map[project.Status]int{}, imported: map[string]*int{},
		claims: map[string]project.Item{}, gone: map[string]bool{}, returned: map[string]project.Item{}, teams: map[string]map[UserID]UserStatistics{},
		keywords: map[string]int{}, toReview: map[reviews]int{}, labels: []used{{}}, places: map[string]int32{"": 0},
	}
}

// addItem adds an item unless it is there.
func (t *tally) addItem(i project.Item) {
	key := idOf(i.ID)
	if _, there := t.items[key]; there {
		return
	}
	by := t.imported[i.Import]
	if by == nil {
		by = new(int)
		t.imported[i.Import] = by
	}
	t.items[key] = added{version: i.Version, status: i.Status, by: by}
	t.counts[i.Status]++ // of what is removed nobody is told
	*by++                // whatever has become of it
	switch {
	case i.Status == project.Claimed:
		t.claims[i.ID] = i
	case i.Status == project.New && i.ReturnedTo != "" && t.now.Before(i.UpdatedAt.Add(Hold)):
		t.returned[i.ID] = i
	}
}

// addEffort adds an effort unless it is there. One that was undone, or whose item is removed, counts for nothing.
func (t *tally) addEffort(e project.Effort) {
	key := idOf(e.ID)
	if _, there := t.efforts[key]; there || !e.Counts() {
		return
	}
	t.efforts[key] = counted{
		incorrect: e.Review.Verdict == project.Incorrect, toReview: e.AwaitsReview(), category: t.place(e.Category), subcategory: t.place(e.Subcategory),
	}
	t.count(e, 1, t.efforts[key])
}

// place is where a label is in the labels of the tally; 0 is no label.
func (t *tally) place(label string) int32 {
	at, there := t.places[label]
	if !there {
		at = int32(len(t.labels)) //nolint:gosec // some hundred
		t.places[label], t.labels = at, append(t.labels, used{id: label})
	}
	return at
}

func (t *tally) count(e project.Effort, by int, as counted) {
	if t.teams[e.Team] == nil {
		t.teams[e.Team] = map[UserID]UserStatistics{}
	}
	u := t.teams[e.Team][e.User]
	u.User = e.User
	u.Finished += by
	if as.incorrect {
		u.Incorrect += by
	}
	if as.toReview {
		t.toReview[reviews{e.User, t.labels[as.category].id}] += by
	}
	t.teams[e.Team][e.User] = u
	for _, word := range e.Keywords {
		t.keywords[word] += by
	}
	t.labels[as.category].categories += by
	t.labels[as.subcategory].subcategories += by
}

// replace puts an item with all its efforts in the place of what is there of them; the zero Item only takes that out.
func (t *tally) replace(name string, i project.Item, efforts []project.Effort) {
	key := idOf(name)
	if was, there := t.items[key]; there {
		t.counts[was.status]--
		*was.by--
		delete(t.items, key)
		delete(t.claims, name)
		delete(t.returned, name)
	}
	if i.ID == "" {
		t.gone[name] = true
		return
	}
	t.addItem(i)
	for _, e := range efforts {
		// Of an effort that exists only its review and its labels change, and whether it was undone.
		if was, there := t.efforts[idOf(e.ID)]; there {
			t.count(e, -1, was)
			delete(t.efforts, idOf(e.ID))
		}
		t.addEffort(e)
	}
}

// applied notes which transitions are contained in what was added, and which claims have ended by it.
func (t *tally) applied(pending []Transition) {
	for _, p := range pending {
		item, there := t.items[idOf(p.Item)]
		if !there && !t.gone[p.Item] || p.Version > item.version && there {
			continue
		}
		t.settled = append(t.settled, p.ID)
		if p.Token != "" && p.Cause != Undone && t.claims[p.Item].Claim.Token != p.Token {
			t.settled = append(t.settled, p.Token)
		}
	}
}

// several is how many things one part holds at most: a script that takes long holds up everybody.
const several = 1000

// parts returns what was added up.
func (t *tally) parts(teams []project.Team) []Part {
	parts := []Part{{
		Counts: Counts{New: t.counts[project.New], Finished: t.counts[project.Finished], Skipped: t.counts[project.Skipped]},
	}}
	for _, team := range teams {
		parts[0].Statistics = append(parts[0].Statistics, Statistics{Team: team.ID, Type: team.Type})
	}
	room := 0
	next := func() *Part {
		if room == 0 {
			parts, room = append(parts, Part{Used: map[Words][]Used{}}), several
		}
		room--
		return &parts[len(parts)-1]
	}
	for id, n := range t.imported {
		if id == "" || *n == 0 {
			continue
		}
		p := next()
		if p.Imported == nil {
			p.Imported = map[string]int{}
		}
		p.Imported[id] = *n
	}
	for _, i := range t.claims {
		p := next()
		p.Claims = append(p.Claims, Claim{Item: i.ItemID, User: i.Claim.User, Token: i.Claim.Token, Since: i.Claim.Since, Until: i.Claim.Until})
	}
	for _, i := range t.returned {
		p := next()
		p.Returned = append(p.Returned, Returned{Item: i.ID, User: i.ReturnedTo, Until: i.UpdatedAt.Add(Hold)})
	}
	for team, users := range t.teams {
		for _, u := range users {
			if u.Finished == 0 && u.Incorrect == 0 {
				continue
			}
			p := next()
			p.Statistics = append(p.Statistics, Statistics{Team: team, Finished: u.Finished, Incorrect: u.Incorrect, Users: []UserStatistics{u}})
		}
	}
	for of, n := range t.toReview {
		if n != 0 {
			p := next()
			p.ToReview = append(p.ToReview, ToReview{Author: of.author, Category: of.category, Count: n})
		}
	}
	use := func(w Words, word string, n int) {
		if n != 0 {
			p := next()
			p.Used[w] = append(p.Used[w], Used{Value: word, Count: n})
		}
	}
	for word, n := range t.keywords {
		use(Keywords, word, n)
	}
	for _, l := range t.labels[1:] {
		use(Categories, l.id, l.categories)
		use(Subcategories, l.id, l.subcategories)
	}
	for _, id := range t.settled {
		p := next()
		p.Applied = append(p.Applied, id)
	}
	return parts
}
