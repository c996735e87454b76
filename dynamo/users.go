package dynamo

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/user"
)

// Users keeps users, the locks of their addresses and their identities.
type Users struct{ *DB }

var _ user.Store = Users{}

// UsersByID reads profiles.
//
// Index: primary. Key: PK = USER#<user_id> AND SK = PROFILE. Cost: ⌈n/100⌉ BatchGetItem.
func (db Users) UsersByID(ctx context.Context, ids []user.ID) ([]user.User, []error) {
	users := make([]user.User, len(ids))
	wants := make([]want, len(ids))
	for i, id := range ids {
		wants[i] = want{notesTable, profileKey(id), func(item []byte) error { return decodeUser(item, &users[i]) }}
	}
	return users, missing(db.batchGet(ctx, wants), "there is no such user")
}

// missing turns errMissing into NotFound, and a slice without any error into nil.
func missing(errs []error, text string) []error {
	failed := false
	for i, err := range errs {
		if err == errMissing { //nolint:errorlint // batchGet returns it bare
			errs[i] = fault.New(fault.NotFound, "%s", text)
		}
		failed = failed || err != nil
	}
	if !failed {
		return nil
	}
	return errs
}

func profileKey(id user.ID) rowKey { return rowKey{keys.UserPK(string(id)), keys.ProfileSK} }

// UserIDByEmail reads the lock of an address rather than GSI1, because an index lags behind.
//
// Index: primary. Key: PK = EMAIL#<email> AND SK = UNIQUE_EMAILS. Index: GSI1, eventually consistent, where the lock does not tell
// whose it is. Key: GSI1PK = EMAIL#<email> AND begins_with(GSI1SK, USER#). Cost: 1 GetItem, and then 1 Query.
func (db Users) UserIDByEmail(ctx context.Context, folded string) (user.ID, error) {
	id, err := db.userID(ctx, emailKey(folded))
	if err != nil || id != "" {
		return id, err
	}
	// The lock of another program need not tell whose it is.
	s := span{table: notesTable, index: gsi1, pk: keys.EmailPK(folded), limit: 1, keys: true}
	s.low, s.high = prefixed(keys.NoteOfUserPrefix)
	_, err = db.query(ctx, s, func(item []byte) (bool, error) {
		key, err := keyOf(item, notesTable)
		id = user.ID(keys.Part(key.PK, 1))
		return false, err
	})
	if err == nil && id == "" {
		err = fault.New(fault.NotFound, "there is no such user")
	}
	return id, err
}

// UserIDBySubject reads which user signed up with an identity.
//
// Index: primary. Key: PK = SUBJECT#<issuer>#<subject> AND SK = USER. Cost: 1 GetItem.
func (db Users) UserIDBySubject(ctx context.Context, issuer, subject string) (user.ID, error) {
	return db.userID(ctx, rowKey{keys.SubjectPK(issuer, subject), keys.SubjectSK})
}

func emailKey(folded string) rowKey { return rowKey{keys.EmailPK(folded), keys.UniqueEmailsSK} }

func (db Users) userID(ctx context.Context, key rowKey) (user.ID, error) {
	var id string
	found, err := db.get(ctx, notesTable, key, func(item []byte) error {
		return attributes(item, func(name []byte, v value) (err error) {
			if string(name) == "user_id" {
				id, err = v.str()
				return err
			}
			return v.skip()
		})
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, "there is no such user")
	}
	return user.ID(id), err
}

// RevokedByID reads since when users are revoked.
//
// Index: primary. Key: PK = USER#<user_id> AND SK = REVOKED. Cost: ⌈n/100⌉ BatchGetItem.
func (db Users) RevokedByID(ctx context.Context, ids []user.ID) ([]time.Time, []error) {
	times := make([]time.Time, len(ids))
	wants := make([]want, len(ids))
	for i, id := range ids {
		wants[i] = want{notesTable, revokedKey(id), func(item []byte) error {
			return attributes(item, func(name []byte, v value) (err error) {
				if string(name) == "revoked_at" {
					times[i], err = v.instant()
					return err
				}
				return v.skip()
			})
		}}
	}
	errs := db.batchGet(ctx, wants)
	failed := false
	for i, err := range errs {
		if err == errMissing { //nolint:errorlint // batchGet returns it bare
			errs[i] = nil
		}
		failed = failed || errs[i] != nil
	}
	if !failed {
		return times, nil
	}
	return times, errs
}

func revokedKey(id user.ID) rowKey { return rowKey{keys.UserPK(string(id)), keys.RevokedSK} }

// RevokeUser puts since when a user is revoked.
//
// Index: primary. Key: USER#<id>/REVOKED, on condition that USER#<id>/PROFILE is there; REVOCATIONS#<day>/<instant>#<id>.
// Cost: 1 TransactWriteItems of 3 rows.
func (db Users) RevokeUser(ctx context.Context, id user.ID, at time.Time, once idempotency.Key) error {
	row := notesTable.key(revokedKey(id))
	row["revoked_at"] = str(keys.Instant(at))
	news := notesTable.key(rowKey{keys.RevocationsPK(at), keys.RevocationSK(at, string(id))})
	news["user_id"], news["revoked_at"] = str(string(id)), str(keys.Instant(at))
	news["expires_at"] = number(at.Add(revocationsKept).Unix())
	return db.transact(ctx, []action{
		{table: notesTable, key: profileKey(id), condition: "attribute_exists(PK)", failed: func(attrs) error { return fault.New(fault.NotFound, "there is no such user") }},
		{table: notesTable, item: row},
		{table: notesTable, item: news},
	}, once)
}

// revocationsKept is for how long servers can follow what was revoked; a server that was away for longer reads the rows of its users.
const revocationsKept = 24 * time.Hour

