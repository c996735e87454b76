package campaign_test

import (
	"fmt"
	"time"

	"github.com/taggie/taggie/internal/campaign"
)

func Example() {
	h := campaign.NewHistory(time.Now, nil)
	h.Did(campaign.Operation{Kind: campaign.Finish, User: "ada", Of: "item", Effort: "effort", Outcome: campaign.Acknowledged})
	stored := campaign.Stored{Items: []campaign.Item{{ID: "item", Status: "NEW", Version: 2}}}
	for _, v := range campaign.Check(h, stored, campaign.Promised) {
		fmt.Println(v)
	}
	// Output: what was acknowledged is stored: ada was told that item item is finished as effort effort, which is not there
}
