// Package users keeps users, the locks of their addresses and their identities.
//
// It knows keys, rows and access patterns, and asks dynamo. It must not decide who may do what. Start reading at [Store].
package users

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/user"
)

// Store keeps users, the locks of their addresses and their identities.
type Store struct{ *dynamo.DB }

var _ user.Store = Store{}

// UsersByID reads profiles, those left out of users who are deleted.
//
// Index: primary. Key: PK = USER#<user_id> AND SK = PROFILE. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) UsersByID(ctx context.Context, ids []user.ID) ([]user.User, []error) {
	users, errs := db.profiles(ctx, ids, func(d domain.Deletion) bool { return d.State == "" })
	return users, dynamo.Missing(errs, noSuchUser)
}

// profiles reads those of the profiles whose deletion is one that is wanted. ErrMissing is the error of others.
func (db Store) profiles(ctx context.Context, ids []user.ID, wanted func(domain.Deletion) bool) ([]user.User, []error) {
	users := make([]user.User, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.NotesTable, Key: ProfileKey(id), Decode: func(item dynamo.Item) error { return decodeUser(item, &users[i]) }}
	}
	light := db.Projecting(dynamo.Projections{*db.Table(dynamo.NotesTable): profileParts})
	errs := light.BatchGet(ctx, wants)
	for i, u := range users {
		if errs[i] == nil && !wanted(u.Deletion) {
			users[i], errs[i] = user.User{}, dynamo.ErrMissing
		}
	}
	return users, errs
}

// profileParts is what is read of a profile: not the keys of an index, nor what it counts.
var profileParts = dynamo.Lightest([]string{dynamo.NotesTable.PK, dynamo.NotesTable.SK}, profileRows.Light())

// ProfileKey is the key of the profile of a user.
func ProfileKey(id user.ID) dynamo.Key {
	return dynamo.Key{PK: keys.UserPK(string(id)), SK: keys.ProfileSK}
}

// UserIDByEmail reads the lock of an address rather than GSI1, because an index lags behind. The lock of a deleted user says so.
//
// Index: primary. Key: PK = EMAIL#<email> AND SK = UNIQUE_EMAILS. Index: GSI1, eventually consistent, where the lock does not tell
// whose it is. Key: GSI1PK = EMAIL#<email> AND begins_with(GSI1SK, USER#). Cost: 1 GetItem, and then 1 Query.
func (db Store) UserIDByEmail(ctx context.Context, folded string) (user.ID, error) {
	id, err := db.userID(ctx, emailKey(folded))
	if err != nil || id != "" {
		return id, err
	}
	// The lock of another program need not tell whose it is.
	s := dynamo.Span{Table: dynamo.NotesTable, Index: dynamo.GSI1, PK: keys.EmailPK(folded), Limit: 1, Keys: true}
	s.Low, s.High = dynamo.Prefixed(keys.NoteOfUserPrefix)
	_, err = db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		key, err := dynamo.KeyOf(item, dynamo.NotesTable)
		id = user.ID(keys.Part(key.PK, 1))
		return false, err
	})
	if err == nil && id == "" {
		err = fault.New(fault.NotFound, noSuchUser)
	}
	return id, err
}

// UserIDBySubject reads which user signed up with an identity.
//
// Index: primary. Key: PK = SUBJECT#<issuer>#<subject> AND SK = USER. Cost: 1 GetItem.
func (db Store) UserIDBySubject(ctx context.Context, issuer, subject string) (user.ID, error) {
	return db.userID(ctx, dynamo.Key{PK: keys.SubjectPK(issuer, subject), SK: keys.SubjectSK})
}

func emailKey(folded string) dynamo.Key {
	return dynamo.Key{PK: keys.EmailPK(folded), SK: keys.UniqueEmailsSK}
}

func (db Store) userID(ctx context.Context, key dynamo.Key) (user.ID, error) {
	var id string
	deleted := false
	found, err := db.Get(ctx, dynamo.NotesTable, key, func(item dynamo.Item) error {
		return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
			switch string(name) {
			case "user_id":
				id, err = v.Str()
			case "deleted":
				deleted = true
			}
			return err
		})
	})
	if err == nil && (!found || deleted) {
		id, err = "", fault.New(fault.NotFound, noSuchUser)
	}
	return user.ID(id), err
}

