package subscriptions

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
)

func TestSubscriptionsEndWithTheMembership(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(3, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	h := l.Claimed(ada, 1)[0]
	adas, queue, bobs, filtered := l.Listens(ada, nil), ada.Subscribe(myQueue, apitest.Vars{"p": l.ID}), l.Listens(bob, nil), l.Listens(ada, apitest.Vars{"types": []string{"PAUSED"}})
	for _, one := range []*apitest.Stream{adas, bobs, filtered} {
		one.Snapshot()
	}
	queue.Message()
	l.Mutate("removeProjectMember", "user { id }", apitest.Vars{"projectId": l.ID, "userId": ada.ID})
	var told []string
	for {
		r, open := <-adas.Results
		if !open {
			break
		}
		text, _ := json.Marshal(r.Data)
		m := &apitest.Answer{T: t, Body: string(text), Data: r.Data["projectEvents"].(map[string]any)}
		told = append(told, m.Str("type"))
		assert.Equal(t, ada.ID, m.Str("user.id"))
	}
	assert.NoError(t, adas.Err, "the server completed it")
	assert.Equal(t, "MEMBERS", told[len(told)-1], "the last thing that one is told")
	filtered.Event("MEMBERS") // who asked for other events is told why it ends, too
	assert.NoError(t, filtered.Ended())
	assert.NoError(t, queue.Ended())
	types := []string{bobs.Message().Str("type"), bobs.Message().Str("type")}
	slices.Sort(types)
	assert.Equal(t, []string{"MEMBERS", "RELEASED"}, types, "what the user had is given back")
	l.Counts("3 0 0 0")

	l.Listens(ada, nil).Refused("NOT_FOUND", "")
	ada.Subscribe(myQueue, apitest.Vars{"p": l.ID}).Refused("NOT_FOUND", "")
	ada.Mutate("finishProjectItem", "item { id }", l.Finishing(h)).Fails("NOT_FOUND", "")

	l.Puts(bob, "REVIEWER") // who comes into another team goes on
	assert.Equal(t, "MEMBERS", bobs.Message().Str("type"))
	l.Mutate("pauseProject", "project { id }", apitest.Vars{"projectId": l.ID})
	bobs.Event("PAUSED")
}

const myQueue = `subscription($p: ID!) { myQueue(projectId: $p) { project { id name } claims { id name status claim { token until user { id } } } } }`

func TestWhoMayNotListen(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(1, 0)
	none := apitest.Crew{Client: l.Client, ID: apitest.GIDOf("Project", "none")}
	for code, who := range map[string]*apitest.Client{
		"NOT_FOUND": s.User("stranger@example.com"), "UNAUTHENTICATED": s.As("newcomer@example.com"),
	} {
		for _, of := range []apitest.Crew{l, none} {
			of.Listens(who, nil).Refused(code, "")
			of.Listens(who, apitest.Vars{"after": apitest.GIDOf("ProjectEvent", apitest.GlobalKey(t, of.ID)[1], "e", "1-1")}).Refused(code, "")
			who.Subscribe(myQueue, apitest.Vars{"p": of.ID}).Refused(code, "")
		}
	}
	s.As("newcomer@example.com").Subscribe(`subscription { onlineCount }`, nil).Refused("UNAUTHENTICATED", "")
	for _, id := range []string{"", "x", l.Items[0], l.Team} {
		apitest.Crew{Client: l.Client, ID: id}.Listens(l.Client, nil).Refused(apitest.Invalid, "projectId")
	}
}

func TestWhoIsNobodyMayNotListen(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(1, 0)
	nobody := &apitest.Client{Server: s}
	l.Listens(nobody, nil).Refused("UNAUTHENTICATED", "")
	nobody.Subscribe(`subscription { onlineCount }`, nil).Refused("UNAUTHENTICATED", "")
	token, err := s.Local.Mint(app.Person("labeller0@example.com", "labeller0@example.com", "", false), 2*time.Second)
	require.NoError(t, err)
	brief := l.Listens(&apitest.Client{Server: s, Token: token}, nil)
	brief.Snapshot()
	assert.Equal(t, websocket.StatusCode(4403), websocket.CloseStatus(brief.Ended()), "the token has expired")
	_, err = (&apitest.Client{Server: s, Token: "forged"}).Dial(context.WithoutCancel(t.Context()), nil, apitest.ProjectEvents, apitest.Vars{"p": l.ID})
	assert.Equal(t, websocket.StatusCode(4403), websocket.CloseStatus(err))
}

func TestErrorsOfEventsHaveTheirPath(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(1, 0)
	of := l.Labellers[0].Subscribe(`subscription($p: ID!) { mine: myQueue(projectId: $p) { project { id all: imports { nodes { id } } } claims { id } } }`, apitest.Vars{"p": l.ID})
	r := of.Next()
	require.Len(t, r.Errors, 1)
	assert.Equal(t, "FORBIDDEN", r.Errors[0].Extensions.Code)
	assert.Equal(t, []any{"mine", "project", "all"}, r.Errors[0].Path)
	mine := r.Data["mine"].(map[string]any)
	assert.Equal(t, l.ID, mine["project"].(map[string]any)["id"], "the rest stands")
	l.Claimed(l.Labellers[0], 1)
	r = of.Next()
	require.Len(t, r.Errors, 1, "each time")
	assert.Len(t, r.Data["mine"].(map[string]any)["claims"], 1)
}

// What is selected of an event is written once for all who select the same, unless it is not the same for all: a claim's token is for whoever
// holds it, and an address for its user.
func TestNobodyIsToldWhatIsForSomebodyElse(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(3, 0)
	all := l.Labellers
	for selection, own := range map[string]bool{
		"cursor at item { id name claim { user { id name } until } } user { id name } counts { claimed }": false,
		"cursor at item { id name claim { user { id name } until token } } user { id name email }":        true,
	} {
		holder := l.Labellers[1]
		var streams []*apitest.Stream
		for _, c := range all {
			one := c.Subscribe(`subscription($p: ID!) { projectEvents(projectId: $p, types: [CLAIMED]) { __typename ... on ProjectEvent { `+selection+` } } }`, apitest.Vars{"p": l.ID})
			assert.Equal(t, "ProjectSnapshot", one.Next().Data["projectEvents"].(map[string]any)["__typename"])
			streams = append(streams, one)
		}
		claimed := l.Claimed(holder, 1)[0]
		told := map[string]int{}
		for i, one := range streams {
			event := one.Next().Data["projectEvents"].(map[string]any)
			text, err := json.Marshal(event)
			require.NoError(t, err)
			told[string(text)]++
			claim, user := event["item"].(map[string]any)["claim"].(map[string]any), event["user"].(map[string]any)
			assert.Equal(t, user["id"], claim["user"].(map[string]any)["id"])
			if own {
				assert.Equal(t, all[i] == holder, claim["token"] != nil, "token, %d", i)
				assert.Equal(t, all[i] == holder, user["email"] != nil, "address, %d", i)
			}
		}
		assert.Len(t, told, map[bool]int{false: 1, true: 2}[own], selection)
		l.Finished(holder, claimed)
	}
}
