package resolvers

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
)

// Whatever an outcome came through on its way, and of whatever kind it is, a client reads its own sentence. Those that read further things for the client are left
// to the tests of the whole API.
func TestAProblemSaysItsOwnSentence(t *testing.T) {
	kinds := strings.Join([]string{fault.Invalid.String(), fault.NotFound.String(), fault.Conflict.String(), fault.Exhausted.String()}, "|")
	for name, outcome := range map[string]error{
		"a note":            &note.VersionConflict{},
		"a user":            &user.VersionConflict{},
		"nobody":            &note.UnknownUser{},
		"an address":        user.ErrEmailTaken,
		"tags":              note.ErrTooManyTags,
		"a scope":           &entity.ScopeConflict{},
		"an object":         &entity.UnknownObject{},
		"a member":          &entity.UnknownUser{},
		"an item of a user": &score.UnknownItem{},
		"a quota":           &score.QuotaReached{},
		"an upload":         &score.UploadRefused{Why: fault.Invalidf("input.itemId", "this is no image")},
		"a name":            score.ErrNameTaken,
		"snapshots":         score.ErrTooManySnapshots,
		"no upload":         score.ErrNotUploaded,
	} {
		t.Run(name, func(t *testing.T) {
			shown, err := mutation{}.problem(t.Context(), fmt.Errorf("change it: %w", outcome))
			require.NoError(t, err)
			require.NotNil(t, shown)
			message := reflect.ValueOf(shown).FieldByName("Message").String()
			assert.NotEmpty(t, message)
			assert.NotContains(t, message, "change it")
			assert.NotRegexp(t, `^(`+kinds+`): `, message)
		})
	}
}