// Revocations lists who was revoked lately.
//
// Index: primary. Key: PK = REVOCATIONS#<day> AND SK BETWEEN <from> AND <to>. Cost: 1 Query, 2 around midnight.
func (db Users) Revocations(ctx context.Context, from, to time.Time) ([]user.Revocation, error) {
	days := []string{keys.RevocationsPK(from)}
	if last := keys.RevocationsPK(to); last != days[0] {
		days = append(days, last)
	}
	var all []user.Revocation
	for _, day := range days {
		low, high := keys.RevocationSK(from, ""), keys.RevocationSK(to.Add(time.Millisecond), "")
		_, err := db.query(ctx, span{table: notesTable, pk: day, low: low, high: high}, func(item []byte) (bool, error) {
			var one user.Revocation
			err := attributes(item, func(name []byte, v value) (err error) {
				switch string(name) {
				case "user_id":
					var id string
					id, err = v.str()
					one.User = user.ID(id)
				case "revoked_at":
					one.At, err = v.instant()
				default:
					err = v.skip()
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
func (db Users) CreateUser(ctx context.Context, u user.User, issuer, subject string, once idempotency.Key) error {
	subjectRow := notesTable.key(rowKey{keys.SubjectPK(issuer, subject), keys.SubjectSK})
	subjectRow["user_id"] = str(string(u.ID))
	return db.transact(ctx, []action{
		{table: notesTable, item: subjectRow, condition: "attribute_not_exists(PK)",
			failed: func(row attrs) error { return &user.AlreadySignedUp{User: user.ID(text(row["user_id"]))} }},
		lockEmail(u),
		{table: notesTable, item: profileRow(u), condition: "attribute_not_exists(PK)"},
	}, once)
}

func lockEmail(u user.User) action {
	row := notesTable.key(emailKey(user.FoldEmail(u.Email)))
	row["user_id"] = str(string(u.ID))
	return action{table: notesTable, item: row, condition: "attribute_not_exists(PK) OR user_id = :self", values: attrs{":self": str(string(u.ID))},
		failed: func(attrs) error { return user.ErrEmailTaken }}
}

// UpdateUser changes the profile, and moves the lock when the address changes. What the profile counts stays.
//
// Index: primary. Key: USER#<id>/PROFILE on condition of its version, EMAIL#<old>/… and EMAIL#<new>/UNIQUE_EMAILS.
// Cost: 1 TransactWriteItems of 1 or 3 rows.
func (db Users) UpdateUser(ctx context.Context, before, after user.User, once idempotency.Key) error {
	profile := action{table: notesTable, key: profileKey(after.ID), signed: true, names: map[string]string{}, values: attrs{},
		failed: func(row attrs) error {
			var conflict user.VersionConflict
			if row == nil { // the user is gone
				return &conflict
			}
			if err := decodeUser(rowJSON(row), &conflict.Current); err != nil {
				return err
			}
			return &conflict
		}}
	var sets []string
	for name, of := range profileRow(after) {
		if name == "PK" || name == "SK" {
			continue
		}
		sets = append(sets, "#set_"+name+" = :set_"+name)
		profile.names["#set_"+name], profile.values[":set_"+name] = name, of
	}
	slices.Sort(sets)
	profile.update = "SET " + strings.Join(sets, ", ")
	profile = profile.ifVersion(before.Version, "version")
	if before == after { // nothing to change, but a key to record
		return db.transact(ctx, nil, once)
	}
	actions := []action{profile}
	if from, to := user.FoldEmail(before.Email), user.FoldEmail(after.Email); from != to {
		actions = append(actions, lockEmail(after), action{table: notesTable, key: emailKey(from), remove: true})
	}
	return db.transact(ctx, actions, once)
}

// profile is a row of a user.
type profile struct {
	*user.User
	pk string
}

// profileRows are the attributes of users.
var profileRows = layoutOf(
	ofText("PK", func(p *profile) *string { return &p.pk }),
	indexKey("SK", func(*profile) string { return keys.ProfileSK }),
	indexKey("GSI1PK", func(p *profile) string { return keys.EmailPK(user.FoldEmail(p.Email)) }),
	indexKey("GSI1SK", func(p *profile) string { return keys.NoteOfUserSK(string(p.ID)) }),
	ofText("user_id", func(p *profile) *user.ID { return &p.ID }),
	ofText("name", func(p *profile) *string { return &p.Name }),
	ofText("email", func(p *profile) *string { return &p.Email }),
	ofWhole("version", func(p *profile) *int { return &p.Version }),
	ofInstant("created_at", func(p *profile) *time.Time { return &p.CreatedAt }),
	ofInstant("updated_at", func(p *profile) *time.Time { return &p.UpdatedAt }),
)

func profileRow(u user.User) attrs { return profileRows.row(&profile{&u, profileKey(u.ID).PK}) }

// createsOne lets a user, who must exist, create one thing more of which the profile counts so many: unknown when there is no such
// user, full when there are most.
func createsOne(id user.ID, what string, most int, unknown, full error) action {
	return action{
		table: notesTable, key: profileKey(id), update: "ADD #what :one", condition: "attribute_exists(PK) AND (attribute_not_exists(#what) OR #what < :most)",
		names: map[string]string{"#what": what}, values: attrs{":one": number(1), ":most": number(int64(most))},
		failed: func(row attrs) error {
			if row == nil {
				return unknown
			}
			return full
		},
	}
}

func decodeUser(item []byte, u *user.User) error {
	p := profileRows.take()
	defer profileRows.give(p)
	p.User = u
	err := profileRows.decode(item, p)
	if u.ID == "" {
		u.ID = user.ID(keys.Part(p.pk, 1))
	}
	u.Version = versionOr(u.Version)
	return err
}

func text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
