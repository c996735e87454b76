package edge

import (
	"sync"
	"time"
)

// buckets are those that one server keeps by itself.
type buckets struct {
	mu    sync.Mutex
	rate  Rate
	each  time.Duration // per unit
	empty map[string]time.Time
	paid  map[string]int // by operations under way
	sweep int            // as many buckets make it worth looking for empty ones
}

// fewBuckets are not worth looking through.
const fewBuckets = 1024

func newBuckets(rate Rate) buckets {
	return buckets{
		rate: rate, each: time.Second / time.Duration(rate.PerSecond),
		empty: make(map[string]time.Time), paid: make(map[string]int), sweep: fewBuckets,
	}
}

// charge is [Budget.Charge] without Redis.
func (b *buckets) charge(now time.Time, who, operation string, cost int) (left int, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, before := b.paid[operation]; before {
		return b.left(now, who), 0
	}
	if over := b.level(now, who) + cost - b.rate.Capacity; over > 0 {
		return b.left(now, who), time.Duration(over) * b.each
	}
	b.paid[operation] = cost
	b.take(now, who, cost)
	return b.left(now, who), 0
}

// settle ends an operation that was charged here, or says that it was not.
func (b *buckets) settle(now time.Time, who, operation string, cost int) (left int, was bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	paid, was := b.paid[operation]
	if !was {
		return 0, false
	}
	delete(b.paid, operation)
	b.take(now, who, cost-paid)
	return b.left(now, who), true
}

// end ends an operation that was charged elsewhere, where it can be told no more, or nowhere: here it costs what it has.
func (b *buckets) end(now time.Time, who string, cost int) (left int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(now, who, cost)
	return b.left(now, who)
}

// take fills a bucket, or empties it. The caller holds the mutex, as for what follows.
func (b *buckets) take(now time.Time, who string, cost int) {
	level := min(b.level(now, who)+cost, 2*b.rate.Capacity)
	if level <= 0 {
		delete(b.empty, who)
		return
	}
	b.empty[who] = now.Add(time.Duration(level) * b.each)
	if len(b.empty) < b.sweep {
		return
	}
	for who, at := range b.empty {
		if !now.Before(at) {
			delete(b.empty, who)
		}
	}
	b.sweep = max(fewBuckets, 2*len(b.empty))
}

func (b *buckets) level(now time.Time, who string) int {
	return int(max(b.empty[who].Sub(now), 0) / b.each)
}

func (b *buckets) left(now time.Time, who string) int { return b.rate.Capacity - b.level(now, who) }
