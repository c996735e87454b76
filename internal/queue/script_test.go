package queue

import (
	"context"
	"embed"
	"errors"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

//go:embed lua/*.lua
var sources embed.FS

func source(t *testing.T, name string) string {
	t.Helper()
	text, err := sources.ReadFile("lua/" + name)
	require.NoError(t, err)
	return string(text)
}

// recorder answers every command itself and remembers the scripts it was asked to run.
type recorder struct {
	ran []ran
}

type ran struct {
	hash string
	keys []string
}

var errRecorded = errors.New("recorded")

func (r *recorder) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errRecorded }
}

func (r *recorder) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return errRecorded }
}

func (r *recorder) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if cmd.Name() == "evalsha" {
			n, _ := strconv.Atoi(text(args[2]))
			if i, ok := args[2].(int); ok {
				n = i
			}
			one := ran{hash: args[1].(string)}
			for _, key := range args[3 : 3+n] {
				one.keys = append(one.keys, key.(string))
			}
			r.ran = append(r.ran, one)
		}
		switch cmd := cmd.(type) {
		case *redis.Cmd:
			cmd.SetVal([]any{"OK", "1", "1-1", int64(0), []any{}, []any{}, []any{}})
		case *redis.StringSliceCmd:
			cmd.SetVal([]string{"u1", "u2"}) // what a rebuild has loaded
		}
		return nil
	}
}

// scripts are all of them by hash, with their names.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	entries, err := sources.ReadDir("lua")
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		if e.Name() != "prelude.lua" && e.Name() != "guard.lua" {
			all[script(source(t, e.Name())).Hash()] = e.Name()
			all[guarded(source(t, e.Name())).Hash()] = e.Name()
		}
	}
	return all
}

// TestScriptsDeclareTheirKeysInOneSlot calls everything that runs a script, and looks at the keys it gets.
func TestScriptsDeclareTheirKeysInOneSlot(t *testing.T) {
	r := &recorder{}
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(r)
	f := &fixture{Queue: New(client, Options{Prefix: "eu:"}), project: "p1"}
	ctx := t.Context()
	for _, call := range calls(f, 1) {
		_ = call(ctx)
	}
	for _, cause := range []labelling.Cause{labelling.Claimed, labelling.Finished, labelling.Reviewed} {
		_, _ = f.Apply(ctx, labelling.Transition{Project: "p1", Cause: cause, User: "u{1}", Author: "", Team: "t:1", Item: "i{2}"})
	}
	_ = f.Heartbeat(ctx, "u1", []project.ID{"p1", "p2"})
	_, _ = f.Online(ctx, "p1")
	_, _ = f.OnlineCount(ctx)
	_, _ = f.Begin(ctx, "p1", "tok{en}", true)
	_ = f.Load(ctx, "p1", "tok{en}", labelling.Part{
		Claims:     []labelling.Claim{{User: "u1"}, {User: "u2"}, {User: "u1"}},
		Returned:   []labelling.Returned{{User: "u3"}},
		Statistics: []labelling.Statistics{{Team: "t1"}, {Team: "t2"}},
	})
	_ = f.Progress(ctx, "p1", "tok{en}", 7, 9)
	_ = f.Commit(ctx, "p1", "tok{en}", labelling.Settings{})
	_ = f.Abort(ctx, "p1", "tok{en}")
	_ = f.Publish(ctx, labelling.Message{ID: "{1}", Project: "p1", Item: "i{2}"})
	w := &worker{Queue: f.Queue, n: 3, share: new(share), handle: func(context.Context, labelling.Message) error { return nil }}
	_ = w.own(ctx)
	_, _, _ = w.deliver(ctx, &taken{entry: "1-1"})
	_ = f.RetryDeadLetter(ctx, "3/1-1")
	_, _ = f.Condemn(ctx, "p1", "e")
	_, _ = Streams{f.Queue}.Append(ctx, follow.NotesOf("u{1}"), follow.Entry{Event: event.Event{Of: "n:1", With: "u{2}"}}, true)
	_, _ = f.eraseIn(ctx, "p1", []string{f.keysOf("p1").team("t:1")}, "u{1}", called)
	_, _ = f.drop(ctx, f.streamKey(follow.NotesOf("u{1}")), "u{2}")

	known, seen := scripts(t), map[string]int{}
	for _, one := range r.ran {
		name := known[one.hash]
		require.NotEmpty(t, name, "a script without a file")
		seen[name] = max(seen[name], len(one.keys))
		for _, key := range one.keys {
			assert.Equal(t, slot(one.keys[0]), slot(key), "%s: %s and %s", name, one.keys[0], key)
			assert.True(t, strings.HasPrefix(key, "eu:taggie:"), key)
			for _, alone := range []string{f.sizeKey(), f.onlineCountKey()} {
				assert.NotEqual(t, alone, key, "has no project")
			}
		}
	}
	assert.Len(t, seen, len(known)/2, "every script was run")
	// What is asked of KEYS was given.
	for name, given := range seen {
		for _, m := range regexp.MustCompile(`KEYS\[(\d+)\]`).FindAllStringSubmatch(source(t, name), -1) {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			assert.LessOrEqual(t, n, given, "%s: %s", name, m[0])
		}
	}
}

