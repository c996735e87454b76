package demo

import "fmt"

// postcards is the project that has pictures to look at.
var postcards = plannedProject{
	name: postcardsName, description: postcardsDescription, keywords: postcardKeywords,
	categories:    names(scenes, func(s sight[scene]) string { return s.name }),
	subcategories: names(lights, func(l sight[light]) string { return l.name }),
}

// plannedPostcard is a picture of the second project.
type plannedPostcard struct {
	name string
	card postcard
}

// planPostcards returns the first postcards, always the same: each scene in turn, at each time of the day.
func planPostcards(count int) []plannedPostcard {
	cards := make([]plannedPostcard, count)
	for i := range cards {
		s := scenes[i%len(scenes)]
		r := sourceOf(fmt.Sprintf("taggie demo postcard %d", i))
		cards[i] = plannedPostcard{
			name: fmt.Sprintf("postcard %03d.png", i+1),
			card: postcard{seed: r.Uint64(), scene: s.what, light: lights[(i+i/len(scenes))%len(lights)].what},
		}
	}
	return cards
}
