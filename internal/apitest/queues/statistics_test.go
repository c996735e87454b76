package queues

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

const statisticsShown = `teams { id statistics { finished incorrect users { user { id name } finished incorrect } } }`

// statistics waits until the members of a team did so much: "finished incorrect" together, and of each user.
func statistics(l apitest.Crew, team, want string, users map[string]string) {
	l.T.Helper()
	l.BecomesSo(l.Client, statisticsShown, func(p *apitest.Answer) bool {
		for _, one := range p.List("teams") {
			one := &apitest.Answer{T: l.T, Body: p.Body, Data: one.(map[string]any)}
			if one.Str("id") != team {
				continue
			}
			each, last := map[string]string{}, ""
			for _, u := range one.List("statistics.users") {
				u := &apitest.Answer{T: l.T, Body: p.Body, Data: u.(map[string]any)}
				each[u.Str("user.id")] = fmt.Sprint(u.At("finished"), u.At("incorrect"))
				require.NotEmpty(l.T, u.Str("user.name"))
				id := apitest.GlobalKey(l.T, u.Str("user.id"))[1]
				require.Greater(l.T, id, last, "ordered by user id")
				last = id
			}
			got := fmt.Sprint(one.At("statistics.finished"), one.At("statistics.incorrect"))
			return got == want && assert.ObjectsAreEqual(users, each)
		}
		return false
	})
}

func TestStatisticsOfTeamsAndUsers(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(12, 0)
	ada, bob, rev := l.Labellers[0], l.Labellers[1], l.Reviewer()
	reviewers := rev.Must(`query($p: ID!) { project(id: $p) { viewerMember { team { id } } } }`, apitest.Vars{"p": l.ID}).Str("project.viewerMember.team.id")
	var efforts []string
	for i, h := range l.Claimed(ada, 3) {
		efforts = append(efforts, l.Finished(ada, h, apitest.Vars{"categoryId": l.Categories[i], "subcategoryId": l.Subcategories[0], "keywords": []string{"Pier", "fog"}}))
	}
	for _, h := range l.Claimed(bob, 2) {
		efforts = append(efforts, l.Finished(bob, h, apitest.Vars{"categoryId": l.Categories[2], "keywords": []string{"fog"}}))
	}
	l.Finished(rev, l.Claimed(rev, 1)[0], apitest.Vars{"categoryId": l.Categories[2], "subcategoryId": l.Subcategories[1]})
	statistics(l, l.Team, "5 0", map[string]string{ada.ID: "3 0", bob.ID: "2 0"})
	statistics(l, reviewers, "1 0", map[string]string{rev.ID: "1 0"})
	tops(l, "fog 5, Pier 3", "Swan 4, Duck 1, Goose 1", "Wild 3, Tame 1")

	rev.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": efforts[0], "verdict": "INCORRECT"})
	rev.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": efforts[0], "verdict": "INCORRECT", "comment": "again"})
	statistics(l, l.Team, "5 1", map[string]string{ada.ID: "3 1", bob.ID: "2 0"})
	statistics(l, reviewers, "1 0", map[string]string{rev.ID: "1 0"}) // who reviews is not counted
	bob.Mutate("undoFinish", "item { id }", apitest.Vars{"effortId": efforts[4]})
	statistics(l, l.Team, "4 1", map[string]string{ada.ID: "3 1", bob.ID: "1 0"})
	tops(l, "fog 4, Pier 3", "Swan 3, Duck 1, Goose 1", "Wild 3, Tame 1")

	// Who moves on leaves behind what was done in a team.
	l.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": reviewers, "userId": ada.ID})
	l.Finished(ada, l.Claimed(ada, 1)[0])
	statistics(l, l.Team, "4 1", map[string]string{ada.ID: "3 1", bob.ID: "1 0"})
	statistics(l, reviewers, "2 0", map[string]string{rev.ID: "1 0", ada.ID: "1 0"})

	// The same again from what is stored.
	a := l.Mutate("rebuildProjectQueue", "project { id } problem { __typename }", apitest.Vars{"projectId": l.ID})
	require.Nil(t, a.At("result.problem"), "%s", a.Body)
	statistics(l, l.Team, "4 1", map[string]string{ada.ID: "3 1", bob.ID: "1 0"})
	statistics(l, reviewers, "2 0", map[string]string{rev.ID: "1 0", ada.ID: "1 0"})
	tops(l, "fog 4, Pier 3", "Swan 3, Duck 2, Goose 1", "Wild 3, Tame 1")
	l.Counts("6 1 5 0")
}

