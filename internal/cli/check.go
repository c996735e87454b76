package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/config"
)

// CheckCommand looks whether the data is whole.
type CheckCommand struct{}

// Help says what is read, and what is not.
func (CheckCommand) Help() string {
	return "It reads all rows and lists all objects, and says which do not fit together. It changes nothing. A server may be running. Queues and statistics are not read: `taggie rebuild` makes them from the rows."
}

// Run prints what does not fit together, one line each, and then how much was looked at. It fails when something does not fit.
func (CheckCommand) Run(ctx context.Context, t *Terminal) error {
	cfg, err := config.LoadStores(t.Environ)
	if err != nil {
		return err
	}
	cfg.Redis = config.Redis{Mode: config.RedisNone}
	s, err := app.OpenStores(ctx, cfg, app.StoresFor{Beside: true, Stderr: t.Stderr})
	if err != nil {
		return err
	}
	defer s.Close()
	bar := newBar(t.Stderr, "Looking at rows and objects", progressbar.OptionShowCount())
	c, err := s.CheckData(ctx, func(c app.DataCheck) { _ = bar.Set(c.Rows + c.Objects) })
	_ = bar.Finish()
	if err != nil {
		return fmt.Errorf("%w (does `taggie tables check` find all tables and the bucket?)", err)
	}
	return printCheck(t.Stdout, c)
}

func printCheck(w io.Writer, c app.DataCheck) error {
	for _, m := range c.Misfits {
		why := "lacks " + strings.Join(m.Lacks, ", and ")
		if m.Err != nil {
			why = "cannot be read: " + m.Err.Error()
		}
		_, _ = fmt.Fprintf(w, "PROBLEM  %s %q %q: %s %s\n", m.Table, m.Key.PK, m.Key.SK, m.Kind, why)
	}
	for _, o := range c.Leftovers {
		_, _ = fmt.Fprintf(w, "LEFT     %s: %d bytes of %s, of which no row tells\n", o.Key, o.Size, o.Modified.Format(time.RFC3339))
	}
	_, err := fmt.Fprintf(w, "Looked at %d rows and %d objects; %d rows need nothing, or are another program's.\n", c.Rows, c.Objects, c.Unknown)
	if err == nil && c.Tasks > 0 {
		_, err = fmt.Fprintln(w, "Some background work is due: what it is about may still be half done. Run this again when a server has done it.")
	}
	switch {
	case err != nil:
		return err
	case len(c.Misfits) > 0:
		return fmt.Errorf("%d rows lack something; docs/operating.md, \"Check the data\", says what mends them", len(c.Misfits))
	case len(c.Leftovers) > 0:
		return errors.New("all rows are whole; the objects above are left over and can be deleted (docs/operating.md, \"Check the data\")")
	}
	return nil
}