// AccessByID reads since when users are revoked, and whether they are deleted.
//
// Index: primary. Key: PK = USER#<user_id> AND SK = REVOKED. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) AccessByID(ctx context.Context, ids []user.ID) ([]user.Access, []error) {
	accesses := make([]user.Access, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.NotesTable, Key: revokedKey(id), Decode: func(item dynamo.Item) error { return decodeAccess(item, &accesses[i]) }}
	}
	errs := db.BatchGet(ctx, wants)
	failed := false
	for i, err := range errs {
		if err == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			errs[i] = nil
		}
		failed = failed || errs[i] != nil
	}
	if !failed {
		return accesses, nil
	}
	return accesses, errs
}

func decodeAccess(item dynamo.Item, a *user.Access) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "revoked_at":
			a.Revoked, err = v.Instant()
		case "deletion":
			var state string
			state, err = v.Str()
			a.Deletion.State = domain.DeletionState(state)
		case "undo_until":
			a.Deletion.UndoUntil, err = v.Instant()
		}
		return err
	})
}

func revokedKey(id user.ID) dynamo.Key {
	return dynamo.Key{PK: keys.UserPK(string(id)), SK: keys.RevokedSK}
}

// RevokeUser puts since when a user is revoked. Of two revocations, the later one counts.
//
// Index: primary. Key: USER#<id>/REVOKED, on condition that USER#<id>/PROFILE is there and not deleted, and that no later revocation is there;
// REVOCATIONS#<day>/<instant>#<id>. Cost: 1 TransactWriteItems of 3 rows; another one of 1 row where a later revocation is there.
func (db Store) RevokeUser(ctx context.Context, id user.ID, at time.Time, once idempotency.Key) error {
	there := There(id, fault.New(fault.NotFound, noSuchUser))
	err := db.Transact(ctx, []dynamo.Action{
		there,
		{
			Table: dynamo.NotesTable, Item: accessRow(user.User{ID: id}, at), Condition: "attribute_not_exists(revoked_at) OR revoked_at <= :at",
			Values: dynamo.Attrs{":at": dynamo.Str(keys.Instant(at))}, Failed: func(dynamo.Attrs) error { return dynamo.ErrDone },
		},
		{Table: dynamo.NotesTable, Item: newsRow(id, at)},
	}, once)
	if errors.Is(err, dynamo.ErrDone) { // by a revocation that is later
		return db.Transact(ctx, []dynamo.Action{there}, once)
	}
	return err
}

// revocationsKept is for how long servers can follow what was revoked; a server that was away for longer reads the rows of its users.
const revocationsKept = 24 * time.Hour

