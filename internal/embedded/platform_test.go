//go:build unix

package embedded

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// npmStandIn writes down how it was called. The package that it is told to get has the program that FAKE_PROGRAM names.
const npmStandIn = `#!/bin/sh
echo "$@" >called
if [ -n "$FAKE_PROGRAM" ]; then mkdir -p "$(dirname "$FAKE_PROGRAM")" && : >"$FAKE_PROGRAM"; fi
`

// installOn runs the script of `make engines` as on the platform, on a copy and without a registry.
func installOn(t *testing.T, system, processor, program string, environment ...string) (called, printed string, err error) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"install.mjs", "package.json", "package-lock.json"} {
		content, err := os.ReadFile(filepath.Join("../../embedded/dynamodb", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "npm"), []byte(npmStandIn), 0o700))
	command := exec.CommandContext(t.Context(), "node", "install.mjs", system, processor)
	command.Dir = dir
	command.Env = append([]string{"PATH=" + dir + ":" + os.Getenv("PATH"), "FAKE_PROGRAM=" + program}, environment...)
	out, err := command.CombinedOutput()
	words, _ := os.ReadFile(filepath.Join(dir, "called"))
	_, stamp := os.Stat(filepath.Join(dir, "node_modules", ".installed"))
	assert.Equal(t, err == nil && program != "", stamp == nil, "the stamp says that the program is there")
	return strings.TrimSpace(string(words)), string(out), err
}

func TestEachPlatformGetsItsProgram(t *testing.T) {
	t.Parallel()
	for platform, want := range map[[2]string]string{
		{"linux", "amd64"}:   "ci --os=linux --cpu=x64",
		{"linux", "arm64"}:   "install --no-save --no-package-lock @dynoxide/linux-arm64@1.2.1 --os=linux --cpu=arm64",
		{"darwin", "amd64"}:  "install --no-save --no-package-lock @dynoxide/darwin-x64@1.2.1 --os=darwin --cpu=x64",
		{"darwin", "arm64"}:  "install --no-save --no-package-lock @dynoxide/darwin-arm64@1.2.1 --os=darwin --cpu=arm64",
		{"windows", "amd64"}: "install --no-save --no-package-lock @dynoxide/win32-x64@1.2.1 --os=win32 --cpu=x64",
	} {
		system, processor := platform[0], platform[1]
		t.Run(system+"-"+processor, func(t *testing.T) {
			t.Parallel()
			program := "dynoxide"
			if system == "windows" {
				program += ".exe"
			}
			// Where the server looks for it.
			called, printed, err := installOn(t, system, processor, filepath.Join("node_modules/@dynoxide", npmPlatform(system, processor), program))
			require.NoError(t, err, "%s", printed)
			assert.True(t, strings.HasPrefix(called, want+" "), "npm %s", called)
		})
	}
}

func TestAPlatformWithoutAProgramIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	for name, platform := range map[string][2]string{
		"there is no package":   {"freebsd", "amd64"},
		"npm cannot get it":     {"darwin", "arm64"},
		"nor that of the tests": {"linux", "amd64"}, // npm ends well without an optional package
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, printed, err := installOn(t, platform[0], platform[1], "")
			require.Error(t, err)
			for _, want := range []string{npmPlatform(platform[0], platform[1]), "AWS_ENDPOINT_URL_DYNAMODB", "amazon/dynamodb-local", "tables apply"} {
				assert.Contains(t, printed, want)
			}
			for _, configured := range []string{"AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000", "TAGGIE_DYNAMODB=aws", "TAGGIE_ENGINE_DYNAMODB=/opt/dynoxide"} {
				_, printed, err := installOn(t, platform[0], platform[1], "", configured)
				require.NoError(t, err, "%s", printed)
				assert.Contains(t, printed, strings.Split(configured, "=")[0])
			}
		})
	}
}
