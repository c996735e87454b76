package rules

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/blob"
)

// terraform is what deploy/terraform says.
type terraform struct {
	t      *testing.T
	blocks map[string]*hclsyntax.Body // by their types and names
	locals hclsyntax.Attributes
	ctx    *hcl.EvalContext
}

// readTerraform reads all files with the settings of the example.
func readTerraform(t *testing.T) terraform {
	t.Helper()
	tf := terraform{t: t, blocks: map[string]*hclsyntax.Body{}, locals: hclsyntax.Attributes{}, ctx: &hcl.EvalContext{
		Variables: map[string]cty.Value{},
		Functions: map[string]function.Function{"length": stdlib.LengthFunc, "join": stdlib.JoinFunc, "floor": stdlib.FloorFunc},
	}}
	files, err := filepath.Glob("deploy/terraform/*.tf")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	parser := hclparse.NewParser()
	for _, file := range append(files, "deploy/terraform/terraform.tfvars.example") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		parsed, wrong := parser.ParseHCL(text, file)
		require.Empty(t, wrong, file)
		body, _ := parsed.Body.(*hclsyntax.Body)
		require.NotNil(t, body)
		for _, b := range body.Blocks {
			tf.blocks[strings.Join(append([]string{b.Type}, b.Labels...), " ")] = b.Body
			if b.Type == "locals" {
				maps.Copy(tf.locals, b.Body.Attributes)
			}
		}
		if strings.HasSuffix(file, ".example") {
			tf.ctx.Variables["var"] = tf.variables(body)
		}
	}
	stores, err := os.ReadFile("deploy/terraform/stores.json")
	require.NoError(t, err)
	typ, err := ctyjson.ImpliedType(stores)
	require.NoError(t, err)
	value, err := ctyjson.Unmarshal(stores, typ)
	require.NoError(t, err)
	tf.ctx.Variables["local"] = cty.ObjectVal(map[string]cty.Value{"stores": value})
	// What is known when it is made.
	tf.ctx.Variables["random_password"] = known(map[string]string{"redis": "result"}, "password")
	tf.ctx.Variables["aws_elasticache_replication_group"] = known(map[string]string{"taggie": "configuration_endpoint_address"}, "redis.example.com")
	tf.ctx.Variables["data"] = cty.ObjectVal(map[string]cty.Value{"aws_vpc": known(map[string]string{"taggie": "cidr_block"}, "10.0.0.0/16")})
	return tf
}

func known(attributes map[string]string, value string) cty.Value {
	all := map[string]cty.Value{}
	for name, attribute := range attributes {
		all[name] = cty.ObjectVal(map[string]cty.Value{attribute: cty.StringVal(value)})
	}
	return cty.ObjectVal(all)
}

// variables returns the variables: what the example sets, and the defaults of the others. Each has to be declared.
func (tf terraform) variables(example *hclsyntax.Body) cty.Value {
	all := map[string]cty.Value{}
	for name, block := range tf.blocks {
		kind, name, _ := strings.Cut(name, " ")
		if kind != "variable" {
			continue
		}
		attribute := example.Attributes[name]
		if attribute == nil {
			attribute = block.Attributes["default"]
		}
		require.NotNil(tf.t, attribute, "the example does not set %s, which has no default", name)
		all[name] = tf.value(attribute.Expr)
	}
	for name := range example.Attributes {
		require.Contains(tf.t, all, name)
	}
	return cty.ObjectVal(all)
}

func (tf terraform) value(e hcl.Expression) cty.Value {
	tf.t.Helper()
	v, wrong := e.Value(tf.ctx)
	require.Empty(tf.t, wrong)
	return v
}

func (tf terraform) block(name string) *hclsyntax.Body {
	tf.t.Helper()
	require.Contains(tf.t, tf.blocks, name)
	return tf.blocks[name]
}

// decode reads a block, with the values of each if it has any.
func (tf terraform) decode(block string, each map[string]cty.Value, into any) {
	tf.t.Helper()
	ctx := tf.ctx.NewChild()
	ctx.Variables = map[string]cty.Value{"each": cty.ObjectVal(each)}
	require.Empty(tf.t, gohcl.DecodeBody(dynblock.Expand(tf.block(block), ctx), ctx, into), block)
}

