package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/fault"
)

func TestACheckSaysWhyARowCannotBeRead(t *testing.T) {
	t.Parallel()
	found := func(err error) string {
		var out strings.Builder
		misfit := dynamo.Misfit{Table: "notes", Key: dynamo.Key{PK: "p", SK: "s"}, Kind: "a note", Err: err}
		require.ErrorContains(t, printCheck(&out, app.DataCheck{Rows: 1, Misfits: []dynamo.Misfit{misfit}}, nil), "1 rows lack something or cannot be read")
		line, _, _ := strings.Cut(out.String(), "\n")
		return line
	}
	newer := fault.Wrap(fault.Outdated, errors.New("it has format 2"), dynamo.MessageNewer)
	assert.Equal(t, `PROBLEM  notes "p" "s": a note cannot be read: it has format 2`, found(newer))
	assert.Equal(t, `PROBLEM  notes "p" "s": a note cannot be read: it is torn`, found(errors.New("it is torn")))
}
