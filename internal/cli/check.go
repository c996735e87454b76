package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/fault"
)

// CheckCommand looks whether the data is whole.
type CheckCommand struct{}

// Help says what is read, and what is not.
func (CheckCommand) Help() string {
	return "It reads all rows and lists all objects, and says which do not fit together, and what mends them. It changes nothing. A server may be running. Queues and statistics are not read: `taggie rebuild` makes them from the rows."
}

// Run prints what does not fit together, one line each with what mends it, and then how much was looked at. It fails when something does not fit.
func (CheckCommand) Run(ctx context.Context, t *Terminal) error {
	return withStores(ctx, t, func(s *app.Stores) error {
		bar := newBar(t.Stderr, "Looking at rows and objects", progressbar.OptionShowCount())
		c, err := s.CheckData(ctx, func(c app.DataCheck) { _ = bar.Set(c.Rows + c.Objects) })
		_ = bar.Finish()
		return errors.Join(printCheck(t.Stdout, c, err), err)
	})
}

// reason is why a row cannot be read. What clients are told of a row of a later format is of no use here.
func reason(err error) string {
	if known, is := errors.AsType[*fault.Error](err); is && known.Kind == fault.Outdated && known.Cause != nil {
		return known.Cause.Error()
	}
	return err.Error()
}

// steps are what is to be done about a finding, one after another.
func steps(mends ...dynamo.Mend) string {
	all := make([]string, len(mends))
	for i, m := range mends {
		all[i] = string(m)
	}
	return strings.Join(all, "; and ")
}

// printCheck prints what was found, also if the check has ended early.
func printCheck(w io.Writer, c app.DataCheck, ended error) error {
	for _, m := range c.Misfits {
		why := "lacks " + strings.Join(m.Lacks, ", and ")
		if m.Err != nil {
			why = "cannot be read: " + reason(m.Err)
		}
		_, _ = fmt.Fprintf(w, "PROBLEM  %s %q %q: %s %s; to mend it, %s\n", m.Table, m.Key.PK, m.Key.SK, m.Kind, why, steps(m.ToMend()...))
	}
	for _, o := range c.Leftovers {
		_, _ = fmt.Fprintf(w, "LEFT     %s: no row points to it (%d bytes of %s); to mend it, %s\n", o.Key, o.Size, o.Modified.Format(time.RFC3339), steps(dynamo.Remove))
	}
	if c.Further > 0 {
		_, _ = fmt.Fprintf(w, "PROBLEM  %d more rows lack something; to mend them, %s\n", c.Further, steps(dynamo.Repeat))
	}
	if c.More > 0 {
		_, _ = fmt.Fprintf(w, "LEFT     %d more; to mend them, %s\n", c.More, steps(dynamo.Repeat))
	}
	_, err := fmt.Fprintf(w, "Looked at %d rows and %d objects. %d rows need nothing that is checked. %d objects are not Taggie's, and %d are too young to be left over.\n", c.Rows, c.Objects, c.Unknown, c.Others, c.Young)
	if err == nil && c.Working && len(c.Misfits) > 0 {
		_, err = fmt.Fprintln(w, "Background work is due, and may be half done. Let a server run for some minutes, then run this again before you mend anything.")
	}
	switch {
	case err != nil:
		return err
	case ended != nil:
		return errors.New("the check ended early; `taggie tables check` says whether all tables and the bucket are there")
	case len(c.Misfits) > 0:
		return fmt.Errorf("%d rows lack something or cannot be read; docs/operating.md, \"Check the data\", says what to do", len(c.Misfits)+c.Further)
	case len(c.Leftovers) > 0:
		return errors.New("all rows have what they need; docs/operating.md, \"Check the data\", says what to do with the objects above")
	}
	return nil
}
