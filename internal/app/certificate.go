package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taggie/taggie/internal/config"
)

// certificate is a certificate with its key that follows its files. Each handshake looks whether they have changed; what
// cannot be used, such as a new certificate before its key is there, leaves the one before in use.
type certificate struct {
	certPath, keyPath string
	log               *slog.Logger
	current           atomic.Pointer[tls.Certificate]

	reading   sync.Mutex  // held by the one handshake that looks
	cert, key os.FileInfo // of the files that current was read from
	complaint string      // that was logged last
}

// openCertificate reads a certificate and its key. It fails if they cannot be read, or do not belong together.
func openCertificate(certPath, keyPath string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certPath: certPath, keyPath: keyPath, log: log}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// config returns settings for a server: TLS 1.2 or later.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			c.follow(hello.Context())
			return c.current.Load(), nil
		},
	}
}

// expires returns when the certificate in use expires. It looks at the files first, which nobody else does while no connection comes.
func (c *certificate) expires() time.Time {
	c.follow(context.Background())
	return c.current.Load().Leaf.NotAfter
}

// follow reads the files again if they have changed. It does not wait for another handshake that is reading them.
func (c *certificate) follow(ctx context.Context) {
	if !c.reading.TryLock() {
		return
	}
	defer c.reading.Unlock()
	if !changed(c.certPath, c.cert) && !changed(c.keyPath, c.key) {
		return
	}
	if err := c.read(); err != nil {
		if c.complaint != err.Error() {
			c.complaint = err.Error()
			c.log.WarnContext(ctx, "the new certificate cannot be used; the one before stays in use", "error", err)
		}
		return
	}
	c.complaint = ""
	c.log.InfoContext(ctx, "the certificate was read again", "expires", c.current.Load().Leaf.NotAfter)
}

// read reads the files, and remembers what they were before: a change meanwhile is then seen by the next handshake.
func (c *certificate) read() error {
	cert, certErr := os.Stat(c.certPath)
	key, keyErr := os.Stat(c.keyPath)
	if err := errors.Join(certErr, keyErr); err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.certPath, c.keyPath)
	if err != nil {
		return err
	}
	c.cert, c.key = cert, key
	c.current.Store(&pair)
	return nil
}

// changed reports whether the file is another than it was, or cannot be found.
func changed(path string, was os.FileInfo) bool {
	is, err := os.Stat(path)
	return err != nil || !os.SameFile(is, was) || is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime())
}

// checkCertificate checks the files of TAGGIE_TLS_CERT and TAGGIE_TLS_KEY if both are set.
func checkCertificate(cfg config.Config) error {
	if cfg.TLSCert == "" || cfg.TLSKey == "" {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey); err != nil {
		return errors.New("expected the path of a PEM certificate that can be read, and in TAGGIE_TLS_KEY the path of its private key")
	}
	return nil
}

// serverLog returns the log of an HTTP server. Handshakes that fail are for debugging only: scanners and probes cause them.
func serverLog(to *slog.Logger) *log.Logger { return log.New(serverLines{to}, "", 0) }

type serverLines struct{ to *slog.Logger }

// Write logs one line of net/http.
func (l serverLines) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = slog.LevelDebug
	}
	l.to.Log(context.Background(), level, "the HTTP server says", "line", string(bytes.TrimSpace(line)))
	return len(line), nil
}
