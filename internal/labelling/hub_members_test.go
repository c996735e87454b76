package labelling_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// TestMembershipsAreReadTogether has the last looks of many subscribers be old when something happens. One of them has left meanwhile.
func TestMembershipsAreReadTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t)
		defer s.hub.Close()
		var all []<-chan labelling.Told[string]
		for i := range 250 {
			user := project.UserID("member" + strconv.Itoa(i))
			s.truth.mu.Lock()
			s.truth.members[user] = project.Member{Project: s.p, User: user, Team: "t", Type: project.Taggie}
			s.truth.mu.Unlock()
			c := s.listen(t.Context(), user, labelling.Listen{})
			require.NotNil(t, next(t, c).Snapshot)
			all = append(all, c)
		}
		time.Sleep(time.Minute)
		s.truth.mu.Lock()
		before := s.truth.calls["ProjectsByID"]
		delete(s.truth.members, "member7")
		s.truth.mu.Unlock()
		began := time.Now()
		s.tape.note(labelling.Event{})
		for i, c := range all {
			if i == 7 {
				over(t, c)
				continue
			}
			m := next(t, c)
			assert.NotNil(t, m.Event)
			assert.Equal(t, project.UserID("member"+strconv.Itoa(i)), m.Project.Member.User)
			assert.False(t, m.Looked.Before(began), "it is known since then")
		}
		s.truth.mu.Lock()
		defer s.truth.mu.Unlock()
		assert.Equal(t, 3, s.truth.calls["ProjectAs"], "of at most 99 each")
		assert.Equal(t, before, s.truth.calls["ProjectsByID"])
	})
}