// tableOfAWS is the resource aws_dynamodb_table, as far as it is compared.
type tableOfAWS struct {
	Name       string       `hcl:"name"`
	Billing    string       `hcl:"billing_mode"`
	HashKey    string       `hcl:"hash_key"`
	RangeKey   string       `hcl:"range_key"`
	Global     []indexOfAWS `hcl:"global_secondary_index,block"`
	Local      []indexOfAWS `hcl:"local_secondary_index,block"`
	Attributes []struct {
		Name string `hcl:"name"`
		Type string `hcl:"type"`
	} `hcl:"attribute,block"`
	TTL []struct {
		Enabled   bool   `hcl:"enabled"`
		Attribute string `hcl:"attribute_name"`
	} `hcl:"ttl,block"`
	Recovery []struct {
		Enabled bool `hcl:"enabled"`
	} `hcl:"point_in_time_recovery,block"`
	Rest hcl.Body `hcl:",remain"`
}

type indexOfAWS struct {
	Name       string    `hcl:"name"`
	HashKey    *string   `hcl:"hash_key"`
	RangeKey   string    `hcl:"range_key"`
	Projection string    `hcl:"projection_type"`
	Included   *[]string `hcl:"non_key_attributes"`
}

func (i indexOfAWS) definition(table string) dynamo.IndexDefinition {
	d := dynamo.IndexDefinition{PartitionKey: table, SortKey: i.RangeKey, Projection: i.Projection, Included: []string{}}
	if i.HashKey != nil {
		d.PartitionKey = *i.HashKey
	}
	if i.Included != nil {
		d.Included = append(d.Included, *i.Included...)
	}
	return d
}

func TestTerraformMakesTheTablesOfTheServer(t *testing.T) {
	tf := readTerraform(t)
	const resource = "resource aws_dynamodb_table taggie"
	made := map[string]dynamo.Definition{}
	for key, value := range tf.value(tf.block(resource).Attributes["for_each"].Expr).AsValueMap() {
		var table tableOfAWS
		tf.decode(resource, map[string]cty.Value{"key": cty.StringVal(key), "value": value}, &table)
		assert.Equal(t, "PAY_PER_REQUEST", table.Billing)
		require.Len(t, table.Recovery, 1)
		assert.True(t, table.Recovery[0].Enabled)
		d := dynamo.Definition{
			PartitionKey: table.HashKey, SortKey: table.RangeKey, Attributes: map[string]string{},
			GlobalIndexes: map[string]dynamo.IndexDefinition{}, LocalIndexes: map[string]dynamo.IndexDefinition{},
		}
		for _, a := range table.Attributes {
			d.Attributes[a.Name] = a.Type
		}
		for _, i := range table.Global {
			d.GlobalIndexes[i.Name] = i.definition("")
		}
		for _, i := range table.Local {
			d.LocalIndexes[i.Name] = i.definition(table.HashKey)
		}
		for _, ttl := range table.TTL {
			assert.True(t, ttl.Enabled)
			d.TimeToLive = ttl.Attribute
		}
		made[table.Name] = d
	}
	assert.Equal(t, dynamo.Definitions("taggie_"), made)
}

