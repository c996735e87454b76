package cli

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write deploy/terraform/stores.json anew")

func TestTerraformHasWhatTablesPrintPrints(t *testing.T) {
	const file = "../../deploy/terraform/stores.json"
	var printed bytes.Buffer
	require.NoError(t, TablesPrint{}.Run(&Terminal{Stdout: &printed}))
	if *update {
		require.NoError(t, os.WriteFile(file, printed.Bytes(), 0o644)) //nolint:gosec // as other sources
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(kept), printed.String(), "run: go test ./internal/cli -run Terraform -update")
	again := bytes.Buffer{}
	require.NoError(t, TablesPrint{}.Run(&Terminal{Stdout: &again, Environ: []string{"TAGGIE_TABLE_PREFIX=other_"}}))
	assert.Contains(t, again.String(), `"other_notes"`)
	assert.NotContains(t, again.String(), `"taggie_`)
}
