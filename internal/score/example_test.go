package score_test

import (
	"fmt"

	"github.com/taggie/taggie/internal/score"
)

func ExampleNewText() {
	fmt.Println(score.NewText(score.AnnotationText, "rit.").Hash)
	fmt.Println(score.NewText(score.DescriptionText, "rit.").Hash)
	// Output:
	// 9zKjBtWuyPdq2YzkP9t5+A==
	// PaJvAcqTFZw8P0pr94/mXg==
}
