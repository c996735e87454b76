package processes

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/apitest"
)

func TestMetricsAndProfilesHaveAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	addr, metrics, profiles := apitest.FreePort(t), apitest.FreePort(t), apitest.FreePort(t)
	s, _ := apitest.StartProcess(t, []string{"TAGGIE_DATA=" + t.TempDir(), "TAGGIE_METRICS_ADDR=" + metrics, "TAGGIE_PPROF=" + profiles}, addr)
	elsewhere, pprof := *s, *s
	elsewhere.URL, pprof.URL = "http://"+metrics, "http://"+profiles

	assert.NotContains(t, s.Page("/metrics", http.StatusNotFound), "taggie_")
	assert.NotContains(t, s.Page("/debug/pprof/goroutine?debug=1", http.StatusNotFound), "goroutine profile")
	assert.Contains(t, elsewhere.Page("/metrics", http.StatusOK), "taggie_")
	assert.Contains(t, elsewhere.Page("/debug/pprof/goroutine?debug=1", http.StatusOK), "goroutine profile")
	for _, at := range []*apitest.Server{s, &elsewhere} {
		assert.Contains(t, at.Page("/healthz", http.StatusOK), "ok")
		assert.Contains(t, at.Page("/readyz", http.StatusOK), `"disk":"ok"`)
	}
	elsewhere.Page("/graphql?query={viewer{name}}", http.StatusNotFound)
	elsewhere.Page("/session", http.StatusNotFound)
	assert.Contains(t, pprof.Page("/debug/pprof/goroutine?debug=1", http.StatusOK), "goroutine profile")
	pprof.Page("/metrics", http.StatusNotFound)
}
