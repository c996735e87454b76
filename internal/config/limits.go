package config

import "github.com/taggie/taggie/internal/limit"

// Limits are those that are settings themselves, as they are when nothing is set.
func Limits() ([]limit.Limit, error) {
	c, err := Load(nil)
	if err != nil {
		return nil, err
	}
	return []limit.Limit{
		{What: "Cost of operations at once", Of: "a caller, on all servers", Most: limit.Count(c.CostBudget), Code: limit.Exhausted, Then: "with `retryAfter`", Set: "TAGGIE_COST_BUDGET"},
		{What: "Cost of operations each second, in the long run", Of: "a caller, on all servers", Most: limit.Count(c.CostRate), Code: limit.Exhausted, Then: "with `retryAfter`", Set: "TAGGIE_COST_RATE"},
		{What: "Operations in progress", Of: "a caller, on a server", Most: limit.Count(c.UserOperations), Then: "others wait", Set: "TAGGIE_USER_OPERATIONS"},
		{What: "Time", Of: "a query or mutation", Most: limit.Time(c.OperationTimeout), Code: limit.Unavailable, Set: "TAGGIE_OPERATION_TIMEOUT"},
		{What: "Time without Redis", Of: "a subscription", Most: limit.Time(c.StreamPatience), Then: "the socket is closed with 1013, an event stream ends without `complete`", Set: "TAGGIE_STREAM_PATIENCE"},
		{What: "Size of items, thumbnails and uploads in progress, together", Of: "a user", Most: limit.Bytes(c.ItemQuota), Code: "QuotaReached", Set: "TAGGIE_ITEM_QUOTA"},
	}, nil
}
