package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrNoServer says that nobody listens at the URL.
var ErrNoServer = errors.New("no server answers; start one with `make run` first")

// A request that the server may carry out later is repeated this often; its idempotency key makes that safe.
const (
	attempts     = 6
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
	maxAnswer    = 16 << 20 // bytes; the largest answer asked for, 500 notes without content, has 60 KB
)

// member is a person with a token, and the user that the person has become.
type member struct {
	person
	token string
	id    string
}

// answer is what a server says to a GraphQL request.
type answer struct {
	Data   json.RawMessage `json:"data"`
	Errors []struct {
		Message    string `json:"message"`
		Extensions struct {
			Code      string `json:"code"`
			Field     string `json:"field"`
			Retryable bool   `json:"retryable"`
		} `json:"extensions"`
	} `json:"errors"`
}

// later is an error that may be gone when the same is asked again.
type later struct {
	error
	after time.Duration // how long the server asks to wait; 0 when it does not say
}

// ask sends one operation and decodes its data.
func (l *loader) ask(ctx context.Context, m member, operation string, variables map[string]any, data any) error {
	name := nameOf(operation)
	body, err := json.Marshal(map[string]any{"query": operation, "operationName": name, "variables": variables})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := l.repeat(ctx, func() error { return l.send(ctx, m, body, data) }); err != nil {
		return fmt.Errorf("%s as %s: %w", name, m.email, err)
	}
	return nil
}

// repeat does something until it succeeds or is of no use.
func (l *loader) repeat(ctx context.Context, do func() error) error {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		err := do()
		again, repeatable := errors.AsType[later](err)
		if err == nil || !repeatable || attempt == attempts {
			return err
		}
		wait := max(again.after, pause/2+rand.N(pause/2))
		if err := sleep(ctx, min(wait, longestPause)); err != nil {
			return err
		}
		pause *= 2
	}
}

func (l *loader) send(ctx context.Context, m member, body []byte, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/graphql-response+json, application/json;q=0.9")
	request.Header.Set("Authorization", "Bearer "+m.token)
	response, err := l.options.Client.Do(request)
	if err != nil {
		return transportError(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read to its end, or is given up
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return transportError(ctx, err)
	}
	return read(response, raw, data)
}

// transportError tells a server that is not there from a connection that broke.
func transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return fmt.Errorf("%w (%w)", ErrNoServer, err)
	}
	return later{error: err}
}

// read decodes the data of an answer, or returns what the server refused.
func read(response *http.Response, raw []byte, data any) error {
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // 0 when it is absent, or a date
	after := time.Duration(max(seconds, 0)) * time.Second
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil || (len(a.Errors) == 0 && len(a.Data) == 0) {
		err := fmt.Errorf("the server answered %s", response.Status)
		switch response.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return later{err, after}
		}
		return err
	}
	if len(a.Errors) == 0 {
		return json.Unmarshal(a.Data, data)
	}
	first := a.Errors[0]
	text := first.Message
	if first.Extensions.Field != "" {
		text = first.Extensions.Field + ": " + text
	}
	err := fmt.Errorf("the server refused: %s (%s)", text, first.Extensions.Code)
	if first.Extensions.Code == "UNAUTHENTICATED" {
		return fmt.Errorf("%w; demo data can only be loaded into a server that issues its own tokens", err)
	}
	busy := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
	if first.Extensions.Retryable || busy {
		return later{err, after}
	}
	return err
}

// change sends a mutation with an idempotency key that is the same for the same input, whenever and by whomever the
// data is loaded.
func (l *loader) change(ctx context.Context, m member, mutation string, input map[string]any, data any) error {
	return l.changeAgain(ctx, m, mutation, "", input, data)
}

// changeAgain sends a mutation whose input may have been sent before, for another purpose or to no avail: round tells one from the
// other.
func (l *loader) changeAgain(ctx context.Context, m member, mutation, round string, input map[string]any, data any) error {
	raw, err := json.Marshal(input) // the keys of a map are sorted
	if err != nil {
		return fmt.Errorf("%s: %w", nameOf(mutation), err)
	}
	sum := sha256.Sum256(raw)
	key := "demo:" + nameOf(mutation) + ":" + hex.EncodeToString(sum[:16])
	if round != "" {
		key += ":" + round
	}
	keyed := map[string]any{"idempotencyKey": key}
	for field, value := range input {
		keyed[field] = value
	}
	return l.ask(ctx, m, mutation, map[string]any{"input": keyed}, data)
}

// nameOf returns the name of an operation, such as CreateNote.
func nameOf(operation string) string {
	_, name, _ := strings.Cut(operation, " ")
	return name[:strings.IndexAny(name, "( {")]
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
