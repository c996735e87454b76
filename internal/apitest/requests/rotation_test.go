package requests

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
)

// TestSecretsAreRotatedInThreeSteps follows docs/operating.md: at each step, some servers have made it and others have not.
func TestSecretsAreRotatedInThreeSteps(t *testing.T) {
	old, current := config.Secret(strings.Repeat("o", 32)), config.Secret(strings.Repeat("n", 32))
	prefix := "t" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
	as := func(secrets ...config.Secret) *apitest.Client {
		s := apitest.NewServer(t, func(c *config.Config) { c.TablePrefix, c.Secrets = prefix, secrets })
		return s.As("carol@example.com")
	}
	before := as(old)
	before.Server.User("carol@example.com").Notes(3)
	known, made, dropped := as(old, current), as(current, old), as(current)
	require.NotEmpty(t, before.Must("{ viewer { id } }", nil).Str("viewer.id"))
	require.Equal(t, before.Must("{ viewer { id } }", nil).Raw(), dropped.Must("{ viewer { id } }", nil).Raw(), "the same user and notes")

	step := func(sides ...*apitest.Client) {
		t.Helper()
		for _, from := range sides {
			for _, to := range sides {
				to.Must(notesAfter, apitest.Vars{"after": firstCursor(from)})
				to.Must(changesAfter, apitest.Vars{"after": lastChange(from)})
			}
		}
	}
	step(before, known)
	step(known, made)
	step(made, dropped)

	dropped.Do(notesAfter, apitest.Vars{"after": firstCursor(before)}).Fails(apitest.Invalid, "after")
	dropped.Do(changesAfter, apitest.Vars{"after": lastChange(before)}).Fails(apitest.Invalid, "after")
	before.Do(notesAfter, apitest.Vars{"after": firstCursor(made)}).Fails(apitest.Invalid, "after") // which is why the new one is made known first
}

const (
	notesAfter   = `query($after: Cursor) { viewer { notes(first: 2, after: $after) { nodes { id } } } }`
	changesAfter = `query($after: Cursor) { viewer { noteChanges(first: 2, after: $after) { pageInfo { endCursor } } } }`
)

// lastChange returns the cursor from which the client asks for further changes of its notes.
func lastChange(c *apitest.Client) string {
	c.T.Helper()
	return c.Must(changesAfter, nil).Str("viewer.noteChanges.pageInfo.endCursor")
}
