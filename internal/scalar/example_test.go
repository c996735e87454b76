package scalar_test

import (
	"os"

	"github.com/taggie/taggie/internal/scalar"
)

func ExampleUnmarshalDateTime() {
	at, _ := scalar.UnmarshalDateTime("2026-11-20T17:00:00+09:00")
	scalar.MarshalDateTime(at).MarshalGQL(os.Stdout)
	// Output: "2026-11-20T08:00:00.000Z"
}
