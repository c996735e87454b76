package demo

// What scores are made of: each combination gives a title that no other has.
var (
	scoreForms = []string{"Sonata", "Waltz", "Prelude", "Barcarole", "Fantasia"}
	scoreKeys  = []string{"in D minor", "in A-flat major", "in E minor", "in B-flat major"}
	movements  = []string{"Allegro moderato", "Andante cantabile", "Scherzo", "Presto"}
)

// remarks are what players write into scores.
var remarks = []string{
	"rit. poco a poco", "Do not rush: the left hand has the tune here.", "cresc. from here on, no accent on the first beat",
	"Turn the page early; the next line begins on the up-beat.", "2nd time only", "Breathe together before the repeat.",
	"senza pedale", "The slur is missing in the first print.", "ここはもっと静かに", "attacca 🎼",
}
