package apitest

import (
	"strings"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/faultinject"
)

// Cost is what a request did to DynamoDB.
type Cost struct {
	*Answer
	*faultinject.Recorder
}

// Measure sends a request of a client who is known already, and checks what is true of every request: no key is read
// twice, DynamoDB's limits are kept, and the response extension tells what happened.
func (c *Client) Measure(query string, v Vars) Cost {
	c.T.Helper()
	if c.App != nil {
		c.App.Revoked.Users.ForgetAll() // so that what is known of the token does not reach the age at which it is read again
	}
	c.Must("{ __typename }", nil) // so that the token's user is known
	recorder := c.Faults.Recorder()
	recorder.Reset()
	a := c.Must(query, v)
	assert.Empty(c.T, recorder.Violations())
	assert.Empty(c.T, recorder.ReadTwice())
	assert.Equal(c.T, recorder.Operations(), orEmpty(a.Extensions.Dynamo.Operations), "the extension tells what the engine saw")
	assert.Equal(c.T, recorder.Count(), a.Extensions.Dynamo.Calls)
	return Cost{a, recorder}
}

func orEmpty(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}

// Batches returns how many BatchGetItem calls asked for keys of each kind.
func (c Cost) Batches() map[string]int {
	counts := map[string]int{}
	for _, call := range c.Calls(faultinject.Operation("BatchGetItem")) {
		kinds := map[string]bool{}
		for _, key := range call.Keys {
			kinds[kind(key)] = true
		}
		for k := range kinds {
			counts[k]++
		}
	}
	return counts
}

// Keys returns how many keys of each kind were read.
func (c Cost) Keys() map[string]int {
	counts := map[string]int{}
	for _, call := range c.Calls() {
		for _, key := range call.Keys {
			counts[kind(key)]++
		}
	}
	return counts
}

func kind(k faultinject.Key) string {
	for _, known := range []string{"LOCATOR", "PROFILE", "VER#", "SHARED#"} {
		if strings.Contains(k.Attributes, `"SK":{"S":"`+known) {
			return known
		}
	}
	if strings.Contains(k.Attributes, `"SK":{"S":"NOTE#`) {
		return "NOTE"
	}
	return k.Attributes
}
