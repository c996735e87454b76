package httpapi

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/viewer"
)

func TestCloseUserEndsEventStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		const query = `subscription { ticks(source: "a") }`
		hers, other := th.stream(query).opened(), th.stream(query, "Authorization", "Bearer ada2").opened()
		th.sockets.CloseUser(adaID, time.Now())
		hers.cut("the token was revoked")
		th.sockets.CloseUser("", time.Now())
		th.play.source("a") <- 1
		assert.Contains(t, other.read(), `{"ticks": 1}`)
	})
}

// TestWhoIsRevokedMeanwhileIsNotLetIn revokes between the sign-in and the registration of a connection.
func TestWhoIsRevokedMeanwhileIsNotLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		revoked := false
		th := newTheatre(t, func(o *Options) {
			signIn := o.SignIn
			o.SignIn = func(ctx context.Context, i viewer.Identity) (viewer.Viewer, error) {
				if revoked {
					return viewer.Viewer{}, fault.New(fault.Unauthenticated, "the token was revoked")
				}
				revoked = true
				return signIn(ctx, i)
			}
		})
		for _, token := range []string{"ada", "ada2"} { // who is a user, and who becomes one meanwhile
			revoked = false
			th.stream(`subscription { ticks(source: "a") }`, "Authorization", "Bearer "+token).refused(http.StatusUnauthorized, "UNAUTHENTICATED")
			revoked = false
			c := th.open()
			c.send(`{"type":"connection_init","payload":{"authorization":"Bearer ` + token + `"}}`)
			assert.Equal(t, present.Revoked, c.closed(4403), "without an acknowledgement before")
			synctest.Wait()
		}
		assert.Zero(t, th.sockets.Open())
		th.isVacant()
	})
}

// TestWhoMayBeRevokedIsNotLetIn has the second look fail, or take for ever.
func TestWhoMayBeRevokedIsNotLetIn(t *testing.T) {
	for reason, fails := range map[string]func(context.Context) error{
		"the store is away":         func(context.Context) error { return fault.New(fault.Unavailable, "the store is away") },
		"nobody knows why":          func(context.Context) error { return errors.New("a secret") },
		"the store does not answer": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				second := false
				th := newTheatre(t, func(o *Options) {
					signIn := o.SignIn
					o.SignIn = func(ctx context.Context, i viewer.Identity) (viewer.Viewer, error) {
						if second {
							return viewer.Viewer{}, fails(ctx)
						}
						second = true
						return signIn(ctx, i)
					}
				})
				l := th.stream(`subscription { ticks(source: "a") }`)
				l.refused(http.StatusServiceUnavailable, "UNAVAILABLE")
				assert.Equal(t, "1", l.resp.Header.Get("Retry-After"))
				second = false
				c := th.open()
				c.send(`{"type":"connection_init","payload":{"authorization":"Bearer ada"}}`)
				assert.NotContains(t, c.closed(1013), "secret")
				synctest.Wait()
				assert.Zero(t, th.sockets.Open())
				th.isVacant()
				assert.Len(t, th.logged("sign-in unavailable"), 2)
			})
		})
	}
}

// TestOnlyOlderTokensAreRevoked has sockets of one user with tokens of different ages.
func TestOnlyOlderTokensAreRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		old := th.ready("brief")
		time.Sleep(2 * time.Second) // of the bubble's clock
		by := time.Now()
		time.Sleep(2 * time.Second)
		fresh := th.ready("brief")
		th.ready("ada2")
		assert.Equal(t, []viewer.UserID{adaID}, th.sockets.Users())
		th.sockets.CloseUser(adaID, by)
		old.closed(4403)
		fresh.send(`{"type":"ping"}`)
		fresh.expects(`{"type":"pong"}`)
	})
}
