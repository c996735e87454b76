package floor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/taggie/taggie/dynamo/keys"
)

func (s *server) profile(ctx context.Context, id string) (row, error) {
	found, err := s.store.batch(ctx, []rowKey{{keys.UserPK(id), keys.ProfileSK}}, Profiles)
	if err != nil {
		return row{}, err
	}
	if len(found) != 1 {
		return row{}, errors.New("no such user")
	}
	return found[0], nil
}

// self reads the caller and the rows of a span.
func (s *server) self(ctx context.Context, id string, of span, parts Parts, limit int) (row, []row, error) {
	self, err := s.profile(ctx, id)
	if err != nil {
		return row{}, nil, err
	}
	rows, err := s.store.query(ctx, of, parts, limit)
	return self, rows, err
}

func ownNotes(id string) span {
	low, high := keys.NoteRange(time.Time{}, time.Time{})
	return span{pk: keys.UserPK(id), low: low, high: high}
}

// notes is question 1: the user and 100 notes.
func (s *server) notes(ctx context.Context, out []byte, id string) ([]byte, error) {
	self, notes, err := s.self(ctx, id, ownNotes(id), Whole, s.pages.Own+1)
	if err != nil {
		return nil, err
	}
	out = append(appendProfile(out, &self), `,"notes":{"nodes":[`...)
	for i := range notes[:min(s.pages.Own, len(notes))] {
		n := &notes[i]
		out = append(appendNote(separate(out, i), n), '}')
	}
	return appendEnd(out, len(notes) > s.pages.Own), nil
}

// notesDetailed is question 2: the same with tags, owner, and the users with access.
func (s *server) notesDetailed(ctx context.Context, out []byte, id string) ([]byte, error) {
	self, notes, err := s.self(ctx, id, ownNotes(id), Whole, s.pages.Own+1)
	if err != nil {
		return nil, err
	}
	if len(notes) == 0 {
		return nil, errors.New("the user has no notes")
	}
	low, high, err := shareRange(notes)
	if err != nil {
		return nil, err
	}
	shares, err := s.store.query(ctx, span{index: "GSI1", pk: keys.OwnerPK(id), low: low, high: high}, Shares, 2000)
	if err != nil {
		return nil, err
	}
	people, err := s.people(ctx, shares)
	if err != nil {
		return nil, err
	}
	out = append(appendProfile(out, &self), `,"notes":{"nodes":[`...)
	for i := range notes[:min(s.pages.Own, len(notes))] {
		n := &notes[i]
		if out, err = appendTags(append(appendNote(separate(out, i), n), `,"tags":[`...), n.tags); err != nil {
			return nil, err
		}
		out = append(appendPerson(append(out, `],"owner":{`...), &self), `},"accessList":{"edges":[`...)
		// The shares of a note follow one another, because they are sorted by note.
		from := sort.Search(len(shares), func(i int) bool { return bytes.Compare(shares[i].note, n.note) >= 0 })
		for j := range shares[from:] {
			share := &shares[from+j]
			if !bytes.Equal(share.note, n.note) {
				break
			}
			out = append(append(separate(out, j), `{"permission":`...), share.permission...)
			out = append(appendPerson(append(out, `,"node":{`...), people[string(share.user)]), "}}"...)
		}
		out = append(out, "]}}"...)
	}
	return appendEnd(out, len(notes) > s.pages.Own), nil
}

// shareRange returns where the shares of some notes lie.
func shareRange(notes []row) (low, high string, err error) {
	first, last := notes[0].note, notes[0].note
	for i := range notes {
		if id := notes[i].note; bytes.Compare(id, first) < 0 {
			first = id
		} else if bytes.Compare(id, last) > 0 {
			last = id
		}
	}
	from, err := first.value()
	if err != nil {
		return "", "", err
	}
	to, err := last.value()
	low, high = keys.OwnerShareRange(from, to)
	return low, high, err
}

// people reads each user of the rows once.
func (s *server) people(ctx context.Context, of []row) (map[string]*row, error) {
	people := make(map[string]*row, len(of))
	var wanted []rowKey
	for i := range of {
		r := &of[i]
		if _, known := people[string(r.user)]; known {
			continue
		}
		id, err := r.user.value()
		if err != nil {
			return nil, err
		}
		people[string(r.user)] = r // one without a name, until it is read
		wanted = append(wanted, rowKey{keys.UserPK(id), keys.ProfileSK})
	}
	found, err := s.store.batch(ctx, wanted, Profiles)
	for i := range found {
		people[string(found[i].user)] = &found[i]
	}
	return people, err
}

// shared is question 3: 300 notes that others shared with the user, with their owners.
func (s *server) shared(ctx context.Context, out []byte, id string) ([]byte, error) {
	const behind = "\U0010FFFF" // sorts behind every id
	shares := span{pk: keys.UserPK(id), low: keys.SharedPrefix, high: keys.SharedPrefix + behind}
	self, received, err := s.self(ctx, id, shares, Shares, s.pages.Shared+1)
	if err != nil {
		return nil, err
	}
	wanted := make([]rowKey, len(received))
	for i := range received {
		note, err := received[i].note.value()
		if err != nil {
			return nil, err
		}
		wanted[i] = rowKey{keys.NotePK(note), keys.LocatorSK}
	}
	locators, err := s.store.batch(ctx, wanted, Locators)
	if err != nil {
		return nil, err
	}
	for i := range locators {
		if wanted[i], err = noteAt(&locators[i]); err != nil {
			return nil, err
		}
	}
	read, err := s.store.batch(ctx, wanted[:len(locators)], Whole)
	if err != nil {
		return nil, err
	}
	people, err := s.people(ctx, locators)
	if err != nil {
		return nil, err
	}
	notes := make(map[string]*row, len(read))
	for i := range read {
		notes[string(read[i].note)] = &read[i]
	}
	out = append(appendProfile(out, &self), `,"sharedNotes":{"nodes":[`...)
	for i := range received[:min(s.pages.Shared, len(received))] {
		n := notes[string(received[i].note)]
		if n == nil {
			return nil, fmt.Errorf("the note %s could not be read", received[i].note)
		}
		out = append(appendNote(separate(out, i), n), `,"owner":{`...)
		out = append(appendPerson(out, people[string(n.user)]), "}}"...)
	}
	return appendEnd(out, len(received) > s.pages.Shared), nil
}

// noteAt returns the key of the note that a locator is for.
func noteAt(locator *row) (rowKey, error) {
	owner, err := locator.user.value()
	if err != nil {
		return rowKey{}, err
	}
	due := locator.deadline.bare()
	if len(due) == 0 {
		due = []byte("~")
	}
	note, of := bytes.CutPrefix(locator.pk.bare(), []byte("NOTE#"))
	if !of {
		return rowKey{}, fmt.Errorf("%s is not a locator", locator.pk)
	}
	return rowKey{keys.UserPK(owner), "NOTE#" + string(due) + "#" + string(note)}, nil
}
