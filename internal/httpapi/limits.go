package httpapi

import "github.com/taggie/taggie/internal/limit"

// Limits are those of what a connection carries, whatever it is about.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Requests in progress, including those that the client has reset", Of: "an HTTP/2 connection", Most: limit.Count(maxStreams), Then: "the next is reset; if four times as many resets are waiting, the connection is closed with `ENHANCE_YOUR_CALM`"},
		{What: "Size of the header, without what the protocol adds", Of: "a request", Most: limit.Bytes(maxHeader), Then: "431, or the connection is closed"},
	}
}