// tops waits until these keywords, categories and subcategories are used most.
func tops(l apitest.Crew, keywords, categories, subcategories string) {
	l.T.Helper()
	used := func(p *apitest.Answer, path string) string {
		text := ""
		for i, u := range p.List(path) {
			if i > 0 {
				text += ", "
			}
			u := u.(map[string]any)
			text += fmt.Sprint(u["value"], " ", u["count"])
		}
		return text
	}
	l.BecomesSo(l.Labellers[4], `topKeywords { value count } topCategories { value count } topSubcategories { value count }`, func(p *apitest.Answer) bool {
		return used(p, "topKeywords") == keywords && used(p, "topCategories") == categories && used(p, "topSubcategories") == subcategories
	})
}

func TestTheFiveWordsUsedMost(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(7, 0)
	for i, h := range l.Claimed(l.Labellers[0], 7) {
		l.Finished(l.Labellers[0], h, apitest.Vars{"keywords": []string{"a", "日本", "😀", "x:#{}%", `"quoted" \ word`, "zz", "last"}[:7-i]})
	}
	tops(l, `a 7, 日本 6, 😀 5, x:#{}% 4, "quoted" \ word 3`, "Duck 7", "")
}

func TestKeywordsAreCompleted(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(2, 0)
	completions := func(prefix string, n int) string {
		t.Helper()
		return apitest.Words(l.Labellers[0].Must(`query($p: ID!, $x: String!, $n: Int!) { project(id: $p) { keywordCompletions(prefix: $x, first: $n) } }`, apitest.Vars{"p": l.ID, "x": prefix, "n": n}).List("project.keywordCompletions"))
	}
	assert.Empty(t, completions("", 10))
	l.Mutate("updateProject", "project { id }", apitest.Vars{"projectId": l.ID, "suggestedKeywords": []string{"pier", "pile", "Pillar", "日本", "日曜", "😀smile", "😁grin", "a%", "a*b", "a\\", "[x", "(y", "{z}", "ärger", "+inf", "-"}})
	l.BecomesSo(l.Client, `keywordCompletions(prefix: "pie")`, func(p *apitest.Answer) bool { return apitest.Words(p.List("keywordCompletions")) == "pier" })
	h := l.Claimed(l.Labellers[0], 1)[0]
	effort := l.Finished(l.Labellers[0], h, apitest.Vars{"keywords": []string{"piano", "日"}})
	l.BecomesSo(l.Client, `keywordCompletions(prefix: "pia")`, func(p *apitest.Answer) bool { return apitest.Words(p.List("keywordCompletions")) == "piano" })
	for _, test := range []struct {
		prefix string
		n      int
		want   string
	}{
		{"pi", 100, "piano pier pile Pillar"}, {"PI", 100, "piano pier pile Pillar"}, {"pI", 2, "piano pier"}, {"pil", 100, "pile Pillar"}, {"Pill", 100, "Pillar"}, {"pillars", 100, ""},
		{"日", 100, "日 日曜 日本"}, {"日本", 100, "日本"}, {"😀", 100, "😀smile"}, {"a%", 100, "a%"}, {"a*", 100, "a*b"}, {"a\\", 100, "a\\"}, {"[", 100, "[x"}, {"(", 100, "(y"}, {"{", 100, "{z}"},
		{"Ä", 100, "ärger"}, {"+", 100, "+inf"}, {"-", 100, "-"}, {"?", 100, ""}, {".*", 100, ""}, {"a", 100, "a% a*b a\\"}, {"ｐｉｅ", 100, "pier"},
	} {
		assert.Equal(t, test.want, completions(test.prefix, test.n), "%q", test.prefix)
	}
	a := l.Mutate("removeSuggestedKeywords", "project { version suggestedKeywords }", apitest.Vars{"projectId": l.ID, "keywords": []string{"PIER", "pile", "piano"}})
	require.Empty(t, a.Errors, "%s", a.Body)
	version := a.At("result.project.version")
	assert.Len(t, a.List("result.project.suggestedKeywords"), 14)
	assert.Equal(t, "piano Pillar", completions("pi", 100), "what somebody uses stays")
	a = l.Mutate("removeSuggestedKeywords", "project { version }", apitest.Vars{"projectId": l.ID, "keywords": []string{"pier"}})
	assert.Equal(t, version, a.At("result.project.version"), "nothing was different")
	l.Labellers[0].Mutate("removeSuggestedKeywords", "project { id }", apitest.Vars{"projectId": l.ID, "keywords": []string{"Pillar"}}).Fails("FORBIDDEN", "")
	l.Labellers[0].Mutate("undoFinish", "item { id }", apitest.Vars{"effortId": effort})
	l.BecomesSo(l.Client, `keywordCompletions(prefix: "pi")`, func(p *apitest.Answer) bool { return apitest.Words(p.List("keywordCompletions")) == "Pillar" })
	assert.Len(t, l.Must(`query($p: ID!) { project(id: $p) { keywordCompletions(prefix: "") } }`, apitest.Vars{"p": l.ID}).List("project.keywordCompletions"), 10, "as many as are asked for")
	for _, arguments := range []string{`prefix: "a", first: 0`, `prefix: "a", first: 101`, `prefix: "a", first: -1`} {
		l.Do(`query($p: ID!) { project(id: $p) { keywordCompletions(`+arguments+`) } }`, apitest.Vars{"p": l.ID}).Fails(apitest.Invalid, "first")
	}
	for _, prefix := range []string{string(make([]rune, 65)), "a\x00", "a\x07b", fmt.Sprintf("%065d", 1)} {
		l.Do(`query($p: ID!, $x: String!) { project(id: $p) { keywordCompletions(prefix: $x) } }`, apitest.Vars{"p": l.ID, "x": prefix}).Fails(apitest.Invalid, "prefix")
	}
}

