package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/config"
)

// ServeCommand runs the server.
type ServeCommand struct {
	Demo   bool `default:"true" negatable:"" help:"Load a small demo set at the first start with the embedded DynamoDB and issuer."`
	NoJobs bool `name:"no-jobs" xor:"part" help:"Serve the API only, and leave all background jobs to other processes: at least one has to run them. Needs stores that are not embedded."`
	NoAPI  bool `name:"no-api" xor:"part" help:"Run the background jobs only, and serve only /healthz, /readyz and /metrics. Needs stores that are not embedded."`
}

// Help lists the settings below the flags.
func (ServeCommand) Help() string {
	var b strings.Builder
	b.WriteString("Settings are environment variables; what is not set is embedded.\n")
	for _, v := range config.Variables() {
		fmt.Fprintf(&b, "\n%s", v.Name)
		if v.Default != "" {
			fmt.Fprintf(&b, " (default %s)", v.Default)
		}
		fmt.Fprintf(&b, "\n  %s\n", v.Description)
	}
	return b.String()
}

// Run starts the server and ends with it.
func (c ServeCommand) Run(ctx context.Context, t *Terminal) error {
	return app.Serve(ctx, app.Serving{Environ: t.Environ, Version: t.version, Stderr: t.Stderr, Demo: c.Demo, NoJobs: c.NoJobs, NoAPI: c.NoAPI})
}
