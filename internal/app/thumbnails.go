package app

import (
	"os"
	"runtime"

	"github.com/taggie/taggie/internal/score"
)

// thumbnails starts this program as one that decodes an image. The program is found as it was started: its file may be another by now.
func thumbnails() (score.Process, error) {
	program, err := os.Executable()
	if runtime.GOOS == "linux" {
		program, err = "/proc/self/exe", nil
	}
	return score.Process{Command: []string{program, "thumbnail"}}, err
}
