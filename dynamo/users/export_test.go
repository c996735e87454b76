package users

// What only the tests use.
var (
	DecodeUser   = decodeUser
	ProfileParts = profileParts
	ProfileRow   = profileRow
)
