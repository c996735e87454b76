package main

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSubscriptionsEndWithTheMembership(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(3, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	h := l.claimed(ada, 1)[0]
	adas, queue, bobs, filtered := l.listens(ada, nil), ada.subscribe(myQueue, vars{"p": l.id}), l.listens(bob, nil), l.listens(ada, vars{"types": []string{"PAUSED"}})
	for _, one := range []*stream{adas, bobs, filtered} {
		one.snapshot()
	}
	queue.message()
	l.mutate("removeProjectMember", "user { id }", vars{"projectId": l.id, "userId": ada.id})
	var told []string
	for {
		r, open := <-adas.results
		if !open {
			break
		}
		text, _ := json.Marshal(r.Data)
		m := &answer{t: t, body: string(text), Data: r.Data["projectEvents"].(map[string]any)}
		told = append(told, m.str("type"))
		assert.Equal(t, ada.id, m.str("user.id"))
	}
	assert.NoError(t, adas.err, "the server completed it")
	assert.Equal(t, "MEMBERS", told[len(told)-1], "the last thing that one is told")
	filtered.event("MEMBERS") // who asked for other events is told why it ends, too
	assert.NoError(t, filtered.ended())
	assert.NoError(t, queue.ended())
	types := []string{bobs.message().str("type"), bobs.message().str("type")}
	slices.Sort(types)
	assert.Equal(t, []string{"MEMBERS", "RELEASED"}, types, "what the user had is given back")
	l.counts("3 0 0 0")

	l.listens(ada, nil).refused("NOT_FOUND", "")
	ada.subscribe(myQueue, vars{"p": l.id}).refused("NOT_FOUND", "")
	ada.mutate("finishProjectItem", "item { id }", l.finishing(h)).fails("NOT_FOUND", "")

	l.puts(bob, "REVIEWER") // who comes into another team goes on
	assert.Equal(t, "MEMBERS", bobs.message().str("type"))
	l.mutate("pauseProject", "project { id }", vars{"projectId": l.id})
	bobs.event("PAUSED")
}

const myQueue = `subscription($p: ID!) { myQueue(projectId: $p) { project { id name } claims { id name status claim { token until user { id } } } } }`

func TestWhoMayNotListen(t *testing.T) {
	s := newServer(t)
	l := s.labelled(1, 0)
	none := crew{client: l.client, id: gidOf("Project", "none")}
	for code, who := range map[string]*client{
		"NOT_FOUND": s.user("stranger@example.com"), "UNAUTHENTICATED": s.as("newcomer@example.com"),
	} {
		for _, of := range []crew{l, none} {
			of.listens(who, nil).refused(code, "")
			of.listens(who, vars{"after": gidOf("ProjectEvent", globalKey(t, of.id)[1], "e", "1-1")}).refused(code, "")
			who.subscribe(myQueue, vars{"p": of.id}).refused(code, "")
		}
	}
	s.as("newcomer@example.com").subscribe(`subscription { onlineCount }`, nil).refused("UNAUTHENTICATED", "")
	for _, id := range []string{"", "x", l.items[0], l.team} {
		crew{client: l.client, id: id}.listens(l.client, nil).refused(invalid, "projectId")
	}
}

func TestWhoIsNobodyMayNotListen(t *testing.T) {
	s := newServer(t)
	l := s.labelled(1, 0)
	nobody := &client{testServer: s}
	l.listens(nobody, nil).refused("UNAUTHENTICATED", "")
	nobody.subscribe(`subscription { onlineCount }`, nil).refused("UNAUTHENTICATED", "")
	token, err := s.local.Mint(person("labeller0@example.com", "labeller0@example.com", "", false), 2*time.Second)
	require.NoError(t, err)
	brief := l.listens(&client{testServer: s, token: token}, nil)
	brief.snapshot()
	assert.Equal(t, websocket.StatusCode(4403), websocket.CloseStatus(brief.ended()), "the token has expired")
	_, err = (&client{testServer: s, token: "forged"}).dial(context.WithoutCancel(t.Context()), nil, projectEvents, vars{"p": l.id})
	assert.Equal(t, websocket.StatusCode(4403), websocket.CloseStatus(err))
}

func TestErrorsOfEventsHaveTheirPath(t *testing.T) {
	s := newServer(t)
	l := s.labelled(1, 0)
	of := l.labellers[0].subscribe(`subscription($p: ID!) { mine: myQueue(projectId: $p) { project { id all: imports { nodes { id } } } claims { id } } }`, vars{"p": l.id})
	r := of.next()
	require.Len(t, r.Errors, 1)
	assert.Equal(t, "FORBIDDEN", r.Errors[0].Extensions.Code)
	assert.Equal(t, []any{"mine", "project", "all"}, r.Errors[0].Path)
	mine := r.Data["mine"].(map[string]any)
	assert.Equal(t, l.id, mine["project"].(map[string]any)["id"], "the rest stands")
	l.claimed(l.labellers[0], 1)
	r = of.next()
	require.Len(t, r.Errors, 1, "each time")
	assert.Len(t, r.Data["mine"].(map[string]any)["claims"], 1)
}
