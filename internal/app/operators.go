package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/telemetry"
)

// operators are the addresses besides that of the API. They answer until the server has ended: who operates it wants to see how.
type operators struct {
	metrics, profiles net.Listener // nil when there are none
}

// listenForOperators takes the addresses of their own that /metrics and profiles have by the settings.
func listenForOperators(cfg config.Config) (o operators, err error) {
	for _, l := range []struct {
		variable, addr string
		listener       *net.Listener
	}{{"TAGGIE_METRICS_ADDR", cfg.MetricsAddr, &o.metrics}, {"TAGGIE_PPROF", cfg.Pprof, &o.profiles}} {
		if l.addr == "" {
			continue
		}
		if *l.listener, err = net.Listen("tcp", l.addr); err != nil {
			o.close()
			return operators{}, fmt.Errorf("cannot listen on %s: %w; stop what uses the port, or set %s to another", l.addr, err, l.variable)
		}
	}
	return o, nil
}

// serve answers there; api has the routes for health.
func (o operators) serve(api http.Handler, metrics *telemetry.Metrics, log *slog.Logger) {
	if o.metrics != nil {
		mux := http.NewServeMux()
		mux.Handle("GET /healthz", api)
		mux.Handle("GET /readyz", api)
		mux.Handle("GET /metrics", metrics.Handler())
		addProfiles(mux)
		serveOperators(o.metrics, mux, log)
	}
	if o.profiles != nil {
		mux := http.NewServeMux()
		addProfiles(mux)
		serveOperators(o.profiles, mux, log)
	}
}

func addProfiles(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
}

func serveOperators(listener net.Listener, handler http.Handler, log *slog.Logger) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	log.Info("listening for operators", "url", "http://"+listener.Addr().String())
	go func() {
		if err := server.Serve(listener); !errors.Is(err, net.ErrClosed) {
			log.Error("operators get no answers", "address", listener.Addr().String(), "error", err)
		}
	}()
}

// close ends them at once; what is under way there is of no consequence.
func (o operators) close() {
	for _, listener := range []net.Listener{o.metrics, o.profiles} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

// onlyProbes serves what operators ask, and nothing of the API.
func onlyProbes(all http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		mux.Handle(path, all)
	}
	return mux
}
