package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const statisticsShown = `teams { id statistics { finished incorrect users { user { id name } finished incorrect } } }`

// statistics waits until the members of a team did so much: "finished incorrect" together, and of each user.
func (l crew) statistics(team, want string, users map[string]string) {
	l.t.Helper()
	l.becomesSo(l.client, statisticsShown, func(p *answer) bool {
		for _, one := range p.list("teams") {
			one := &answer{t: l.t, body: p.body, Data: one.(map[string]any)}
			if one.str("id") != team {
				continue
			}
			each, last := map[string]string{}, ""
			for _, u := range one.list("statistics.users") {
				u := &answer{t: l.t, body: p.body, Data: u.(map[string]any)}
				each[u.str("user.id")] = fmt.Sprint(u.at("finished"), u.at("incorrect"))
				require.NotEmpty(l.t, u.str("user.name"))
				id := globalKey(l.t, u.str("user.id"))[1]
				require.Greater(l.t, id, last, "ordered by user id")
				last = id
			}
			got := fmt.Sprint(one.at("statistics.finished"), one.at("statistics.incorrect"))
			return got == want && assert.ObjectsAreEqual(users, each)
		}
		return false
	})
}

func TestStatisticsOfTeamsAndUsers(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.works()
	l := s.labelled(12, 0)
	ada, bob, rev := l.labellers[0], l.labellers[1], l.reviewer()
	reviewers := rev.must(`query($p: ID!) { project(id: $p) { viewerMember { team { id } } } }`, vars{"p": l.id}).str("project.viewerMember.team.id")
	var efforts []string
	for i, h := range l.claimed(ada, 3) {
		efforts = append(efforts, l.finished(ada, h, vars{"categoryId": l.categories[i], "subcategoryId": l.subcategories[0], "keywords": []string{"Pier", "fog"}}))
	}
	for _, h := range l.claimed(bob, 2) {
		efforts = append(efforts, l.finished(bob, h, vars{"categoryId": l.categories[2], "keywords": []string{"fog"}}))
	}
	l.finished(rev, l.claimed(rev, 1)[0], vars{"categoryId": l.categories[2], "subcategoryId": l.subcategories[1]})
	l.statistics(l.team, "5 0", map[string]string{ada.id: "3 0", bob.id: "2 0"})
	l.statistics(reviewers, "1 0", map[string]string{rev.id: "1 0"})
	l.tops("fog 5, Pier 3", "Swan 4, Goose 1, Duck 1", "Wild 3, Tame 1")

	rev.mutate("reviewEffort", "effort { id }", vars{"effortId": efforts[0], "verdict": "INCORRECT"})
	rev.mutate("reviewEffort", "effort { id }", vars{"effortId": efforts[0], "verdict": "INCORRECT", "comment": "again"})
	l.statistics(l.team, "5 1", map[string]string{ada.id: "3 1", bob.id: "2 0"})
	l.statistics(reviewers, "1 0", map[string]string{rev.id: "1 0"}) // who reviews is not counted
	bob.mutate("undoFinish", "item { id }", vars{"effortId": efforts[4]})
	l.statistics(l.team, "4 1", map[string]string{ada.id: "3 1", bob.id: "1 0"})
	l.tops("fog 4, Pier 3", "Swan 3, Goose 1, Duck 1", "Wild 3, Tame 1")

	// Who moves on leaves behind what was done in a team.
	l.mutate("putProjectMember", "member { type }", vars{"teamId": reviewers, "userId": ada.id})
	l.finished(ada, l.claimed(ada, 1)[0])
	l.statistics(l.team, "4 1", map[string]string{ada.id: "3 1", bob.id: "1 0"})
	l.statistics(reviewers, "2 0", map[string]string{rev.id: "1 0", ada.id: "1 0"})

	// The same again from what is stored.
	a := l.mutate("rebuildProjectQueue", "project { id } problem { __typename }", vars{"projectId": l.id})
	require.Nil(t, a.at("result.problem"), "%s", a.body)
	l.statistics(l.team, "4 1", map[string]string{ada.id: "3 1", bob.id: "1 0"})
	l.statistics(reviewers, "2 0", map[string]string{rev.id: "1 0", ada.id: "1 0"})
	l.tops("fog 4, Pier 3", "Swan 3, Duck 2, Goose 1", "Wild 3, Tame 1")
	l.counts("6 1 5 0")
}

// tops waits until these keywords, categories and subcategories are used most.
func (l crew) tops(keywords, categories, subcategories string) {
	l.t.Helper()
	used := func(p *answer, path string) string {
		text := ""
		for i, u := range p.list(path) {
			if i > 0 {
				text += ", "
			}
			u := u.(map[string]any)
			text += fmt.Sprint(u["value"], " ", u["count"])
		}
		return text
	}
	l.becomesSo(l.labellers[4], `topKeywords { value count } topCategories { value count } topSubcategories { value count }`, func(p *answer) bool {
		return used(p, "topKeywords") == keywords && used(p, "topCategories") == categories && used(p, "topSubcategories") == subcategories
	})
}

