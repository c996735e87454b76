package admission_test

import (
	"context"
	"fmt"
	"time"

	"github.com/taggie/taggie/internal/httpapi/admission"
)

func ExampleAnswers_Messages() {
	answers := admission.NewAnswers(2<<20, time.Millisecond) // of which one caller may have half
	ada := answers.Messages("ada", 1<<20)
	sent, err := ada.Next(context.Background(), 1<<20)
	fmt.Println(err)
	_, err = ada.Next(context.Background(), 1<<10)
	fmt.Println(err)
	sent() // the first message is written
	_, err = ada.Next(context.Background(), 1<<10)
	fmt.Println(err)
	// Output:
	// <nil>
	// exhausted: too many bytes of answers are not taken yet: read those of yours, or ask for less at a time
	// <nil>
}
