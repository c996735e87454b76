package rules

import (
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
)

// stopping is what the end of a server takes besides TAGGIE_DRAIN_DELAY and TAGGIE_OPERATION_TIMEOUT: 5 seconds for requests (internal/app), 5
// for background work, 10 for embedded stores.
const stopping = 20 * time.Second

// secrets stand for what the examples of deploy/ leave to their users.
var secrets = map[string]string{
	"TAGGIE_SECRET":    strings.Repeat("s", 32),
	"TAGGIE_REDIS_URL": "redis://127.0.0.1:6379",
}

func readDeploy(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", file))
	require.NoError(t, err)
	return string(text)
}

// readEnv reads a file of settings; with commented ones, if those are asked for.
func readEnv(t *testing.T, file string, commented bool) map[string]string {
	t.Helper()
	settings := map[string]string{}
	for line := range strings.Lines(readDeploy(t, file)) {
		line = strings.TrimSpace(line)
		if commented {
			line = strings.TrimPrefix(line, "#")
		}
		if name, value, ok := strings.Cut(line, "="); ok && !strings.ContainsAny(name, "# ") {
			settings[name] = value
		}
	}
	require.NotEmpty(t, settings)
	return settings
}

// load has the server read settings.
func load(t *testing.T, settings map[string]string) config.Config {
	t.Helper()
	all := maps.Clone(secrets)
	maps.Copy(all, settings)
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	var environ []string
	for name, value := range all {
		environ = append(environ, name+"="+value)
	}
	cfg, err := config.Load(environ)
	require.NoError(t, err)
	return cfg
}

func port(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return port
}

func TestDeploymentsNameOnlySettingsThatExist(t *testing.T) {
	known := map[string]bool{"TAGGIE_S3_ACCESS_KEY": true, "TAGGIE_S3_SECRET_KEY": true} // of embedded/s3
	for _, v := range config.Variables() {
		known[v.Name] = true
	}
	name := regexp.MustCompile(`\bTAGGIE_[A-Z0-9_]+`)
	found := 0
	require.NoError(t, filepath.WalkDir("deploy", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if strings.Contains(path, "/data/") || strings.Contains(path, "/release/") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, variable := range name.FindAllString(string(text), -1) {
			found++
			assert.True(t, known[variable], "%s: %s", path, variable)
		}
		return err
	}))
	assert.Greater(t, found, 20)
}

func TestTheServiceOfSystemdFitsTheServer(t *testing.T) {
	unit := readDeploy(t, "systemd/taggie.service")
	limit := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(unit)
	require.NotNil(t, limit)
	seconds, err := time.ParseDuration(limit[1] + "s")
	require.NoError(t, err)
	for _, commented := range []bool{false, true} {
		settings := readEnv(t, "systemd/taggie.env", commented)
		if commented {
			settings["TAGGIE_SECRET"] = secrets["TAGGIE_SECRET"]
		}
		cfg := load(t, settings)
		assert.GreaterOrEqual(t, seconds, cfg.DrainDelay+cfg.OperationTimeout+stopping)
	}
	assert.Contains(t, unit, "EnvironmentFile=/etc/taggie/taggie.env\n")
}

