package users

import (
	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/user"
)

// Kinds are the kinds of rows of users.
func Kinds() []dynamo.RowKind {
	return []dynamo.RowKind{
		{Name: "a user", Table: dynamo.NotesTable, Is: func(k dynamo.Key) bool { return k.SK == keys.ProfileSK }, Needs: needsOfProfile},
		{Name: "the lock of an address", Table: dynamo.NotesTable, Is: func(k dynamo.Key) bool { return k.SK == keys.UniqueEmailsSK }, Needs: needsUser},
		{Name: "an identity", Table: dynamo.NotesTable, Is: dynamo.KeyBegins(keys.SubjectPrefix, keys.SubjectSK), Needs: needsUser},
	}
}

// needsOfProfile are those of a user. The lock of another program need not tell whose it is.
func needsOfProfile(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var u user.User
	if err := decodeUser(item, &u); err != nil || u.Email == "" {
		return nil, err
	}
	return []dynamo.Need{{What: "the lock of the address", Table: dynamo.NotesTable, Key: emailKey(user.FoldEmail(u.Email)), Holds: func(lock dynamo.Item) bool {
		id := dynamo.TextOf(lock, "user_id")
		return id == "" || id == string(u.ID)
	}}}, nil
}

// needsUser is the user whom a row names.
func needsUser(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	id := dynamo.TextOf(item, "user_id")
	if id == "" {
		return nil, nil
	}
	return []dynamo.Need{{What: "its user", Table: dynamo.NotesTable, Key: ProfileKey(user.ID(id))}}, nil
}
