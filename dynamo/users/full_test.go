package users_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/user"
)

// Things of which every attribute is there.
var fullUser = user.User{ID: dynamotest.AUUID, Name: "Ada", Email: "ada@example.org", Version: 3, CreatedAt: dynamotest.FullTime, UpdatedAt: dynamotest.FullTime.Add(time.Second),
	Deletion: domain.Deletion{State: domain.Deleted, By: dynamotest.AUUID, At: dynamotest.FullTime, UndoUntil: dynamotest.FullTime.Add(time.Hour)}}

// What a row was written of is what is read from it, whatever it has.
func TestRowsOfUsersAreReadAsTheyWereWritten(t *testing.T) {
	dynamotest.Full(t, fullUser)
	assert.Equal(t, fullUser, dynamotest.Decoded(t, users.ProfileRow(fullUser), users.DecodeUser))
	assert.Equal(t, fullUser, dynamotest.SeenDecoded(t, users.ProfileParts, users.ProfileRow(fullUser), users.DecodeUser))
}

// BenchmarkDecodeUsers reads one row of each kind that is read in large numbers.
func BenchmarkDecodeUsers(b *testing.B) {
	dynamotest.Decoding(b, "User", users.ProfileRow(fullUser), users.DecodeUser)
}
