package filetag_test

import (
	"fmt"

	"github.com/taggie/taggie/internal/filetag"
)

// What is typed is searched in the form in which tags are compared.
func ExampleBegin() {
	for _, typed := range []string{"Prél", "ＰＲÉ", " "} {
		begin, err := filetag.Begin("beginsWith", typed)
		fmt.Printf("%q %v\n", begin, err)
	}
	// Output:
	// "prél" <nil>
	// "pré" <nil>
	// "" invalid: beginsWith: a search needs 1 character or more besides white space
}
