package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// api is a client of the contract, as far as subscribers need one.
type api struct {
	url    string
	client *http.Client // nil for Go's
	held   vars         // the item that was claimed last, by its id and token
}

type vars map[string]any

// data is what a request brought.
type data map[string]any

// at returns what is under the names, nil when there is nothing.
func (d data) at(names ...string) any {
	var value any = map[string]any(d)
	for _, name := range names {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// list returns the objects of a list, none when there is no such list.
func (d data) list(names ...string) (all []data) {
	values, _ := d.at(names...).([]any)
	for _, v := range values {
		object, _ := v.(map[string]any)
		all = append(all, object)
	}
	return all
}

func (d data) text(names ...string) string {
	s, _ := d.at(names...).(string)
	return s
}

// refused is an answer with errors: the first message, and to what.
type refused string

// Error returns the message.
func (r refused) Error() string { return string(r) }

// ask sends an operation that has to succeed.
func (a *api) ask(ctx context.Context, token, query string, v vars) (data, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": v})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := cmp.Or(a.client, http.DefaultClient).Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Data   data
		Errors []struct{ Message string }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if len(answer.Errors) > 0 {
		return nil, refused(fmt.Sprintf("%s: %.60s", answer.Errors[0].Message, query))
	}
	return answer.Data, nil
}

// importItems imports n items, and waits until the queue has as many of them as it takes.
func (a *api) importItems(ctx context.Context, token, project string, n int) error {
	var file strings.Builder
	for i := range n {
		fmt.Fprintf(&file, `{"externalId":"item-%05d","name":"Item %d"}`+"\n", i, i)
	}
	made, err := a.ask(ctx, token, `mutation($p: ID!, $b: Int64!) { createProjectImport(input: {projectId: $p, format: JSON_LINES, bytes: $b}) { import { id } upload { method url headers { name value } } } }`,
		vars{"p": project, "b": file.Len()})
	if err != nil {
		return err
	}
	if err := put(ctx, http.DefaultClient, made.at("createProjectImport", "upload"), strings.NewReader(file.String())); err != nil {
		return err
	}
	if _, err := a.ask(ctx, token, `mutation($i: ID!) { startProjectImport(input: {importId: $i}) { import { state } } }`, vars{"i": made.text("createProjectImport", "import", "id")}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		state, err := a.ask(ctx, token, `query($p: ID!) { project(id: $p) { queue { queued size counts { total } } } }`, vars{"p": project})
		size, _ := state.at("project", "queue", "size").(float64)
		if err == nil && state.at("project", "queue", "counts", "total") == float64(n) && state.at("project", "queue", "queued") == min(float64(n), size) {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// put makes the request that the server signed.
func put(ctx context.Context, client *http.Client, signed any, file io.Reader) error {
	object, _ := signed.(map[string]any)
	request := data(object)
	r, err := http.NewRequestWithContext(ctx, request.text("method"), request.text("url"), file)
	if err != nil {
		return err
	}
	for _, h := range request.list("headers") {
		r.Header.Set(h.text("name"), h.text("value"))
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("S3 answers %s", response.Status)
	}
	return nil
}

// metric returns the sum of a metric over its labels.
func (p *process) metric(name string) (float64, error) {
	response, err := http.Get(p.url + "/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	sum := 0.0
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, name+"{") && !strings.HasPrefix(line, name+" ") {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, lines.Err()
}
