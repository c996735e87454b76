package demo

import "fmt"

// plannedScore is a score as it shall be in the end: its first annotations are there when the first snapshot is taken, the others
// only when the second one is.
type plannedScore struct {
	owner                      int
	title, description, access string
	pages                      []plannedPage
	annotations, added         []string
	snapshots                  [2]string
}

// plannedPage is a page of music that is drawn from a seed.
type plannedPage struct {
	name, label string
	seed        uint64
	tags        []string // that everybody sees who may read the page
	private     string   // that its owner sees alone
}

// steps is how many changes make the score: it is created, has pages, more annotations, and snapshots. Each page has tags.
func (s plannedScore) steps() int { return 3 + len(s.pages) + len(s.snapshots) }

// planScores returns the first scores, always the same: the demo user's, and one of each three somebody else's.
func planScores(count, people int) []plannedScore {
	scores := make([]plannedScore, count)
	for i := range scores {
		scores[i] = planScore(i, people)
	}
	return scores
}

func planScore(i, people int) plannedScore {
	r := sourceOf(fmt.Sprintf("taggie demo score %d", i))
	s := plannedScore{
		title:       scoreForms[i%len(scoreForms)] + " " + scoreKeys[i/len(scoreForms)%len(scoreKeys)],
		description: fmt.Sprintf("%s, for piano. From the estate of %s; the pages are drawn anew.", pick(r, movements), musicians[i%len(musicians)].name),
		access:      []string{"PRIVATE", "LIMITED", "PUBLIC"}[i%3],
		snapshots:   [2]string{"First reading", "After the rehearsal"},
	}
	if i%3 == 2 {
		s.owner = 1 + i/3%(people-1)
	}
	for page := range 2 + r.IntN(3) {
		p := plannedPage{name: fmt.Sprintf("page %d.png", page+1), label: roman[page], seed: uint64(100*i + page + 1), tags: []string{"piano", scoreForms[i%len(scoreForms)]}}
		if page == 0 {
			p.tags, p.private = append(p.tags, pick(r, movements), "ピアノ", "🎹"), "to practise"
		}
		s.pages = append(s.pages, p)
	}
	written := r.Perm(len(remarks))[:3+r.IntN(4)]
	for n, at := range written {
		if n < 2 {
			s.annotations = append(s.annotations, remarks[at])
		} else {
			s.added = append(s.added, remarks[at])
		}
	}
	return s
}

var roman = []string{"i", "ii", "iii", "iv"}
