package users

import (
	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/user"
)

// Kinds are the kinds of rows of users.
func Kinds() []dynamo.RowKind {
	return []dynamo.RowKind{
		{Name: "a user", Table: dynamo.NotesTable, Is: func(k dynamo.Key) bool { return k.SK == keys.ProfileSK }, Needs: needsOfProfile, Mend: dynamo.Restore},
		{Name: "the lock of an address", Table: dynamo.NotesTable, Is: func(k dynamo.Key) bool { return k.SK == keys.UniqueEmailsSK }, Needs: needsUser, Mend: dynamo.Restore},
		{Name: "an identity", Table: dynamo.NotesTable, Is: dynamo.KeyBegins(keys.SubjectPrefix, keys.SubjectSK), Needs: needsUser, Mend: dynamo.Restore},
		{Name: "that a user is deleted", Table: dynamo.NotesTable, Is: func(k dynamo.Key) bool { return k.SK == keys.RevokedSK }, Needs: needsOfAccess, Mend: dynamo.Restore},
	}
}

// needsOfProfile are those of a user. The lock of another program need not tell whose it is. For one who is deleted, it says so; and what tells those who sign in
// says the same of the deletion as the profile.
func needsOfProfile(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var u user.User
	if err := decodeUser(item, &u); err != nil || u.Email == "" {
		return nil, err
	}
	needs := []dynamo.Need{{What: "the lock of the address", Table: dynamo.NotesTable, Key: emailKey(user.FoldEmail(u.Email)), Holds: func(lock dynamo.Item) bool {
		id := dynamo.TextOf(lock, "user_id")
		return id == "" || id == string(u.ID)
	}}}
	if u.Deletion.State == "" {
		return needs, nil
	}
	return append(needs, dynamo.Need{What: "that the user is deleted, for those who sign in", Table: dynamo.NotesTable, Key: revokedKey(u.ID), Holds: func(row dynamo.Item) bool {
		var a user.Access
		err := decodeAccess(row, &a)
		return err == nil && a.Deletion.State == u.Deletion.State && a.Deletion.UndoUntil.Equal(u.Deletion.UndoUntil)
	}}), nil
}

// needsOfAccess is that the profile says the same: who is deleted for those who sign in is deleted.
func needsOfAccess(key dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var a user.Access
	if err := decodeAccess(item, &a); err != nil || a.Deletion.State == "" {
		return nil, err
	}
	return []dynamo.Need{{What: "a profile that says the same", Table: dynamo.NotesTable, Key: dynamo.Key{PK: key.PK, SK: keys.ProfileSK}, Holds: func(profile dynamo.Item) bool {
		var u user.User
		err := decodeUser(profile, &u)
		return err == nil && u.Deletion.State == a.Deletion.State
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