func TestWhoIsOnline(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(1, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	online := func(who *apitest.Client) string {
		t.Helper()
		a := who.Must(`query($p: ID!) { onlineCount project(id: $p) { online { seenAt user { id name } } } }`, apitest.Vars{"p": l.ID})
		got := fmt.Sprint(a.At("onlineCount"))
		for _, o := range a.List("project.online") {
			o := &apitest.Answer{T: t, Body: a.Body, Data: o.(map[string]any)}
			assert.WithinDuration(t, time.Now(), o.Time("seenAt"), time.Minute)
			assert.Equal(t, "Somebody", o.Str("user.name"))
			got += " " + map[string]string{ada.ID: "ada", bob.ID: "bob", l.Client.ID: "manager"}[o.Str("user.id")]
		}
		return got
	}
	beats := func(who *apitest.Client, want int, projects ...string) {
		t.Helper()
		a := who.Mutate("heartbeat", "onlineCount", apitest.Vars{"projectIds": append([]string{}, projects...)})
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.InDelta(t, want, a.At("result.onlineCount"), 0)
	}
	assert.Equal(t, "0", online(ada))
	beats(ada, 1)
	assert.Equal(t, "1", online(l.Client), "in no project")
	beats(ada, 1, l.ID)
	beats(bob, 2, l.ID, l.ID)
	assert.Equal(t, "2 ada bob", online(l.Client))
	stranger := s.User("stranger@example.com")
	beats(stranger, 3, l.ID, apitest.GIDOf("Project", "none"))
	assert.Equal(t, "3 ada bob", online(ada), "those of which one is no member are left out")
	beats(ada, 3, l.ID)
	assert.Equal(t, "3 bob ada", online(ada), "the one heard of last at the end")
	assert.InDelta(t, 3, stranger.Must(`{ onlineCount }`, nil).At("onlineCount"), 0)

	stranger.Mutate("heartbeat", "onlineCount", apitest.Vars{"projectIds": apitest.Many(l.ID, 21)}).Fails(apitest.Invalid, "input.projectIds")
	stranger.Mutate("heartbeat", "onlineCount", apitest.Vars{"projectIds": []string{ada.ID}}).Fails(apitest.Invalid, "input.projectIds")
	nobody := s.As("nobody@example.com")
	nobody.Mutate("heartbeat", "onlineCount", apitest.Vars{}).Fails("UNAUTHENTICATED", "")
	nobody.Do(`{ onlineCount }`, nil).Fails("UNAUTHENTICATED", "")
}
