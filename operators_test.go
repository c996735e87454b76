package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMetricsAndProfilesHaveAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	addr, metrics, profiles := freePort(t), freePort(t), freePort(t)
	s, _ := startProcess(t, []string{"TAGGIE_DATA=" + t.TempDir(), "TAGGIE_METRICS_ADDR=" + metrics, "TAGGIE_PPROF=" + profiles}, addr)
	elsewhere, pprof := *s, *s
	elsewhere.url, pprof.url = "http://"+metrics, "http://"+profiles

	assert.NotContains(t, s.page("/metrics", http.StatusNotFound), "taggie_")
	assert.NotContains(t, s.page("/debug/pprof/goroutine?debug=1", http.StatusNotFound), "goroutine profile")
	assert.Contains(t, elsewhere.page("/metrics", http.StatusOK), "taggie_")
	assert.Contains(t, elsewhere.page("/debug/pprof/goroutine?debug=1", http.StatusOK), "goroutine profile")
	for _, at := range []*testServer{s, &elsewhere} {
		assert.Contains(t, at.page("/healthz", http.StatusOK), "ok")
		assert.Contains(t, at.page("/readyz", http.StatusOK), `"disk":"ok"`)
	}
	elsewhere.page("/graphql?query={viewer{name}}", http.StatusNotFound)
	elsewhere.page("/session", http.StatusNotFound)
	assert.Contains(t, pprof.page("/debug/pprof/goroutine?debug=1", http.StatusOK), "goroutine profile")
	pprof.page("/metrics", http.StatusNotFound)
}
