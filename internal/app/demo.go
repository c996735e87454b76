package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/demo"
	"github.com/taggie/taggie/internal/httpapi/document"
)

// demoFile says that the small demo set is complete.
const demoFile = "demo-loaded"

// firstDemo loads the small demo set into a server that keeps its data embedded, once. With TLS it does not: the certificate is for
// another name than the loopback address that it would call.
func (a *Application) firstDemo(ctx context.Context, url string) {
	if a.Local == nil || !a.Cfg.EmbeddedDynamoDB() || a.Cfg.TrustedMode == string(document.TrustEnforce) || a.Cfg.TLSCert != "" {
		return
	}
	marker := filepath.Join(a.Cfg.Data, demoFile)
	if _, err := os.Stat(marker); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	a.Log.InfoContext(ctx, "loading a small demo set; `make demo` loads the full one")
	a.requests.Set(slog.LevelDebug) // else hundreds of lines hide the address
	defer a.requests.Set(slog.LevelInfo)
	if err := demo.Small(ctx, DemoOptions(url, a.Local)); err != nil {
		if ctx.Err() == nil {
			a.Log.ErrorContext(ctx, "the demo set is not complete; the next start goes on with it", "error", err)
		}
		return
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		a.Log.ErrorContext(ctx, "cannot remember that the demo set was loaded", "error", err)
	}
}

// DemoOptions say where the demo data goes, signed in by the embedded issuer.
func DemoOptions(url string, local *auth.Local) demo.Options {
	return demo.Options{URL: url, Token: func(email, name string) (string, error) {
		return local.Mint(Person(email, name, "", false), time.Hour)
	}}
}
