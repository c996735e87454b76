package httpapi

import (
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/lean"
	"github.com/taggie/taggie/internal/limit"
)

const (
	maxErrors = 20       // in one answer
	maxAnswer = 64 << 20 // bytes of the parts of an answer together; internal/lean bounds each while it is written
)

// Limits are those of requests, answers, sockets and event streams.
func Limits() []limit.Limit {
	const (
		closed  = "or 1013 on a socket"
		message = "the socket is closed with 4400"
	)
	return []limit.Limit{
		{What: "Size, all parts together", Of: "an answer", Most: limit.Bytes(min(maxAnswer, lean.MaxAnswer)), Code: limit.Exhausted},
		{What: "Errors that are told", Of: "an answer", Most: limit.Count(maxErrors), Then: "counted in `extensions.omittedErrors`"},
		{What: "Sockets and event streams", Of: "a server", Most: limit.Count(maxSockets), Code: limit.Exhausted, Then: "with the status 503"},
		{What: "Sockets and event streams", Of: "the bearer of a token, on a server", Most: limit.Count(maxPerUser), Code: limit.Exhausted, Then: closed},
		{What: "Sockets and event streams without a token", Of: "a network, on a server", Most: limit.Count(maxSockets / networkShare), Code: limit.Exhausted, Then: closed},
		{What: "Sockets and event streams without a token", Of: "a server", Most: limit.Count(maxSockets / anonymousShare), Code: limit.Exhausted, Then: closed},
		{What: "Sockets that have not signed in yet", Of: "a server", Most: limit.Count(maxSockets / newcomerShare), Then: "one of the network that has most of them is closed with 1013"},
		{What: "Operations under way", Of: "a socket", Most: limit.Count(maxOnSocket), Code: limit.Exhausted},
		{What: "Size of operations under way, together, but for a single one", Of: "a socket", Most: limit.Bytes(request.MaxBody), Code: limit.Exhausted},
		{What: "Operations that are worked on at a time", Of: "a socket", Most: limit.Count(maxWorking), Then: "others wait"},
		{What: "Size of a message before `connection_ack`", Of: "a socket", Most: limit.Bytes(maxBeforeInit), Then: "the socket is closed with 1009"},
		{What: "Size of a message without a token", Of: "a socket", Most: limit.Bytes(admission.BulkyBody), Then: "the socket is closed with 1009"},
		{What: "Size of the id of an operation", Of: "a socket", Most: limit.Bytes(maxID), Then: message},
		{What: "Size of the payload of `ping` and `pong`", Of: "a socket", Most: limit.Bytes(maxPing), Then: message},
		{What: "Time to take what is ready", Of: "a socket or an event stream", Most: limit.Time(standardPace.whole), Then: "it is closed"},
	}
}
