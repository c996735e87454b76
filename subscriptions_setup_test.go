package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	projectEvents = `subscription($p: ID!, $after: EventCursor, $types: [ProjectEventType!], $mine: Boolean! = false) {
		projectEvents(projectId: $p, after: $after, types: $types, mine: $mine) { __typename ...snapshot ...event ... on ProjectGap { message } } }` + messageFragments
	messageFragments = `
		fragment snapshot on ProjectSnapshot { cursor project { id name } queue { cursor queued size paused counts { ...counts } }
			claims { id claim { token user { id } } } statistics { team { id name } statistics { finished incorrect users { user { id name } finished incorrect } } } }
		fragment event on ProjectEvent { cursor type at status queued counts { ...counts } user { id name } author { id name } team { id name type }
			item { id name status version claim { token user { id } } category { name } subcategory { name } keywords } }
		fragment counts on ProjectItemCounts { total new claimed finished skipped remaining }`
)

// message is what a subscription brings: the first field of its data.
func (s *stream) message() *answer {
	s.t.Helper()
	r := s.next()
	require.Empty(s.t, r.Errors)
	text, err := json.Marshal(r.Data)
	require.NoError(s.t, err)
	for _, value := range r.Data {
		object, _ := value.(map[string]any)
		return &answer{t: s.t, body: string(text), Data: object}
	}
	require.Fail(s.t, "no data")
	return nil
}

// event is the next message, which has to be an event of this type.
func (s *stream) event(typ string) *answer {
	s.t.Helper()
	m := s.message()
	require.Equal(s.t, "ProjectEvent "+typ, fmt.Sprint(m.at("__typename"), " ", m.at("type")), "%s", m.body)
	require.NotEmpty(s.t, m.str("cursor"))
	require.WithinDuration(s.t, time.Now(), m.time("at"), patience)
	return m
}

// snapshot is the next message, which has to be one.
func (s *stream) snapshot() *answer {
	s.t.Helper()
	m := s.message()
	require.Equal(s.t, "ProjectSnapshot", m.at("__typename"), "%s", m.body)
	return m
}

// refused asserts that the subscription was refused, or ended, with an error of this code and field.
func (s *stream) refused(code, field string) {
	s.t.Helper()
	for {
		select {
		case r, open := <-s.results:
			if open && len(r.Errors) == 0 {
				require.Fail(s.t, "it was not refused", "%v", r.Data)
			}
			if open {
				(&answer{t: s.t, Errors: r.Errors}).fails(code, field)
				return
			}
			require.Error(s.t, s.err)
			_, text, _ := strings.Cut(s.err.Error(), "")
			assert.Contains(s.t, text, code)
			if field != "" {
				assert.Contains(s.t, text, `"`+field+`"`)
			}
			return
		case <-time.After(patience):
			require.Fail(s.t, "nothing came")
		}
	}
}

// listens begins to listen to the project.
func (l crew) listens(who *client, v vars) *stream {
	l.t.Helper()
	all := vars{"p": l.id}
	for name, value := range v {
		all[name] = value
	}
	return who.subscribe(projectEvents, all)
}
