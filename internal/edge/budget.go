package edge

import (
	"context"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
)

// Rate is how much may be spent: Capacity at once, and Rate each second. Both are of some unit that the caller knows.
type Rate struct{ Capacity, PerSecond int }

// Budget is what each may spend, on all servers together: a leaky bucket in Redis. While Redis does not answer, each server
// keeps the buckets itself, so that nobody may spend without end, and nobody is refused because of Redis.
type Budget struct {
	asking
	name  string
	rate  Rate
	local buckets
}

// NewBudget returns a budget. Of the client and the clock it asks what [NewLimiter] does, and the clock measures the buckets
// that it keeps while Redis is away.
func NewBudget(r Redis, name string, rate Rate, now func() time.Time) *Budget {
	return &Budget{asking: asking{redis: r, now: now, patience: patience}, name: name, rate: rate, local: newBuckets(rate)}
}

// How long an operation that was paid for, or settled, is remembered: longer than it takes, and than a command may be on its way.
const (
	paidFor    = 2 * time.Minute
	settledFor = 10 * time.Second
)

// budgetKey is taggie:budget:<name>:{<who>}, and who is escaped, so that no name can end the hash tag.
func (r Redis) budgetKey(name, who string) string {
	return r.key("budget:" + name + ":{" + url.QueryEscape(who) + "}")
}

// paidKey is taggie:budget:<name>:{<who>}:<operation>, in the slot of the budget.
func (r Redis) paidKey(name, who, operation string) string {
	return r.budgetKey(name, who) + ":" + operation
}

// spend is a leaky bucket like that of allow, from which an operation takes what it costs: once when it begins, if that much is
// there, and once more when it ends, whatever is there, so that it has then taken what it really cost. Each of the two has its
// effect once, however often and in whichever order the commands come. A bucket can be overdrawn by its capacity at most.
//
// KEYS: 1 the bucket, 2 the operation. ARGV: 1 capacity, 2 units per second, 3 cost, 4 whether it ends (1 or 0), 5 and 6
// milliseconds for which it is remembered that the operation has paid and has ended. Returns: 1 when the cost was taken, or had
// been, else 0; what is left, below 0 when overdrawn; microseconds until the cost would be there.
var spend = redis.NewScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local capacity, each, cost, ends = tonumber(ARGV[1]), 1000000 / tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local full = capacity * each
local empty = tonumber(redis.call('GET', KEYS[1]) or now)
if empty < now then empty = now end
if empty > now + 2 * full then empty = now + 2 * full end
local paid = redis.call('GET', KEYS[2])
local taken, wait = 1, 0
if paid ~= 'ended' and (ends or not paid) then
  local after = empty + (cost - tonumber(paid or 0)) * each
  if not ends and after - now > full then
    taken, wait = 0, after - now - full
  else
    if after < now then after = now end
    if after > now + 2 * full then after = now + 2 * full end
    empty = after
    redis.call('SET', KEYS[1], string.format('%.0f', empty), 'PX', math.ceil((empty - now) / 1000) + 1)
    if ends then
      redis.call('SET', KEYS[2], 'ended', 'PX', ARGV[6])
    else
      redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[5])
    end
  end
end
return {taken, math.floor(capacity - (empty - now) / each), math.ceil(wait)}
`)

// Charge takes what an operation may cost from the budget of who, if that much is there. It returns what is left then, and
// otherwise how long it takes until it is there. Operations are told apart by their ids. Charging twice charges once.
func (b *Budget) Charge(ctx context.Context, who, operation string, cost int) (left int, wait time.Duration) {
	numbers, err := b.spend(ctx, who, operation, cost, 0)
	if err != nil {
		return b.local.charge(b.now(), who, operation, cost)
	}
	if numbers[0] == 1 {
		return int(numbers[1]), 0
	}
	return int(numbers[1]), max(time.Duration(numbers[2])*time.Microsecond, time.Microsecond)
}

// Settle ends an operation that has cost this much, whether it was charged before or not, and returns what is left.
func (b *Budget) Settle(ctx context.Context, who, operation string, cost int) (left int) {
	if left, was := b.local.settle(b.now(), who, operation, cost); was {
		return left
	}
	numbers, err := b.spend(ctx, who, operation, cost, 1)
	if err != nil {
		return b.local.end(b.now(), who, cost)
	}
	return int(numbers[1])
}

// spend goes on when the caller has gone: what is not told to Redis would be taken from a budget of this server's own. The budget's
// patience ends it.
func (b *Budget) spend(ctx context.Context, who, operation string, cost, ends int) ([]int64, error) {
	return b.run(context.WithoutCancel(ctx), "spend of a budget", spend, []string{b.redis.budgetKey(b.name, who), b.redis.paidKey(b.name, who, operation)},
		b.rate.Capacity, b.rate.PerSecond, cost, ends, paidFor.Milliseconds(), settledFor.Milliseconds())
}
