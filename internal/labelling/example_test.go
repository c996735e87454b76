package labelling_test

import (
	"errors"
	"fmt"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// A finish that comes too late is an outcome, not a fault: it shows the item as it is, and gives back what was typed.
func ExampleLeaseLost() {
	finish := func() error { // as the service's Finish would
		return &labelling.LeaseLost{
			Current: project.Item{ExternalID: "owl.jpg", Status: project.Claimed, Claim: project.Claim{User: "grace"}},
			Input:   &labelling.Finish{Keywords: []string{"wing", "night"}},
		}
	}
	if lost, ok := errors.AsType[*labelling.LeaseLost](finish()); ok {
		fmt.Println(lost.Current.ExternalID, "is with", lost.Current.Claim.User)
		fmt.Println("not stored:", lost.Input.Keywords)
	}
	// Output:
	// owl.jpg is with grace
	// not stored: [wing night]
}
