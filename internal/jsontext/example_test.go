package jsontext_test

import (
	"fmt"

	"github.com/taggie/taggie/internal/jsontext"
)

func ExampleLoneSurrogate() {
	text := []byte(`{"input": {"title": "half \ud83d"}}`)
	at := jsontext.LoneSurrogate(text)
	fmt.Println(at, jsontext.Path(text, at))
	// Output: 26 input.title
}
