package demo

// What the scope holds: the catalogue of a music library, with people, works and ensembles that do not exist.
const scopeName = "Music library"

// scopeRoles are what the demo user's friends may do in the scope; people are numbers in the list of people.
var scopeRoles = map[int]string{1: "WRITER", 2: "READER", 3: "WRITER", 4: "READER"}

// plannedIndex is an index that is declared in the scope.
type plannedIndex struct {
	name, kind, key string
	path            []string
}

var indexes = []plannedIndex{
	{"works-by-year", "work", "NUMBER", []string{"year"}},
	{"people-by-instrument", "person", "STRING", []string{"instruments"}},
}

// musician is a person of the catalogue.
type musician struct {
	name        string
	born        int
	instruments []string
}

var musicians = []musician{
	{"Elsa Markgraf", 1801, []string{"piano", "organ"}},
	{"Tomás Ribera", 1834, []string{"cello"}},
	{"Ida Holm", 1858, []string{"violin", "viola"}},
	{"Kenji Arai", 1881, []string{"koto", "piano"}},
	{"Nadia Benali", 1902, []string{"oud", "violin"}},
	{"Pavel Dvorský", 1799, []string{"viola"}},
	{"Maud Ferrier", 1812, []string{"harp"}},
	{"Lucia Conti", 1826, []string{"voice"}},
	{"Anders Vik", 1840, []string{"violin"}},
	{"Grace Okoro", 1849, []string{"piano", "voice"}},
	{"Henri Lasserre", 1863, []string{"flute"}},
	{"Zofia Wilk", 1870, []string{"cello", "piano"}},
	{"Miguel Sosa", 1877, []string{"guitar"}},
	{"Ruth Adler", 1889, []string{"organ", "harpsichord"}},
	{"Yuki Mori", 1895, []string{"shamisen", "flute"}},
	{"Daniel Achieng", 1910, []string{"piano", "double bass"}},
	{"Vera Lindqvist", 1921, []string{"clarinet"}},
	{"Omar Haddad", 1933, []string{"oud", "voice"}},
}

// forms and moods make the titles of works.
var (
	forms = []string{"Trio", "Suite", "Songs", "Nocturne", "Quartet"}
	moods = []string{"of the harbour", "for two winters", "in a minor mood", "after an old dance", "without words", "for the island"}
)

var ensembles = []string{
	"Harbour Trio", "Quartet of the North Gate", "Canal Consort", "Island Players", "The Lamplighters", "Upper Town Band",
	"Lighthouse Duo", "Market Choir", "Ensemble Midsummer", "The Ropemakers", "Castle Strings", "Station Five",
}
