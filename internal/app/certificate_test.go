package app

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/telemetry"
)

// issued is a certificate that signs itself, as its two files have it.
type issued struct {
	cert, key []byte
	leaf      *x509.Certificate
}

func issue(t *testing.T, serial int64) issued { return issueFor(t, serial, time.Hour) }

func issueFor(t *testing.T, serial int64, lasts time.Duration) issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "taggie.test"}, DNSNames: []string{"taggie.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasts), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return issued{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), leaf: leaf,
	}
}

// replace puts a file in the place of another in one step.
func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", content, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// certified is a server whose certificate is in two files.
type certified struct {
	cert, key, address string
	roots              *x509.CertPool
	log                bytes.Buffer // of the certificate; whole when the server has ended
	server             *http.Server
}

func certify(t *testing.T, certificates ...issued) *certified {
	t.Helper()
	dir := t.TempDir()
	c := &certified{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), roots: x509.NewCertPool()}
	for _, each := range certificates {
		c.roots.AddCert(each.leaf)
	}
	replace(t, c.cert, certificates[0].cert)
	replace(t, c.key, certificates[0].key)
	files, err := openCertificate(c.cert, c.key, slog.New(slog.NewTextHandler(&c.log, nil)))
	require.NoError(t, err)
	server := httpapi.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto)) }), "", time.Minute)
	server.ErrorLog = serverLog(slog.New(slog.DiscardHandler))
	server.TLSConfig = files.config()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.address, c.server = listener.Addr().String(), server
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	return c
}

func (c *certified) client(fresh bool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: c.roots, ServerName: "taggie.test"}, ForceAttemptHTTP2: true, DisableKeepAlives: fresh,
	}}
}

// serial asks once, and returns the number of the certificate that the server showed.
func (c *certified) serial(client *http.Client) (int64, error) {
	resp, err := client.Get("https://" + c.address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

func TestACertificateIsReplacedWithoutAFailedRequest(t *testing.T) {
	first, second := issue(t, 1), issue(t, 2)
	c := certify(t, first, second)

	var asked, latest atomic.Int64
	done := make(chan struct{})
	var clients sync.WaitGroup
	for i := range 4 {
		client := c.client(i%2 == 0) // every other one keeps its connection
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				serial, err := c.serial(client)
				if !assert.NoError(t, err) {
					return
				}
				asked.Add(1)
				if i%2 == 0 {
					latest.Store(serial)
				}
			}
		})
	}
	more := func() { // requests begin and end in the state that the files are in
		t.Helper()
		until := asked.Load() + 40
		require.Eventually(t, func() bool { return asked.Load() >= until }, time.Minute, time.Millisecond)
	}
	more()
	replace(t, c.cert, second.cert)
	more() // the key does not belong to it yet
	assert.Equal(t, int64(1), latest.Load())
	replace(t, c.key, second.key)
	require.Eventually(t, func() bool { return latest.Load() == 2 }, time.Minute, time.Millisecond)
	require.NoError(t, os.Remove(c.cert))
	more() // the file is gone
	require.NoError(t, os.WriteFile(c.cert, first.cert[:100], 0o600))
	more() // and half written
	assert.Equal(t, int64(2), latest.Load())
	replace(t, c.key, first.key)
	replace(t, c.cert, first.cert)
	require.Eventually(t, func() bool { return latest.Load() == 1 }, time.Minute, time.Millisecond)
	close(done)
	clients.Wait()
	require.NoError(t, c.server.Shutdown(t.Context()))
	assert.Equal(t, 2, strings.Count(c.log.String(), "the certificate was read again"))
	complaints := strings.Count(c.log.String(), "cannot be used")
	assert.Positive(t, complaints)
	assert.LessOrEqual(t, complaints, 6, "each is logged once, not with each handshake")
}

func TestTheConnectionAgreesOnAProtocol(t *testing.T) {
	c := certify(t, issue(t, 1))
	for _, protocol := range []string{"h2", "http/1.1"} {
		conn, err := tls.Dial("tcp", c.address, &tls.Config{RootCAs: c.roots, ServerName: "taggie.test", NextProtos: []string{protocol}})
		require.NoError(t, err)
		assert.Equal(t, protocol, conn.ConnectionState().NegotiatedProtocol)
		require.NoError(t, conn.Close())
	}
	_, err := tls.Dial("tcp", c.address, &tls.Config{RootCAs: c.roots, ServerName: "taggie.test", MaxVersion: tls.VersionTLS11})
	assert.Error(t, err, "TLS 1.1 is too old")
}

func TestACertificateIsReadWithTheSettings(t *testing.T) {
	first, second := issue(t, 1), issue(t, 2)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	load := func(settings ...string) error {
		_, _, err := LoadServer(settings, nil)
		return err
	}
	both := []string{"TAGGIE_TLS_CERT=" + cert, "TAGGIE_TLS_KEY=" + key}
	require.ErrorContains(t, load(both...), "TAGGIE_TLS_CERT: expected the path", "there are no files")
	replace(t, cert, first.cert)
	replace(t, key, second.key)
	require.ErrorContains(t, load(both...), "TAGGIE_TLS_CERT: expected the path", "they do not belong together")
	replace(t, key, first.key)
	require.NoError(t, load(both...))
	require.ErrorContains(t, load(both[0]), "TAGGIE_TLS_KEY: required with TAGGIE_TLS_CERT")
	require.ErrorContains(t, load(both[1]), "TAGGIE_TLS_CERT: required with TAGGIE_TLS_KEY")
}

func TestMetricsTellWhenTheCertificateInUseExpires(t *testing.T) {
	first := issue(t, 1)
	c := certify(t, first)
	metrics := telemetry.NewMetrics()
	files, err := openCertificate(c.cert, c.key, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	metrics.Certificate(files.expires)
	shown := func() string {
		w := httptest.NewRecorder()
		metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		_, value, found := strings.Cut(w.Body.String(), "\ntaggie_tls_certificate_expiry_timestamp_seconds ")
		require.True(t, found, w.Body.String())
		value, _, _ = strings.Cut(value, "\n")
		seconds, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err)
		return time.Unix(int64(seconds), 0).UTC().String()
	}
	assert.Equal(t, first.leaf.NotAfter.String(), shown())
	third := issueFor(t, 3, 48*time.Hour)
	replace(t, c.cert, third.cert)
	assert.Equal(t, first.leaf.NotAfter.String(), shown(), "without its key, the new one is not in use")
	replace(t, c.key, third.key)
	assert.Equal(t, third.leaf.NotAfter.String(), shown(), "without a connection")
}