// Revocations lists who was revoked lately.
//
// Index: primary. Key: PK = REVOCATIONS#<day> AND SK BETWEEN <from> AND <to>. Cost: 1 Query, 2 around midnight.
func (db Store) Revocations(ctx context.Context, from, to time.Time) ([]user.Revocation, error) {
	days := []string{keys.RevocationsPK(from)}
	if last := keys.RevocationsPK(to); last != days[0] {
		days = append(days, last)
	}
	var all []user.Revocation
	for _, day := range days {
		low, high := keys.RevocationSK(from, ""), keys.RevocationSK(to.Add(time.Millisecond), "")
		_, err := db.Query(ctx, dynamo.Span{Table: dynamo.NotesTable, PK: day, Low: low, High: high}, func(item dynamo.Item) (bool, error) {
			var one user.Revocation
			err := dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
				switch string(name) {
				case "user_id":
					var id string
					id, err = v.Str()
					one.User = user.ID(id)
				case "revoked_at":
					one.At, err = v.Instant()
				}
				return err
			})
			all = append(all, one)
			return true, err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// CreateUser puts profile, lock and subject.
//
// Index: primary. Key: USER#<id>/PROFILE, EMAIL#<email>/UNIQUE_EMAILS, SUBJECT#<issuer>#<subject>/USER, the latter two
// on condition that there is none. Cost: 1 TransactWriteItems of 3 rows.
func (db Store) CreateUser(ctx context.Context, u user.User, issuer, subject string, once idempotency.Key) error {
	subjectRow := dynamo.NotesTable.Key(dynamo.Key{PK: keys.SubjectPK(issuer, subject), SK: keys.SubjectSK})
	subjectRow["user_id"] = dynamo.Str(string(u.ID))
	return db.Transact(ctx, []dynamo.Action{
		{Table: dynamo.NotesTable, Item: subjectRow, Condition: "attribute_not_exists(PK)",
			Failed: func(row dynamo.Attrs) error { return &user.AlreadySignedUp{User: user.ID(dynamo.Text(row["user_id"]))} }},
		lockEmail(u),
		{Table: dynamo.NotesTable, Item: profileRow(u), Condition: "attribute_not_exists(PK)"},
	}, once)
}

func lockEmail(u user.User) dynamo.Action {
	row := dynamo.NotesTable.Key(emailKey(user.FoldEmail(u.Email)))
	row["user_id"] = dynamo.Str(string(u.ID))
	if u.Deletion.State != "" {
		row["deleted"] = dynamo.Number(1)
	} else {
		row["GSI1PK"], row["GSI1SK"] = dynamo.Str(keys.UsersPK), dynamo.Str(byEmail(u))
		row["GSI2PK"], row["GSI2SK"] = row["GSI1PK"], row["GSI1SK"]
	}
	return dynamo.Action{Table: dynamo.NotesTable, Item: row, Condition: "attribute_not_exists(PK) OR user_id = :self", Values: dynamo.Attrs{":self": dynamo.Str(string(u.ID))},
		Failed: func(dynamo.Attrs) error { return user.ErrEmailTaken }}
}

// UpdateUser changes the profile, and moves the lock when the address changes. What the profile counts stays. A user without entries gets them.
//
// Index: primary. Key: USER#<id>/PROFILE on condition of its version, EMAIL#<old>/… and EMAIL#<new>/UNIQUE_EMAILS.
// Cost: 1 TransactWriteItems of 1 or 3 rows; where the user has no entries and keeps the address, another one of 2 rows; one more of 1 row where the lock of
// the address is another user's.
func (db Store) UpdateUser(ctx context.Context, before, after user.User, once idempotency.Key) error {
	if before == after { // nothing to change, but a key to record
		return db.Transact(ctx, nil, once)
	}
	profile := changeProfile(before, after)
	if from, to := user.FoldEmail(before.Email), user.FoldEmail(after.Email); from != to {
		return db.Transact(ctx, []dynamo.Action{profile, lockEmail(after), {Table: dynamo.NotesTable, Key: emailKey(from), Remove: true}}, once)
	}
	indexed := profile
	indexed.Condition += " AND attribute_exists(GSI2SK)"
	indexed.Failed = func(row dynamo.Attrs) error {
		var current user.User
		if err := decodeUser(dynamo.ItemOf(row), &current); row != nil && row[dynamo.GSI2.SK] == nil && err == nil && current.Version == before.Version {
			return errWithoutEntries
		}
		return profile.Failed(row)
	}
	err := db.Transact(ctx, []dynamo.Action{indexed}, once)
	if errors.Is(err, errWithoutEntries) {
		err = db.Transact(ctx, []dynamo.Action{changeProfile(before, after), makeFound(after)}, once)
		if errors.Is(err, user.ErrEmailTaken) { // by rows of another program; the address is not what changes
			err = db.Transact(ctx, []dynamo.Action{changeProfile(before, after)}, once)
		}
	}
	return err
}

// changeProfile is the change of a profile, on condition that it is as before.
func changeProfile(before, after user.User) dynamo.Action {
	profile := dynamo.Action{Table: dynamo.NotesTable, Key: ProfileKey(after.ID),
		Failed: func(row dynamo.Attrs) error {
			var conflict user.VersionConflict
			if row == nil { // the user is gone
				return &conflict
			}
			if err := decodeUser(dynamo.ItemOf(row), &conflict.Current); err != nil {
				return err
			}
			return &conflict
		}}
	return profile.Setting(profileRow(after)).IfVersion(before.Version, "version")
}

// profile is a row of a user.
type profile struct {
	*user.User
	pk string
}

// profileRows are the attributes of users.
var profileRows = dynamo.LayoutOf(
	dynamo.OfText("PK", func(p *profile) *string { return &p.pk }),
	dynamo.IndexKey("SK", func(*profile) string { return keys.ProfileSK }),
	dynamo.IndexKey("GSI1PK", func(p *profile) string { return keys.EmailPK(user.FoldEmail(p.Email)) }),
	dynamo.IndexKey("GSI1SK", func(p *profile) string { return keys.NoteOfUserSK(string(p.ID)) }),
	dynamo.IndexKey("GSI2PK", func(p *profile) string { list, _ := listedBy(*p.User); return list }),
	dynamo.IndexKey("GSI2SK", func(p *profile) string { _, entry := listedBy(*p.User); return entry }),
	dynamo.OfText("user_id", func(p *profile) *user.ID { return &p.ID }),
	dynamo.OfText("name", func(p *profile) *string { return &p.Name }),
	dynamo.OfText("email", func(p *profile) *string { return &p.Email }),
	dynamo.OfWhole("version", func(p *profile) *int { return &p.Version }),
	dynamo.OfInstant("created_at", func(p *profile) *time.Time { return &p.CreatedAt }),
	dynamo.OfInstant("updated_at", func(p *profile) *time.Time { return &p.UpdatedAt }),
	dynamo.Optional(dynamo.OfText("deletion", func(p *profile) *domain.DeletionState { return &p.Deletion.State })),
	dynamo.Optional(dynamo.OfText("deleted_by", func(p *profile) *user.ID { return &p.Deletion.By })),
	dynamo.Optional(dynamo.OfInstant("deleted_at", func(p *profile) *time.Time { return &p.Deletion.At })),
	dynamo.Optional(dynamo.OfInstant("undo_until", func(p *profile) *time.Time { return &p.Deletion.UndoUntil })),
)

// listedBy returns in which list of GSI2 a user is, and under which key.
func listedBy(u user.User) (list, entry string) {
	if u.Deletion.State != "" {
		return keys.DeletedUsersPK, deletedSK(u)
	}
	return keys.UsersPK, byName(u)
}

func profileRow(u user.User) dynamo.Attrs { return profileRows.Row(&profile{&u, ProfileKey(u.ID).PK}) }

// CreatesOne lets a user, who must exist, create one thing more of which the profile counts so many: unknown when there is no such
// user, full when there are most.
func CreatesOne(id user.ID, what string, most int, unknown, full error) dynamo.Action {
	return CreatesOneOf(id, unknown, Count{what, most, full})
}

// Count is a number of things of a user that the profile counts: Full when there are Most.
type Count struct {
	What string
	Most int
	Full error
}

// CreatesOneOf is [CreatesOne] for a thing that several counts count. Of those that are full, the first one tells.
func CreatesOneOf(id user.ID, unknown error, counts ...Count) dynamo.Action {
	condition, updates := "attribute_exists(PK)", make([]string, len(counts))
	names, values := map[string]string{}, dynamo.Attrs{":one": dynamo.Number(1)}
	for i, c := range counts {
		name, most := fmt.Sprint("#what", i), fmt.Sprint(":most", i)
		names[name], values[most], updates[i] = c.What, dynamo.Number(int64(c.Most)), name+" :one"
		condition += " AND (attribute_not_exists(" + name + ") OR " + name + " < " + most + ")"
	}
	return dynamo.Action{
		Table: dynamo.NotesTable, Key: ProfileKey(id), Update: "ADD " + strings.Join(updates, ", "), Condition: condition, Names: names, Values: values,
		Failed: func(row dynamo.Attrs) error {
			if row == nil {
				return unknown
			}
			for _, c := range counts[:len(counts)-1] {
				if dynamo.Count(row[c.What]) >= c.Most {
					return c.Full
				}
			}
			return counts[len(counts)-1].Full
		},
	}
}

// CreatedOneLess takes back what [CreatesOne] or [CreatesOneOf] counted: none when there is no such user, or nothing is counted.
func CreatedOneLess(id user.ID, none error, whats ...string) dynamo.Action {
	conditions, updates, names := make([]string, len(whats)), make([]string, len(whats)), map[string]string{}
	for i, what := range whats {
		name := fmt.Sprint("#what", i)
		names[name], conditions[i], updates[i] = what, name+" > :none", name+" :less"
	}
	return dynamo.Action{
		Table: dynamo.NotesTable, Key: ProfileKey(id), Update: "ADD " + strings.Join(updates, ", "), Condition: strings.Join(conditions, " AND "), Names: names,
		Values: dynamo.Attrs{":less": dynamo.Number(-1), ":none": dynamo.Number(0)}, Failed: func(dynamo.Attrs) error { return none },
	}
}

func decodeUser(item dynamo.Item, u *user.User) error {
	p := profileRows.Take()
	defer profileRows.Give(p)
	p.User = u
	err := profileRows.Decode(item, p)
	if u.ID == "" {
		u.ID = user.ID(keys.Part(p.pk, 1))
	}
	u.Version = dynamo.VersionOr(u.Version)
	return err
}