func TestTerraformSetsTheRulesOfTheBucket(t *testing.T) {
	tf := readTerraform(t)
	var cors struct {
		Rules []struct {
			ID      string   `hcl:"id"`
			Methods []string `hcl:"allowed_methods"`
			Headers []string `hcl:"allowed_headers"`
			Exposed []string `hcl:"expose_headers"`
			MaxAge  int32    `hcl:"max_age_seconds"`
			Rest    hcl.Body `hcl:",remain"`
		} `hcl:"cors_rule,block"`
		Rest hcl.Body `hcl:",remain"`
	}
	tf.decode("resource aws_s3_bucket_cors_configuration taggie", map[string]cty.Value{}, &cors)
	require.Len(t, cors.Rules, 1)
	var lifecycle struct {
		Rules []struct {
			ID     string `hcl:"id"`
			Status string `hcl:"status"`
			Filter []struct {
				Prefix string `hcl:"prefix"`
			} `hcl:"filter,block"`
			Expires []struct {
				Days    int32 `hcl:"days,optional"`
				Markers bool  `hcl:"expired_object_delete_marker,optional"`
			} `hcl:"expiration,block"`
			Deleted []struct {
				Days int32 `hcl:"noncurrent_days"`
			} `hcl:"noncurrent_version_expiration,block"`
			Aborts []struct {
				Days int32 `hcl:"days_after_initiation"`
			} `hcl:"abort_incomplete_multipart_upload,block"`
		} `hcl:"rule,block"`
		Rest hcl.Body `hcl:",remain"`
	}
	tf.decode("resource aws_s3_bucket_lifecycle_configuration taggie", map[string]cty.Value{}, &lifecycle)
	rule := cors.Rules[0]
	made := blob.Definition{
		CORS:      blob.CORSDefinition{ID: rule.ID, Methods: rule.Methods, Headers: rule.Headers, Exposed: rule.Exposed, MaxAgeSeconds: rule.MaxAge},
		Lifecycle: map[string]blob.LifecycleDefinition{},
	}
	kept := int32(0)
	for _, r := range lifecycle.Rules {
		assert.Equal(t, "Enabled", r.Status)
		require.Len(t, r.Filter, 1)
		if len(r.Deleted) == 1 { // of versions, which the server does not know
			require.Len(t, r.Expires, 1)
			assert.True(t, r.Expires[0].Markers)
			assert.Zero(t, r.Expires[0].Days)
			assert.Empty(t, r.Filter[0].Prefix)
			kept = r.Deleted[0].Days
			continue
		}
		d := blob.LifecycleDefinition{Prefix: r.Filter[0].Prefix}
		for _, e := range r.Expires {
			d.ExpiresAfterDays = e.Days
		}
		for _, a := range r.Aborts {
			d.AbortsAfterDays = a.Days
		}
		made.Lifecycle[r.ID] = d
	}
	assert.Equal(t, blob.Rules(), made)
	assert.EqualValues(t, 35, kept, "as long as the point-in-time recovery of DynamoDB")
	var versioning struct {
		Configuration struct {
			Status string `hcl:"status"`
		} `hcl:"versioning_configuration,block"`
		Rest hcl.Body `hcl:",remain"`
	}
	tf.decode("resource aws_s3_bucket_versioning taggie", map[string]cty.Value{}, &versioning)
	assert.Equal(t, "Enabled", versioning.Configuration.Status)
}

// onlyApply are the actions of `taggie tables apply` alone.
var onlyApply = []string{
	"dynamodb:CreateTable", "dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive", "dynamodb:UpdateContinuousBackups", "s3:CreateBucket", "s3:PutBucketCORS", "s3:PutLifecycleConfiguration",
}

func TestTerraformAllowsWhatTheServerDoesAndNothingElse(t *testing.T) {
	var policy struct {
		Statements []struct {
			Actions []string `hcl:"actions"`
			Rest    hcl.Body `hcl:",remain"`
		} `hcl:"statement,block"`
	}
	readTerraform(t).decode("data aws_iam_policy_document server", map[string]cty.Value{}, &policy)
	var allowed []string
	for _, s := range policy.Statements {
		allowed = append(allowed, s.Actions...)
	}
	needed := slices.DeleteFunc(slices.Sorted(maps.Keys(actions(t))), func(action string) bool { return slices.Contains(onlyApply, action) })
	slices.Sort(allowed)
	assert.Equal(t, needed, allowed)
}

func TestTheServiceOfTerraformFitsTheServer(t *testing.T) {
	tf := readTerraform(t)
	settings := map[string]string{}
	for name, value := range tf.value(tf.locals["settings"].Expr).AsValueMap() {
		settings[name] = value.AsString()
	}
	settings["TAGGIE_REDIS_URL"] = tf.value(tf.block("resource aws_secretsmanager_secret_version redis").Attributes["secret_string"].Expr).AsString()
	cfg := load(t, settings)
	service := readDeploy(t, "terraform/service.tf")
	stop := regexp.MustCompile(`stopTimeout += (\d+)`).FindStringSubmatch(service)
	require.NotNil(t, stop)
	seconds, err := strconv.Atoi(stop[1])
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Duration(seconds)*time.Second, cfg.DrainDelay+cfg.OperationTimeout+stopping)
	for _, address := range []string{cfg.Addr, cfg.MetricsAddr} {
		assert.Contains(t, service, "{ containerPort = "+port(t, address)+" }")
	}
	var target struct {
		Port  string `hcl:"port"`
		Check []struct {
			Path string   `hcl:"path"`
			Rest hcl.Body `hcl:",remain"`
		} `hcl:"health_check,block"`
		Rest hcl.Body `hcl:",remain"`
	}
	tf.decode("resource aws_lb_target_group taggie", map[string]cty.Value{}, &target)
	assert.Equal(t, port(t, cfg.Addr), target.Port)
	require.Len(t, target.Check, 1)
	assert.Equal(t, "/readyz", target.Check[0].Path)
}
