package edge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// What one user may add to the documents: these many at once, one more in each interval, none above so many bytes. Those of a
// week are 18 MB.
const (
	DocumentBurst = 100
	DocumentEvery = 10 * time.Minute
	MaxDocument   = 16 << 10
)

// documentKept is how long a document is kept after it was last asked for.
const documentKept = 7 * 24 * time.Hour

// Documents keeps documents by their hash, for all servers together, so that clients need to send each of them once.
type Documents struct {
	redis   Redis
	limiter *Limiter
}

// NewDocuments returns a store to which everybody may add what the limiter allows.
func NewDocuments(r Redis, limiter *Limiter) *Documents {
	return &Documents{redis: r, limiter: limiter}
}

// documentKey is taggie:document:<hash>.
func (r Redis) documentKey(hash string) string { return r.key("document:" + hash) }

// Find returns the document with this hash, if there is one, and keeps it for another week. An error means that Redis did not
// answer within a moment; for another moment there is then no document at all.
func (d *Documents) Find(ctx context.Context, hash string) (text string, found bool, err error) {
	if d.limiter.away() {
		return "", false, nil
	}
	bounded, cancel := context.WithTimeout(ctx, d.limiter.patience)
	defer cancel()
	text, err = d.redis.Client.GetEx(bounded, d.redis.documentKey(hash), documentKept).Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	if err != nil {
		if ctx.Err() == nil {
			d.limiter.leave()
		}
		return "", false, fmt.Errorf("find a document: %w", err)
	}
	return text, true, nil
}

// Put keeps a document for a week. It is false when the document is not kept, because it is above [MaxDocument], because who has put
// as many as the limiter allows, or because Redis did not answer a moment ago. A document that is there already counts for nobody.
func (d *Documents) Put(ctx context.Context, who, hash, text string) (bool, error) {
	if len(text) > MaxDocument {
		return false, nil
	}
	there, found, err := d.Find(ctx, hash)
	if err != nil || found && there == text {
		return found, err
	}
	ok, err := d.limiter.Allow(ctx, who)
	if errors.Is(err, ErrAway) {
		return false, nil
	}
	if !ok || err != nil {
		return false, err
	}
	bounded, cancel := context.WithTimeout(ctx, d.limiter.patience)
	defer cancel()
	if err := d.redis.Client.Set(bounded, d.redis.documentKey(hash), text, documentKept).Err(); err != nil {
		if ctx.Err() == nil {
			d.limiter.leave()
		}
		return false, fmt.Errorf("keep a document: %w", err)
	}
	return true, nil
}
