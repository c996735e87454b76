package users

// What only the tests use.
var (
	DecodeUser = decodeUser
	ProfileRow = profileRow
)
