package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// perUser is how many sockets a user may have open at one server.
const perUser = 20

// crowd measures how events reach those who subscribe to one project on one server.
type crowd struct {
	options
	server *process
	api    *api
	owner  string // a token
	people []string
	items  int
	id     string // of the project
}

// measureSubscribers has many listen to one project, and prints how long an event is on its way to the last of them, and what
// they cost the server, which runs as under `make run` but with one core.
func measureSubscribers(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "taggie-bench-subscribers-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	variables := []string{
		"TAGGIE_DATA=" + dir, "TAGGIE_LOG_LEVEL=warn",
		"TAGGIE_COST_BUDGET=1000000000", "TAGGIE_COST_RATE=1000000", // a user has 20 sockets, and is told each event 20 times
	}
	server, err := startAlone(ctx, o, variables...)
	if err != nil {
		return err
	}
	defer server.stop()
	c := crowd{options: o, server: server, api: &api{url: server.url}, items: 200}
	if err := c.found(ctx, dir, (c.subscribers+perUser-1)/perUser); err != nil {
		return fmt.Errorf("make a project for subscribers: %w", err)
	}
	out := crowdReport{to: os.Stdout}
	if err := c.rush(ctx, o.subscribers, &out); err != nil {
		return fmt.Errorf("%d subscribers at once: %w", o.subscribers, err)
	}
	out.begin(o)
	for _, n := range []int{1, o.subscribers} {
		if err := c.listen(ctx, n, &out); err != nil {
			return fmt.Errorf("%d subscribers: %w", n, err)
		}
	}
	if err := c.stall(ctx, &out); err != nil {
		return fmt.Errorf("a subscriber that does not read: %w", err)
	}
	return nil
}

// found makes a project with items and members.
func (c *crowd) found(ctx context.Context, dir string, members int) error {
	mint, err := tokens(dir)
	if err != nil {
		return err
	}
	sign := func(n int) (token, id string, err error) {
		email := fmt.Sprintf("member-%d@example.com", n)
		if token, err = mint(email); err != nil {
			return "", "", err
		}
		made, err := c.api.ask(ctx, token, `mutation($n: String!, $e: String!) { createUser(input: {name: $n, email: $e}) { user { id } } }`, vars{"n": fmt.Sprintf("Member %d", n), "e": email})
		return token, made.text("createUser", "user", "id"), err
	}
	if c.owner, _, err = sign(0); err != nil {
		return err
	}
	made, err := c.api.ask(ctx, c.owner, `mutation { createProject(input: {name: "Listened to", categories: ["one"]}) { project { id } } }`, nil)
	if err != nil {
		return err
	}
	c.id = made.text("createProject", "project", "id")
	made, err = c.api.ask(ctx, c.owner, `mutation($p: ID!) { createTeam(input: {projectId: $p, name: "Listeners", type: TAGGIE}) { team { id } } }`, vars{"p": c.id})
	if err != nil {
		return err
	}
	team := made.text("createTeam", "team", "id")
	for n := 1; n <= members; n++ {
		token, id, err := sign(n)
		if err != nil {
			return err
		}
		if _, err := c.api.ask(ctx, c.owner, `mutation($t: ID!, $u: ID!) { putProjectMember(input: {teamId: $t, userId: $u}) { member { type } } }`, vars{"t": team, "u": id}); err != nil {
			return err
		}
		c.people = append(c.people, token)
	}
	return c.api.importItems(ctx, c.owner, c.id, c.items)
}

// watch is what every subscriber asks for.
const watch = `subscription($p: ID!, $after: EventCursor) { projectEvents(projectId: $p, after: $after) {
	... on ProjectSnapshot { cursor queue { counts { new claimed finished } } }
	... on ProjectEvent { cursor type at item { name category { name } } user { name } team { name } counts { new claimed finished } }
	... on ProjectGap { message } } }`

// events is how many each measurement makes: an item is claimed and released, one after the other.
const events = 40

// told is what was measured with so many subscribers.
type told struct {
	subscribers int
	connect     time.Duration   // until all had their snapshot
	last        []time.Duration // from the request that makes an event to the last subscriber's having it
	answered    []time.Duration // from the request to its answer
	memory      int64           // of the process, in bytes, above what it was without them
	cpu         time.Duration   // of the process, for all events
	reads       float64         // of DynamoDB, for all events, jobs included
}

// listen measures n subscribers.
func (c *crowd) listen(ctx context.Context, n int, out *crowdReport) error {
	before, err := c.server.resident()
	if err != nil {
		return err
	}
	began := time.Now()
	all, err := c.subscribe(ctx, n)
	defer all.close()
	if err != nil {
		return err
	}
	t := told{subscribers: n, connect: time.Since(began)}
	after, err := c.server.resident()
	if err != nil {
		return err
	}
	t.memory = after - before
	cpu, err := c.server.cpu()
	if err != nil {
		return err
	}
	reads, err := c.server.metric("taggie_dynamodb_calls_total")
	if err != nil {
		return err
	}
	for range events / 2 {
		for _, make := range []func(context.Context) error{c.claim, c.release} {
			began := time.Now()
			if err := make(ctx); err != nil {
				return err
			}
			t.answered = append(t.answered, time.Since(began))
			last, err := all.heard(ctx)
			if err != nil {
				return err
			}
			t.last = append(t.last, last.Sub(began))
		}
	}
	used, err := c.server.cpu()
	if err != nil {
		return err
	}
	more, err := c.server.metric("taggie_dynamodb_calls_total")
	if err != nil {
		return err
	}
	t.cpu, t.reads = used-cpu, more-reads
	out.add(t)
	return nil
}

func (c *crowd) claim(ctx context.Context) error {
	a, err := c.api.ask(ctx, c.owner, `mutation($p: ID!) { claimProjectItems(input: {projectId: $p}) { items { id claim { token } } problem { ... on Problem { message } } } }`, vars{"p": c.id})
	if err != nil {
		return err
	}
	items := a.list("claimProjectItems", "items")
	if len(items) != 1 {
		return fmt.Errorf("no item was handed out: %v", a)
	}
	c.api.held = vars{"i": items[0].text("id"), "t": items[0].text("claim", "token")}
	return nil
}

func (c *crowd) release(ctx context.Context) error {
	a, err := c.api.ask(ctx, c.owner, `mutation($i: ID!, $t: String!) { releaseProjectItem(input: {itemId: $i, token: $t}) { item { status } } }`, c.api.held)
	if err == nil && a.text("releaseProjectItem", "item", "status") != "NEW" {
		err = errors.New("the item was not released")
	}
	return err
}