func TestTheFiveWordsUsedMost(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(7, 0)
	for i, h := range l.claimed(l.labellers[0], 7) {
		l.finished(l.labellers[0], h, vars{"keywords": []string{"a", "日本", "😀", "x:#{}%", `"quoted" \ word`, "zz", "last"}[:7-i]})
	}
	l.tops(`a 7, 日本 6, 😀 5, x:#{}% 4, "quoted" \ word 3`, "Duck 7", "")
}

func TestKeywordsAreCompleted(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(2, 0)
	completions := func(prefix string, n int) string {
		t.Helper()
		return words(l.labellers[0].must(`query($p: ID!, $x: String!, $n: Int!) { project(id: $p) { keywordCompletions(prefix: $x, first: $n) } }`, vars{"p": l.id, "x": prefix, "n": n}).list("project.keywordCompletions"))
	}
	assert.Empty(t, completions("", 10))
	l.mutate("updateProject", "project { id }", vars{"projectId": l.id, "suggestedKeywords": []string{"pier", "pile", "Pillar", "日本", "日曜", "😀smile", "😁grin", "a%", "a*b", "a\\", "[x", "(y", "{z}", "ärger", "+inf", "-"}})
	l.becomesSo(l.client, `keywordCompletions(prefix: "pie")`, func(p *answer) bool { return words(p.list("keywordCompletions")) == "pier" })
	h := l.claimed(l.labellers[0], 1)[0]
	l.finished(l.labellers[0], h, vars{"keywords": []string{"piano", "日"}})
	l.becomesSo(l.client, `keywordCompletions(prefix: "pia")`, func(p *answer) bool { return words(p.list("keywordCompletions")) == "piano" })
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
	assert.Len(t, l.must(`query($p: ID!) { project(id: $p) { keywordCompletions(prefix: "") } }`, vars{"p": l.id}).list("project.keywordCompletions"), 10, "as many as are asked for")
	for _, arguments := range []string{`prefix: "a", first: 0`, `prefix: "a", first: 101`, `prefix: "a", first: -1`} {
		l.do(`query($p: ID!) { project(id: $p) { keywordCompletions(`+arguments+`) } }`, vars{"p": l.id}).fails(invalid, "first")
	}
	for _, prefix := range []string{string(make([]rune, 65)), "a\x00", "a\x07b", fmt.Sprintf("%065d", 1)} {
		l.do(`query($p: ID!, $x: String!) { project(id: $p) { keywordCompletions(prefix: $x) } }`, vars{"p": l.id, "x": prefix}).fails(invalid, "prefix")
	}
}

func TestWhoIsOnline(t *testing.T) {
	s := newServer(t)
	l := s.labelled(1, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	online := func(who *client) string {
		t.Helper()
		a := who.must(`query($p: ID!) { onlineCount project(id: $p) { online { seenAt user { id name } } } }`, vars{"p": l.id})
		got := fmt.Sprint(a.at("onlineCount"))
		for _, o := range a.list("project.online") {
			o := &answer{t: t, body: a.body, Data: o.(map[string]any)}
			assert.WithinDuration(t, time.Now(), o.time("seenAt"), time.Minute)
			assert.Equal(t, "Somebody", o.str("user.name"))
			got += " " + map[string]string{ada.id: "ada", bob.id: "bob", l.client.id: "manager"}[o.str("user.id")]
		}
		return got
	}
	beats := func(who *client, want int, projects ...string) {
		t.Helper()
		a := who.mutate("heartbeat", "onlineCount", vars{"projectIds": append([]string{}, projects...)})
		require.Empty(t, a.Errors, "%s", a.body)
		assert.InDelta(t, want, a.at("result.onlineCount"), 0)
	}
	assert.Equal(t, "0", online(ada))
	beats(ada, 1)
	assert.Equal(t, "1", online(l.client), "in no project")
	beats(ada, 1, l.id)
	beats(bob, 2, l.id, l.id)
	assert.Equal(t, "2 ada bob", online(l.client))
	stranger := s.user("stranger@example.com")
	beats(stranger, 3, l.id, gidOf("Project", "none"))
	assert.Equal(t, "3 ada bob", online(ada), "those of which one is no member are left out")
	beats(ada, 3, l.id)
	assert.Equal(t, "3 bob ada", online(ada), "the one heard of last at the end")
	assert.InDelta(t, 3, stranger.must(`{ onlineCount }`, nil).at("onlineCount"), 0)

	stranger.mutate("heartbeat", "onlineCount", vars{"projectIds": many(l.id, 21)}).fails(invalid, "input.projectIds")
	stranger.mutate("heartbeat", "onlineCount", vars{"projectIds": []string{ada.id}}).fails(invalid, "input.projectIds")
	nobody := s.as("nobody@example.com")
	nobody.mutate("heartbeat", "onlineCount", vars{}).fails("UNAUTHENTICATED", "")
	nobody.do(`{ onlineCount }`, nil).fails("UNAUTHENTICATED", "")
}
