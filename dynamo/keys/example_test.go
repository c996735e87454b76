package keys_test

import (
	"fmt"
	"time"

	"github.com/taggie/taggie/dynamo/keys"
)

func ExampleNoteSK() {
	fmt.Println(keys.UserPK("ada"), keys.NoteSK(time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC), "n1"))
	fmt.Println(keys.UserPK("ada"), keys.TagSK("c#", "n1"))
	// Output:
	// USER#ada NOTE#2026-12-24T18:00:00.000Z#n1
	// USER#ada TAG#c%23#NOTE#n1
}
