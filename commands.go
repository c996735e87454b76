package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/demo"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
)

type versionCommand struct{}

func (versionCommand) Run(t *terminal) error {
	_, err := fmt.Fprintln(t.stdout, buildVersion())
	return err
}

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// pictureCommand decodes an image for the server, which starts it.
type pictureCommand struct {
	Args []string `arg:"" optional:""`
}

// thumbnails starts this program as one that decodes an image. The program is found as it was started: its file may be another by now.
func thumbnails() (score.Process, error) {
	program, err := os.Executable()
	if runtime.GOOS == "linux" {
		program, err = "/proc/self/exe", nil
	}
	return score.Process{Command: []string{program, "thumbnail"}}, err
}

func (c pictureCommand) Run(t *terminal) error {
	return score.RenderStandardInput(c.Args, os.Stdin, t.stdout)
}

type tokenCommand struct {
	Email   string        `required:"" help:"Address of the bearer."`
	Name    string        `help:"Name of the bearer."`
	Subject string        `help:"Identity of the bearer; derived from the address when left out."`
	Admin   bool          `help:"Give the bearer the admin role."`
	TTL     time.Duration `default:"24h" help:"How long the token is valid."`
}

func (c tokenCommand) Run(t *terminal) error {
	if _, err := user.ParseEmail(c.Email); err != nil { // nobody could sign up with it
		return errors.New("--email takes an address such as ada@example.com")
	}
	cfg, err := config.Load(t.environ)
	if err != nil {
		return err
	}
	if !cfg.LocalIssuer() {
		return errors.New("there is no embedded issuer: TAGGIE_OIDC_ISSUER or TAGGIE_JWT_KEY is set, so tokens come from there")
	}
	if _, err := os.Stat(filepath.Join(cfg.Data, secretFile)); errors.Is(err, fs.ErrNotExist) {
		_, _ = fmt.Fprintf(t.stderr, "taggie: no server has used %s yet; the token is for the one that will. Is TAGGIE_DATA right?\n", cfg.Data)
	}
	local, err := localIssuer(cfg)
	if err != nil {
		return err
	}
	token, err := local.Mint(person(c.Email, c.Name, c.Subject, c.Admin), c.TTL)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(t.stdout, token)
	return err
}

type tablesCommand struct {
	Apply tablesApply `cmd:"" help:"Make what is missing; safe to run again."`
	Check tablesCheck `cmd:"" help:"Say what is missing or different, and change nothing."`
}

type tablesApply struct{}

func (tablesApply) Run(ctx context.Context, t *terminal) error {
	return withStores(ctx, t, func(s *stores) error {
		return allRight(t.stdout, "a table or bucket that exists keeps its keys and indexes: make it anew, or use another name",
			func(say report) error { return s.apply(ctx, say) })
	})
}

type tablesCheck struct{}

func (tablesCheck) Run(ctx context.Context, t *terminal) error {
	return withStores(ctx, t, func(s *stores) error {
		return allRight(t.stdout, "`taggie tables apply` makes what is missing", func(say report) error { return s.check(ctx, say) })
	})
}

// allRight prints what is reported, and fails when something of it is not right.
func allRight(w io.Writer, advice string, do func(report) error) error {
	wrong, say := 0, printer(w)
	err := do(func(what, text string, ok bool) {
		if !ok {
			wrong++
		}
		say(what, text, ok)
	})
	if err == nil && wrong > 0 {
		err = fmt.Errorf("%d of the above are not right; %s", wrong, advice)
	}
	return err
}

func printer(w io.Writer) report {
	return func(what, text string, ok bool) {
		mark := "ok     "
		if !ok {
			mark = "PROBLEM"
		}
		_, _ = fmt.Fprintf(w, "%s  %s: %s\n", mark, what, text)
	}
}

// withStores opens the stores for a command that is not the server.
func withStores(ctx context.Context, t *terminal, do func(*stores) error) error {
	cfg, err := config.LoadStores(t.environ)
	if err != nil {
		return err
	}
	cfg.Redis = config.Redis{Mode: config.RedisNone} // commands need none
	s, err := openStores(ctx, cfg, storesFor{beside: true, stderr: t.stderr})
	if err != nil {
		return err
	}
	defer s.close()
	return do(s)
}

type demoCommand struct {
	URL    string        `help:"Where the server listens; from TAGGIE_ADDR when left out."`
	NoCrew bool          `name:"no-crew" help:"Only load the data."`
	Crew   int           `default:"6" help:"How many labellers are at work."`
	For    time.Duration `default:"15m" help:"How long they work; 0 for until nothing is left."`
	Pace   time.Duration `default:"4s" help:"How long one of them looks at an item on average."`
}

// Run loads the full demo set into the running server, and has a crew label it.
func (c demoCommand) Run(ctx context.Context, t *terminal) error {
	if !c.NoCrew && (c.Crew < 1 || c.For < 0 || c.Pace < 0) {
		return errors.New("--crew takes 1 or more, --for and --pace no less than 0; --no-crew only loads the data")
	}
	cfg, err := config.Load(t.environ)
	if err != nil {
		return err
	}
	if !cfg.LocalIssuer() {
		return errors.New("the demo data needs the embedded issuer: TAGGIE_OIDC_ISSUER or TAGGIE_JWT_KEY is set")
	}
	local, err := localIssuer(cfg)
	if err != nil {
		return err
	}
	url := c.URL
	if url == "" {
		url = "http://" + cfg.Addr
	}
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	options := demoOptions(strings.TrimSuffix(url, "/"), local)
	options.Progress = t.stderr
	if err := demo.Full(ctx, options); err != nil || c.NoCrew {
		return err
	}
	return demo.Crew{Labellers: c.Crew, Reviewers: 1, For: c.For, Pace: c.Pace}.Work(ctx, options)
}
