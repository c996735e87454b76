package connection

import "github.com/taggie/taggie/internal/limit"

// Limits are those of sockets and event streams.
func Limits() []limit.Limit {
	const closed = "or 1013 on a socket"
	return []limit.Limit{
		{What: "Sockets and event streams", Of: "a server", Most: limit.Count(maxSockets), Code: limit.Exhausted, Then: "with the status 503"},
		{What: "Sockets and event streams", Of: "the bearer of a token, on a server", Most: limit.Count(maxPerUser), Code: limit.Exhausted, Then: closed},
		{What: "Sockets and event streams without a token", Of: "a network, on a server", Most: limit.Count(maxSockets / networkShare), Code: limit.Exhausted, Then: closed},
		{What: "Sockets and event streams without a token", Of: "a server", Most: limit.Count(maxSockets / anonymousShare), Code: limit.Exhausted, Then: closed},
		{What: "Sockets that have not signed in yet", Of: "a server", Most: limit.Count(maxSockets / newcomerShare), Then: "one of the network that has most of them is closed with 1013"},
		{What: "Operations under way", Of: "a socket", Most: limit.Count(maxOnSocket), Code: limit.Exhausted},
		{What: "Time to take what is ready", Of: "a socket or an event stream", Most: limit.Time(TakenTime), Then: "it is closed"},
	}
}
