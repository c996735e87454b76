package httpapi

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/fault"
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
					return viewer.Viewer{}, fault.New(fault.Unauthenticated, "The token was revoked.")
				}
				revoked = true
				return signIn(ctx, i)
			}
		})
		th.stream(`subscription { ticks(source: "a") }`).refused(http.StatusUnauthorized, "UNAUTHENTICATED")
		revoked = false
		c := th.open()
		c.send(`{"type":"connection_init","payload":{"authorization":"Bearer ada"}}`)
		_, data, err := c.ws.Read(context.Background())
		if err == nil { // acknowledged a moment earlier
			assert.Contains(t, string(data), "connection_ack")
			_, _, err = c.ws.Read(context.Background())
		}
		assert.EqualValues(t, 4403, websocket.CloseStatus(err))
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
	})
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
