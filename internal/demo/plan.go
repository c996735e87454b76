package demo

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// size says how much of the data a set holds. A smaller set is the beginning of a larger one.
type size struct {
	name      string    // what the marker calls the set
	people    int       // the demo user and those who follow
	own       int       // notes of the demo user, the marker not counted
	others    int       // notes of each of the others
	items     int       // items of the project
	scope     catalogue // entities of the scope
	scores    int
	postcards int
}

var (
	small = size{name: "small", people: 3, own: 29, others: 5, items: 100, scope: catalogue{people: 5, works: 5, ensembles: 2}, scores: 3, postcards: 12}
	full  = size{name: "full", people: 9, own: 1999, others: 40, items: 2000, scope: catalogue{people: 18, works: 30, ensembles: 12}, scores: 9, postcards: 60}
)

// sharedWithAda is how many notes the others share with the demo user in the full set.
const sharedWithAda = 300

// plannedNote is a note as it shall be in the end. People are numbers in the list of people.
type plannedNote struct {
	owner    int
	title    string // no two of an owner are the same
	content  string
	deadline time.Time // zero for none
	tags     []string
	updates  []string // later contents, each of which makes a version
	shares   []plannedShare
	deleted  bool
}

type plannedShare struct {
	with       int
	permission string
}

// steps is how many changes make the note.
func (n plannedNote) steps() int {
	steps := 1 + len(n.updates) + len(n.shares)
	if n.deleted {
		steps++
	}
	return steps
}

// plan returns the notes of a set, the same for the same day. The demo user's come in turn with those of the others, so
// that a set that was loaded half-way has something of everything.
func plan(day time.Time, s size) []plannedNote {
	var notes []plannedNote
	for owner := range s.people {
		count := s.others
		if owner == 0 {
			count = s.own
		}
		titles := map[string]bool{markerTitle: true}
		for i := range count {
			notes = append(notes, planNote(day, s, owner, i, titles))
		}
	}
	notes = append(notes, plannedNote{
		title: "Cancel the old phone contract", content: "Done by phone. This note was deleted: `undeleteNote` brings it back for 30 days.",
		tags: []string{"#done"}, deleted: true,
	})
	order := rand.New(rand.NewPCG(1, 1))
	order.Shuffle(len(notes), func(i, j int) { notes[i], notes[j] = notes[j], notes[i] })
	return notes
}

func planNote(day time.Time, s size, owner, i int, titles map[string]bool) plannedNote {
	r := source(owner, i)
	t := pickTopic(r)
	n := plannedNote{owner: owner, title: title(r, t, titles), content: content(r, t), deadline: deadline(r, day), tags: tags(r, t)}
	if i%9 == 4 {
		later := n.content
		for range 1 + r.IntN(3) {
			later += "\n\n" + pick(r, t.updates)
			n.updates = append(n.updates, later)
		}
	}
	for _, with := range readers(owner, i) {
		if with < s.people {
			permission := "VIEW"
			if (i+with)%3 == 0 {
				permission = "EDIT"
			}
			n.shares = append(n.shares, plannedShare{with: with, permission: permission})
		}
	}
	return n
}

// source returns a source of randomness that gives the same for the same note.
func source(owner, i int) *rand.Rand { return sourceOf(fmt.Sprintf("taggie demo %d %d", owner, i)) }

// sourceOf returns one that gives the same for the same text.
func sourceOf(text string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return rand.New(rand.NewPCG(h.Sum64(), 7))
}

// readers returns with whom the i-th note of an owner is shared.
func readers(owner, i int) []int {
	others := len(people) - 1
	var with []int
	if owner != 0 {
		share := sharedWithAda / others
		if owner <= sharedWithAda%others {
			share++
		}
		if i < share {
			with = append(with, 0)
		}
		if i%5 == 2 {
			with = append(with, 1+(owner+1)%others)
		}
		return with
	}
	if i%8 == 5 {
		for k := range 1 + (i/8)%5 {
			with = append(with, 1+(i/8+k)%others)
		}
	}
	return with
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func pickTopic(r *rand.Rand) topic {
	if r.IntN(12) == 0 {
		return japanese
	}
	return pick(r, topics)
}

// title returns one that the owner does not have yet, and takes it.
func title(r *rand.Rand, t topic, taken map[string]bool) string {
	for n := 1; ; n++ {
		title := pick(r, t.tasks)
		if qualifier := pick(r, t.qualifiers); n > 1 || r.IntN(3) > 0 {
			title += t.space + qualifier
		}
		if n > 20 {
			title += fmt.Sprintf(" (%d)", n-19)
		}
		if !taken[title] {
			taken[title] = true
			return title
		}
	}
}

func content(r *rand.Rand, t topic) string {
	var paragraphs []string
	for _, i := range r.Perm(len(t.details))[:1+r.IntN(3)] {
		paragraphs = append(paragraphs, t.details[i])
	}
	if r.IntN(4) == 0 {
		var list []string
		for _, i := range r.Perm(len(t.items))[:2+r.IntN(len(t.items)-2)] {
			list = append(list, "- [ ] "+t.items[i])
		}
		paragraphs = append(paragraphs, strings.Join(list, "\n"))
	}
	return strings.Join(paragraphs, "\n\n")
}

// deadline returns a quarter of an hour of a working day: one in two within a month of the day, others over years, and
// one in seven none.
func deadline(r *rand.Rand, day time.Time) time.Time {
	if r.IntN(7) == 0 {
		return time.Time{}
	}
	days := r.IntN(61) - 20
	if r.IntN(2) == 0 {
		days = r.IntN(2200) - 700
	}
	return day.AddDate(0, 0, days).Add(8*time.Hour + time.Duration(r.IntN(44))*15*time.Minute)
}

// tags returns up to four tags of the topic and up to two that go with anything.
func tags(r *rand.Rand, t topic) []string {
	var tags []string
	for _, i := range r.Perm(len(t.tags))[:r.IntN(min(4, len(t.tags))+1)] {
		tags = append(tags, t.tags[i])
	}
	for _, i := range r.Perm(len(anyTags))[:r.IntN(3)] {
		tags = append(tags, anyTags[i])
	}
	return tags
}
