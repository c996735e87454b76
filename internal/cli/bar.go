package cli

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// newBar shows on a terminal how much is done; nobody knows how much there is.
func newBar(to io.Writer, what string, unit progressbar.Option) *progressbar.ProgressBar {
	shown := io.Discard
	if stderr, ok := to.(*os.File); ok && term.IsTerminal(int(stderr.Fd())) {
		shown = stderr
	}
	return progressbar.NewOptions64(-1, progressbar.OptionSetWriter(shown), progressbar.OptionSetDescription(what), unit,
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0)) // else it has a goroutine, which races with what is added
}
