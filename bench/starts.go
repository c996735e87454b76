package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// mostStart is how long the first answer may take.
const mostStart = 250 * time.Millisecond

// measureStarts starts Taggie again and again as under `make run`, on the data of the demo, and prints how long the first answer
// to a query takes, from the start of the process, engines included.
func measureStarts(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "taggie-bench-starts-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s := starts{options: o, environment: []string{"TAGGIE_DATA=" + dir, "TAGGIE_LOG_LEVEL=warn", fmt.Sprint("GOMAXPROCS=", runtime.NumCPU())}}
	if err := s.prepare(ctx, dir); err != nil {
		return fmt.Errorf("prepare starts: %w", err)
	}
	all := make([]time.Duration, o.starts)
	for i := range all {
		if all[i], err = s.measure(ctx); err != nil {
			return err
		}
	}
	slices.Sort(all)
	verdict := "met"
	if all[(len(all)-1)/2] > mostStart {
		verdict = "missed"
	}
	fmt.Printf("\nFirst answer to a query after a start on existing data, engines included, of %d starts: median %.0f ms, %.0f to %.0f ms (target, at most %.0f ms: %s).\n",
		len(all), milliseconds(all[(len(all)-1)/2]), milliseconds(all[0]), milliseconds(all[len(all)-1]), milliseconds(mostStart), verdict)
	return nil
}

// starts starts a server on the same data.
type starts struct {
	options
	environment []string
	token       string
}

// prepare lets a server make the data, and signs a user up.
func (s *starts) prepare(ctx context.Context, dir string) error {
	p := process{name: nameTaggie, graphql: true}
	if err := p.start(ctx, s.environment, s.server, "serve"); err != nil {
		return err
	}
	defer p.stop()
	mint, err := tokens(dir)
	if err != nil {
		return err
	}
	if s.token, err = mint("starter@example.com"); err != nil {
		return err
	}
	_, err = (&api{url: p.url}).ask(ctx, s.token, `mutation { createUser(input: {name: "Starter", email: "starter@example.com"}) { user { id } } }`, nil)
	return err
}

// measure returns how long the first answer takes.
func (s *starts) measure(ctx context.Context) (time.Duration, error) {
	p := process{name: nameTaggie, graphql: true}
	began := time.Now()
	if err := p.spawn(s.environment, s.server, "serve"); err != nil {
		return 0, err
	}
	defer p.stop()
	client := &api{url: p.url}
	var took time.Duration
	var wrong error
	err := p.poll(ctx, time.Millisecond, func() bool {
		answer, err := client.ask(ctx, s.token, `{ viewer { name } }`, nil)
		took = time.Since(began)
		if err == nil && !strings.HasPrefix(answer.text("viewer", "name"), "Starter") {
			wrong = errors.New("the first answer is not that of the user")
		}
		return err == nil
	})
	return took, errors.Join(err, wrong)
}