// TestScriptsUseDeclaredKeysOnly reads the scripts: the key of a command is an element of KEYS, or a name that stands for one.
func TestScriptsUseDeclaredKeysOnly(t *testing.T) {
	var (
		command = regexp.MustCompile(`redis\.p?call\('([A-Z]+)'(?:, ([^,()]+))?[,)]`)
		local   = regexp.MustCompile(`local\s+([a-zA-Z_, ]+?)\s*=\s*((?:KEYS\[\d+\],?\s*)+)`)
		element = regexp.MustCompile(`^KEYS\[[\w. +*]+\]$`)
	)
	for name := range scriptsByName(t) {
		text := strip(source(t, name))
		assert.NotContains(t, text, "taggie:", "%s spells a key", name)
		declared := map[string]bool{"counts[i]": true, "counts[i][1]": true} // tables of elements of KEYS
		for _, m := range local.FindAllStringSubmatch(text, -1) {
			variables := strings.Split(m[1], ",")
			assert.Len(t, variables, strings.Count(m[2], "KEYS["), "%s: %s", name, m[0])
			for _, v := range variables {
				declared[strings.TrimSpace(v)] = true
			}
		}
		if name == "prelude.lua" { // functions there get keys under these names
			for _, v := range []string{"applied", "claims", "counts", "events", "messages", "metadata", "queue", "queued", "reviews", "sent", "top"} {
				declared[v] = true
			}
		}
		if name == "guard.lua" { // keys are what the script gets
			declared["key"], declared["present"] = true, true
		}
		found := command.FindAllStringSubmatch(text, -1)
		for _, m := range found {
			if m[1] != "TIME" {
				assert.True(t, declared[m[2]] || element.MatchString(m[2]), "%s: %s: the key is not declared", name, m[0])
			}
		}
		assert.Len(t, found, strings.Count(text, "redis.call(")+strings.Count(text, "redis.pcall("), "%s: every command was looked at", name)
	}
}

func scriptsByName(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{"prelude.lua": true, "guard.lua": true}
	for _, name := range scripts(t) {
		all[name] = true
	}
	return all
}

// strip removes comments.
func strip(lua string) string { return regexp.MustCompile(`--[^\n]*`).ReplaceAllString(lua, "") }

func TestScriptsSayWhatTheyNeed(t *testing.T) {
	for name := range scriptsByName(t) {
		text := source(t, name)
		assert.True(t, strings.HasPrefix(text, "-- "), name)
		if name == "prelude.lua" || name == "guard.lua" {
			continue
		}
		for _, part := range []string{"\n-- KEYS: ", "\n-- ARGV: ", "\n-- Returns: "} {
			assert.Contains(t, text, part, name)
		}
	}
}

func TestFailuresAreTold(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialTimeout: time.Second})
	t.Cleanup(func() { _ = client.Close() })
	q := New(client, Options{})
	_, err := q.State(t.Context(), "p1")
	assert.True(t, fault.Is(err, fault.Unavailable), "nobody listens: %v", err)
	_, err = q.Now(t.Context())
	assert.True(t, fault.Is(err, fault.Unavailable))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = q.State(cancelled, "p1")
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, fault.Is(err, fault.Unavailable), "it is not Redis that gave up")
}
