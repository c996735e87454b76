package demo

// What the project is about: an archive whose photographs and papers nobody has described yet.
const (
	projectName        = "Town archive"
	projectDescription = "Photographs and papers from the attic of the town hall, all made up. Look at each one and say what it shows."
)

// subject is what an item can show: what it is called, and what somebody who looks at it finds it to be.
type subject struct {
	category      string
	subcategories []string
	keywords      []string
	names         []string
	paper         bool // a document rather than a photograph
}

// subjects have a category of the project each.
var subjects = []subject{
	{"Harbour and ships", []string{"Exterior", "Aerial view", "Vehicle"}, []string{"boat", "mast", "rope", "pier", "fog"}, []string{"Fishing boats", "The mail steamer", "Men mending nets", "The dry dock", "A barge with barrels"}, false},
	{"Streets and squares", []string{"Exterior", "Night", "Winter", "Vehicle"}, []string{"tram", "shop window", "lantern", "snow"}, []string{"Main street", "Tram stop", "The square after rain", "A lamplighter", "Carts at the corner"}, false},
	{"Portraits", []string{"Single person", "Hand-coloured", "Studio"}, []string{"hat", "uniform", "beard", "chair"}, []string{"A young woman", "Man with a hat", "The midwife", "An old sailor", "Girl with a cello"}, false},
	{"Families", []string{"Group", "Studio", "Child"}, []string{"children", "dog", "garden", "baby"}, []string{"Family in the garden", "Three sisters", "Grandparents with a child", "A wedding party", "Five brothers"}, false},
	{"Festivals", []string{"Group", "Exterior", "Night"}, []string{"flags", "costume", "fireworks", "brass band"}, []string{"Midsummer dance", "The brass band", "Children with lanterns", "Procession", "Opening of the fair"}, false},
	{"Work and craft", []string{"Interior", "Single person", "Group"}, []string{"tools", "apron", "workshop", "machine"}, []string{"The ropemaker", "At the printing press", "Bakers at night", "A violin maker", "The smithy"}, false},
	{"Schools", []string{"Group", "Interior", "Child"}, []string{"blackboard", "teacher", "slate", "choir"}, []string{"A class", "The school choir", "Gymnastics", "The science room", "First day of school"}, false},
	{"Markets", []string{"Exterior", "Group", "Animal"}, []string{"fish", "basket", "stall", "scales"}, []string{"Fish market", "The flower stalls", "A horse is sold", "Baskets of apples", "Market women"}, false},
	{"Landscapes", []string{"Exterior", "Aerial view", "Winter"}, []string{"lighthouse", "dunes", "ice", "mill"}, []string{"The lighthouse", "Dunes", "The frozen canal", "A windmill", "The island from the north"}, false},
	{"Buildings", []string{"Exterior", "Interior", "Damaged"}, []string{"scaffold", "tower", "stairs", "bell"}, []string{"The town hall", "Scaffold around the tower", "The organ", "A stairwell", "The old customs house"}, false},
	{"Letters", []string{"Handwritten", "Damaged", "With a seal"}, []string{"signature", "stamp", "ink", "family news"}, []string{"Letter to a sister", "Postcard from the coast", "Letter of thanks", "A complaint to the mayor", "Letter of recommendation"}, true},
	{"Registers", []string{"Handwritten", "Printed", "With a seal"}, []string{"numbers", "names", "harbour dues", "table"}, []string{"Harbour dues", "List of pupils", "Accounts of the choir", "Register of ships", "Inventory of instruments"}, true},
}

// subcategories are those of all subjects, and a few more.
var subcategories = []string{
	"Aerial view", "Animal", "Child", "Damaged", "Double exposure", "Exterior", "Group", "Hand-coloured", "Handwritten",
	"Interior", "Night", "Postcard", "Printed", "Retouched", "Single person", "Stereoscopic", "Studio", "Vehicle", "Winter",
	"With a seal",
}

var suggestedKeywords = []string{
	"boat", "pier", "snow", "tram", "hat", "uniform", "children", "dog", "flags", "brass band", "tools", "workshop", "choir",
	"blackboard", "basket", "fish", "lighthouse", "tower", "signature", "stamp", "numbers", "to be checked",
}

var (
	places  = []string{"at the old harbour", "below the castle", "at the north gate", "on the island", "by the canal", "in the upper town", "near the station", "behind the church"}
	makers  = []string{"A. Brandt", "Unknown", "Studio Hellström", "M. Okafor", "R. Vidal", "Studio Nowak", "Unknown", "T. Arai"}
	persons = []string{"a pilot's widow", "the harbour master", "a pupil", "the choirmaster", "an emigrant", "the town clerk"}
)

// What reviewers say: how a correction begins, and what may stand beside a correct result.
var (
	corrections = []string{"Look again: this is", "I think that this is", "Compare the neighbouring pages: this is"}
	praises     = []string{"", "", "", "Well seen.", "Good eye!"}
)

// plannedTeam is a team of the project. People are numbers in the list of people; the demo user is the manager.
type plannedTeam struct {
	name, kind string
	members    []int
}

var teams = []plannedTeam{
	{"Morning labellers", "TAGGIE", []int{1, 4, 6}},
	{"Evening labellers", "TAGGIE", []int{2, 5, 7}},
	{"Reviewers", "REVIEWER", []int{3, 8}},
}
