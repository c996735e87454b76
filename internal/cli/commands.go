package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/demo"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
)

type versionCommand struct{}

func (versionCommand) Run(t *Terminal) error {
	_, err := fmt.Fprintln(t.Stdout, t.version)
	return err
}

// pictureCommand decodes an image for the server, which starts it.
type pictureCommand struct {
	Args []string `arg:"" optional:""`
}

func (c pictureCommand) Run(t *Terminal) error {
	return score.RenderStandardInput(c.Args, os.Stdin, t.Stdout)
}

// TokenCommand prints a token of the embedded issuer.
type TokenCommand struct {
	Email   string        `required:"" help:"Address of the bearer."`
	Name    string        `help:"Name of the bearer."`
	Subject string        `help:"Identity of the bearer; derived from the address when left out."`
	Admin   bool          `help:"Give the bearer the admin role."`
	TTL     time.Duration `default:"24h" help:"How long the token is valid."`
}

// Run prints the token.
func (c TokenCommand) Run(t *Terminal) error {
	if _, err := user.ParseEmail(c.Email); err != nil { // nobody could sign up with it
		return errors.New("--email takes an address such as ada@example.com")
	}
	cfg, err := config.Load(t.Environ)
	if err != nil {
		return err
	}
	if !cfg.LocalIssuer() {
		return errors.New("there is no embedded issuer: TAGGIE_OIDC_ISSUER or TAGGIE_JWT_KEY is set, so tokens come from there")
	}
	if _, err := os.Stat(filepath.Join(cfg.Data, app.SecretFile)); errors.Is(err, fs.ErrNotExist) {
		_, _ = fmt.Fprintf(t.Stderr, "taggie: no server has used %s yet; the token is for the one that will. Is TAGGIE_DATA right?\n", cfg.Data)
	}
	local, err := app.LocalIssuer(cfg)
	if err != nil {
		return err
	}
	token, err := local.Mint(app.Person(c.Email, c.Name, c.Subject, c.Admin), c.TTL)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(t.Stdout, token)
	return err
}

type tablesCommand struct {
	Apply TablesApply `cmd:"" help:"Make what is missing; safe to run again."`
	Check TablesCheck `cmd:"" help:"Say what is missing or different, and change nothing."`
	Print TablesPrint `cmd:"" help:"Print as JSON what apply makes, for tools such as Terraform; needs no store."`
}

// TablesApply makes the tables and the bucket that are missing.
type TablesApply struct{}

// Run makes them, and says what it did.
func (TablesApply) Run(ctx context.Context, t *Terminal) error {
	return withStores(ctx, t, func(s *app.Stores) error {
		return allRight(t.Stdout, "a table or bucket that exists keeps its keys and local indexes: make it anew, or use another name",
			func(say app.Report) error { return s.Apply(ctx, say) })
	})
}

// TablesCheck says which tables and buckets are missing or different.
type TablesCheck struct{}

// Run says so, and changes nothing.
func (TablesCheck) Run(ctx context.Context, t *Terminal) error {
	return withStores(ctx, t, func(s *app.Stores) error {
		return allRight(t.Stdout, "`taggie tables apply` makes what is missing", func(say app.Report) error { return s.Check(ctx, say) })
	})
}

// TablesPrint prints what the tables and the bucket are to be like.
type TablesPrint struct{}

// Run prints it.
func (TablesPrint) Run(t *Terminal) error {
	cfg, err := config.LoadStores(t.Environ)
	if err != nil {
		return err
	}
	out := json.NewEncoder(t.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(app.DefinitionOf(cfg.TablePrefix))
}

// allRight prints what is reported, and fails when something of it is not right.
func allRight(w io.Writer, advice string, do func(app.Report) error) error {
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

func printer(w io.Writer) app.Report {
	return func(what, text string, ok bool) {
		mark := "ok     "
		if !ok {
			mark = "PROBLEM"
		}
		_, _ = fmt.Fprintf(w, "%s  %s: %s\n", mark, what, text)
	}
}

// withStores opens the stores for a command that is not the server.
func withStores(ctx context.Context, t *Terminal, do func(*app.Stores) error) error {
	cfg, err := config.LoadStores(t.Environ)
	if err != nil {
		return err
	}
	cfg.Redis = config.Redis{Mode: config.RedisNone} // commands need none
	s, err := app.OpenStores(ctx, cfg, app.StoresFor{Beside: true, Stderr: t.Stderr})
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

type demoCommand struct {
	URL    string        `help:"Where the server listens, with its path prefix; from TAGGIE_ADDR and TAGGIE_PATH_PREFIX when left out."`
	NoCrew bool          `name:"no-crew" help:"Only load the data."`
	Crew   int           `default:"6" help:"How many labellers are at work."`
	For    time.Duration `default:"15m" help:"How long they work; 0 for until nothing is left."`
	Pace   time.Duration `default:"4s" help:"How long one of them looks at an item on average."`
}

// Run loads the full demo set into the running server, and has a crew label it.
func (c demoCommand) Run(ctx context.Context, t *Terminal) error {
	if !c.NoCrew && (c.Crew < 1 || c.For < 0 || c.Pace < 0) {
		return errors.New("--crew takes 1 or more, --for and --pace no less than 0; --no-crew only loads the data")
	}
	cfg, err := config.Load(t.Environ)
	if err != nil {
		return err
	}
	if !cfg.LocalIssuer() {
		return errors.New("the demo data needs the embedded issuer: TAGGIE_OIDC_ISSUER or TAGGIE_JWT_KEY is set")
	}
	local, err := app.LocalIssuer(cfg)
	if err != nil {
		return err
	}
	url := c.URL
	if url == "" {
		url = cfg.Scheme() + "://" + cfg.Addr + cfg.PathPrefix
	}
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	options := app.DemoOptions(strings.TrimSuffix(url, "/"), local)
	options.Progress = t.Stderr
	if err := demo.Full(ctx, options); err != nil || c.NoCrew {
		return err
	}
	return demo.Crew{Labellers: c.Crew, Reviewers: 1, For: c.For, Pace: c.Pace}.Work(ctx, options)
}
