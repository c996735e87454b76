package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
)

// The floor answers as the hand-written handler does, with the same number of calls.
func TestTheFloorAnswersAsTheHandlerDoes(t *testing.T) {
	e, err := startEngine()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.server.Close()) })
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": e.url, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench",
		"TAGGIE_TABLE_PREFIX": prefix, "TAGGIE_JWT_KEY": "HS256:" + base64.StdEncoding.EncodeToString(secret),
	} {
		t.Setenv(name, value)
	}
	client, err := awsclient.DynamoDB(t.Context(), awsclient.Options{Endpoint: e.url})
	require.NoError(t, err)
	require.NoError(t, load(t.Context(), client, prefix))
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": issuer, "sub": subject, "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString(secret)
	require.NoError(t, err)

	handler, floor := serve(t, nameHandwritten), serve(t, nameFloor)
	for _, q := range questions {
		for _, p := range []*process{handler, floor} { // what is read about the caller once
			_, err := p.ask(q, token)
			require.NoError(t, err)
		}
		calls := func(p *process) (answer []byte, made int64) {
			before := e.calls.Load()
			answer, err := p.ask(q, token)
			require.NoError(t, err)
			return answer, e.calls.Load() - before
		}
		want, most := calls(handler)
		answer, made := calls(floor)
		assert.Equal(t, most, made, "calls of %s", q.name)
		left, err := q.answered(want, handler.name, false)
		require.NoError(t, err)
		right, err := q.answered(answer, floor.name, false)
		require.NoError(t, err)
		assert.Empty(t, difference("data", "", left, right), q.name)
	}
	for _, token := range []string{"", "x"} {
		r, err := questions[0].request(floor.url, false, token)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, http.StatusUnauthorized, response.StatusCode)
	}
}

// serve runs one of the servers that this program has, within the test.
func serve(t *testing.T, name string) *process {
	t.Helper()
	address, err := freeAddress()
	require.NoError(t, err)
	t.Setenv("TAGGIE_ADDR", address)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- commands[name](ctx) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	p := &process{name: name, url: "http://" + address}
	require.Eventually(t, func() bool {
		response, err := http.Get(p.url + "/readyz")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, 30*time.Second, 5*time.Millisecond)
	return p
}
