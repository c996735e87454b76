package demo

// What the second project is about: pictures that are drawn, so that there is something to look at.
const (
	postcardsName        = "Postcards"
	postcardsDescription = "Postcards without a word on them, drawn anew. Look at each one and say what it shows."
	postcardsSet         = "Postcards"
)

// scenes have a category of the project each, lights a subcategory.
var (
	scenes = []sight[scene]{{sea, "By the sea"}, {mountains, "In the mountains"}, {town, "In town"}, {forest, "In the forest"}}
	lights = []sight[light]{{day, "At noon"}, {dusk, "At dusk"}, {night, "At night"}}
)

// sight is what a postcard can show, and what it is called.
type sight[T any] struct {
	what T
	name string
}

var postcardKeywords = []string{"sun", "moon", "stars", "sail", "lighthouse", "snow", "church", "windows", "fir trees"}
