package socket

import (
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/limit"
)

// Limits are those of what a socket carries.
func Limits() []limit.Limit {
	const message = "the socket is closed with 4400"
	return []limit.Limit{
		{What: "Size of operations under way, together, but for a single one", Of: "a socket", Most: limit.Bytes(request.MaxBody), Code: limit.Exhausted},
		{What: "Operations that are worked on at a time", Of: "a socket", Most: limit.Count(maxWorking), Then: "others wait"},
		{What: "Size of a message before `connection_ack`", Of: "a socket", Most: limit.Bytes(maxBeforeInit), Then: "the socket is closed with 1009"},
		{What: "Size of a message without a token", Of: "a socket", Most: limit.Bytes(admission.BulkyBody), Then: "the socket is closed with 1009"},
		{What: "Size of the id of an operation", Of: "a socket", Most: limit.Bytes(maxID), Then: message},
		{What: "Size of the payload of `ping` and `pong`", Of: "a socket", Most: limit.Bytes(maxPing), Then: message},
	}
}