func TestTheManifestOfKubernetesFitsTheServer(t *testing.T) {
	var cfg config.Config
	pods := 0
	for text := range strings.SplitSeq(readDeploy(t, "kubernetes/taggie.yaml"), "\n---\n") {
		var object struct {
			Kind string
			Data map[string]string
			Spec struct {
				Template struct {
					Spec struct {
						Grace      int `yaml:"terminationGracePeriodSeconds"`
						Containers []struct {
							Ports []struct {
								Name string
								Port string `yaml:"containerPort"`
							}
							Readiness probe `yaml:"readinessProbe"`
							Startup   probe `yaml:"startupProbe"`
							Liveness  probe `yaml:"livenessProbe"`
						}
					}
				}
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(text), &object))
		switch object.Kind {
		case "ConfigMap":
			cfg = load(t, object.Data)
		case "Deployment":
			pod := object.Spec.Template.Spec
			require.Len(t, pod.Containers, 1)
			container := pod.Containers[0]
			pods++
			assert.Greater(t, time.Duration(pod.Grace)*time.Second, cfg.DrainDelay+cfg.OperationTimeout+15*time.Second, "without embedded stores")
			ports := map[string]string{}
			for _, p := range container.Ports {
				ports[p.Name] = p.Port
			}
			assert.Equal(t, map[string]string{"http": port(t, cfg.Addr), "metrics": port(t, cfg.MetricsAddr)}, ports)
			assert.Equal(t, "/readyz", container.Readiness.HTTP.Path)
			assert.Equal(t, "/readyz", container.Startup.HTTP.Path)
			assert.Equal(t, "/healthz", container.Liveness.HTTP.Path)
			noticed := time.Duration(container.Readiness.Period*container.Readiness.Failures) * time.Second
			assert.Less(t, noticed, cfg.DrainDelay, "the pod is taken out of the endpoints while it still accepts requests")
		}
	}
	assert.Equal(t, 1, pods)
}

type probe struct {
	HTTP     struct{ Path string } `yaml:"httpGet"`
	Period   int                   `yaml:"periodSeconds"`
	Failures int                   `yaml:"failureThreshold"`
}

func TestComposeAndItsFilesFitOneAnother(t *testing.T) {
	var compose struct {
		Services map[string]struct {
			Grace       string            `yaml:"stop_grace_period"`
			Environment map[string]string `yaml:"environment"`
		}
	}
	// What a service says counts instead of what it merges, which the library takes for keys that are there twice.
	text := []byte(readDeploy(t, "compose.yaml"))
	require.NoError(t, yaml.UnmarshalWithOptions(text, &compose, yaml.AllowDuplicateMapKey()))
	nginx, prometheus, script := readDeploy(t, "compose/nginx.conf"), readDeploy(t, "compose/prometheus.yml"), readDeploy(t, "local.sh")
	shared := readEnv(t, "compose/taggie.env", false)
	for _, server := range []string{"taggie-1", "taggie-2"} {
		service := compose.Services[server]
		settings := maps.Clone(shared)
		maps.Copy(settings, service.Environment)
		settings["TAGGIE_SECRET"] = secrets["TAGGIE_SECRET"]
		cfg := load(t, settings)
		assert.Contains(t, nginx, "server "+cfg.Addr+";")
		assert.Contains(t, prometheus, cfg.MetricsAddr)
		assert.Contains(t, script, "TAGGIE_ADDR="+cfg.Addr+" TAGGIE_METRICS_ADDR="+cfg.MetricsAddr)
		grace, err := time.ParseDuration(service.Grace)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, grace, cfg.DrainDelay+cfg.OperationTimeout+stopping)
		for _, part := range []string{cfg.AWSEndpointDynamoDB, cfg.AWSEndpointS3} {
			assert.Contains(t, script, "ready "+part+"\n")
		}
		for _, issuer := range []string{"compose/dex.yaml", "local/issuer.mjs"} {
			assert.Contains(t, readDeploy(t, issuer), cfg.OIDCIssuer)
		}
	}
	names := slices.Collect(maps.Keys(compose.Services))
	assert.Subset(t, names, []string{"nginx", "dynamodb", "s3", "redis", "issuer", "prometheus", "grafana", "tables"})
}

// The backup works on the stores of the service, with its settings and as its user.
func TestTheBackupOfSystemdFitsTheService(t *testing.T) {
	service, backup := readDeploy(t, "systemd/taggie.service"), readDeploy(t, "systemd/taggie-backup.service")
	for _, line := range []string{"EnvironmentFile=/etc/taggie/taggie.env\n", "Environment=TAGGIE_DATA=/var/lib/taggie\n", "DynamicUser=yes\n", "StateDirectory=taggie"} {
		assert.Contains(t, service, line)
		assert.Contains(t, backup, line)
	}
	assert.NotContains(t, service, "\nUser=", "its user has the name of the unit")
	assert.Contains(t, backup, "\nUser=taggie\n")
}
