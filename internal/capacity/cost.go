package capacity

import "time"

// Expense is what was consumed for some time.
type Expense struct {
	Usage Usage
	Redis *Slots
	CPU   time.Duration // of the servers
	Took  time.Duration
}

// Cost is what an operation costs, with all that follows of it in the background.
type Cost struct {
	Operation string
	Units     Units
	Calls     float64 // of DynamoDB
	CPU       time.Duration
	Redis     time.Duration
}

// CostOf returns what an operation costs that was carried out so many times, without what servers consume anyway.
func CostOf(operation string, times int, spent, idle Expense) Cost {
	each, by := 1/float64(max(times, 1)), spent.Took.Seconds()/idle.Took.Seconds()
	left := func(all, resting float64) float64 { return max(0, all-resting*by) * each }
	units, resting := spent.Usage.Total(), idle.Usage.Total()
	return Cost{
		Operation: operation,
		Units:     Units{left(units.Read, resting.Read), left(units.Write, resting.Write)},
		Calls:     left(float64(spent.Usage.AllCalls()), float64(idle.Usage.AllCalls())),
		CPU:       time.Duration(left(float64(spent.CPU), float64(idle.CPU))),
		Redis:     time.Duration(left(float64(spent.Redis.Total().Time), float64(idle.Redis.Total().Time))),
	}
}
