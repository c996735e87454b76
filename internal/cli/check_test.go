package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/blob"
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
	assert.Equal(t, `PROBLEM  notes "p" "s": a note cannot be read: it has format 2; to mend it, use the version of Taggie that wrote it`, found(newer))
	assert.Equal(t, `PROBLEM  notes "p" "s": a note cannot be read: it is torn; to mend it, let the program that wrote it write it again, or restore a backup that passes (`+"`taggie restore`"+`, or point-in-time recovery on AWS)`, found(errors.New("it is torn")))
}

// Every line names what mends it.
func TestEachLineOfACheckSaysWhatMendsIt(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := app.DataCheck{Leftovers: []blob.Listed{{Key: "left"}}, Further: 2, More: 3}
	for _, kind := range app.RowKinds() {
		assert.NotEmpty(t, kind.Mend, kind.Name)
		c.Misfits = append(c.Misfits, dynamo.Misfit{Kind: kind.Name, Lacks: []string{"something"}, Mends: []dynamo.Mend{kind.Mend}})
	}
	c.Misfits = append(c.Misfits, dynamo.Misfit{Err: errors.New("it is torn")}, dynamo.Misfit{Err: fault.Wrap(fault.Outdated, errors.New("it has format 2"), dynamo.MessageNewer)})
	require.Error(t, printCheck(&out, c, nil))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, len(app.RowKinds())+2+1+1+1+1)
	for _, line := range lines[:len(lines)-1] { // the last one counts
		_, step, _ := strings.Cut(line, "; to mend ")
		assert.Regexp(t, "^(it|them), [a-z]", step, line)
	}
}
