package connection

import "github.com/coder/websocket"

// The codes that sockets are closed with, besides 1009 for a message that is too large. Clients by graphql-ws connect again
// after 1001, 1012, 1013, 4403 and 4408, and give up after the others.
const (
	CodeNoPong      = websocket.StatusGoingAway      // 1001: nothing came in time after a ping
	CodeProtocol    = websocket.StatusProtocolError  // 1002: no WebSocket frames
	CodeRestart     = websocket.StatusServiceRestart // 1012: the server shuts down
	CodeLater       = websocket.StatusTryAgainLater  // 1013: too many sockets, or the issuer or a store is away
	CodeBadMessage  = websocket.StatusCode(4400)
	CodeNoAck       = websocket.StatusCode(4401) // subscribe before connection_ack
	CodeForbidden   = websocket.StatusCode(4403) // no valid token, or not any more
	CodeSubprotocol = websocket.StatusCode(4406)
	CodeNoInit      = websocket.StatusCode(4408)
	CodeSameID      = websocket.StatusCode(4409)
	CodeSecondInit  = websocket.StatusCode(4429)
	CodeInternal    = websocket.StatusCode(4500)
)
