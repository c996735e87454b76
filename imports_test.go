package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

// transfer is all that a client sees of an import.
const transfer = `state message bytes bytesRead lines imported duplicates mistakes faults { line message } endedAt`

// imported uploads a file, waits until its import has ended in the state, and returns it.
func (l crew) importedAs(state, format, text string) *answer {
	l.t.Helper()
	id, upload := l.awaiting(format, len(text))
	require.Equal(l.t, http.StatusOK, upload(text))
	l.must(startImport, vars{"i": id})
	l.during(func() { l.becomes(state, id) })
	return l.anImport(id)
}

func (l crew) anImport(id string) *answer {
	l.t.Helper()
	a := l.must(`query($i: ID!) { node(id: $i) { ... on ProjectImport { `+transfer+` project { id } createdBy { id } } } }`, vars{"i": id})
	return &answer{t: l.t, body: a.body, Data: a.at("node").(map[string]any)}
}

// externalIDs returns those of all items of the project, in no order.
func (l crew) externalIDs() (all []string) {
	l.t.Helper()
	cursor := any(nil)
	for {
		a := l.must(`query($p: ID!, $c: Cursor) { project(id: $p) { items(first: 500, after: $c) { nodes { externalId } pageInfo { hasNextPage endCursor } } } }`, vars{"p": l.id, "c": cursor})
		for _, node := range a.list("project.items.nodes") {
			all = append(all, node.(map[string]any)["externalId"].(string))
		}
		if a.at("project.items.pageInfo.hasNextPage") == false {
			return all
		}
		cursor = a.at("project.items.pageInfo.endCursor")
	}
}

// project creates a project without anything in it.
func (c *client) project(name string) crew {
	c.t.Helper()
	a := c.must(`mutation($n: String!) { createProject(input: {name: $n, categories: ["Duck", "Goose"]}) { project { id categories { id } } } }`, vars{"n": name})
	return crew{client: c, id: a.str("createProject.project.id"), categories: idsOf(a.list("createProject.project.categories"))}
}

// lines is a file of items from..to.
func lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		_, _ = fmt.Fprintf(&b, "{\"externalId\":\"e%05d\",\"name\":\"item %d\"}\n", i, i)
	}
	return b.String()
}

func TestFaultyLinesAreTold(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	for _, test := range []struct{ format, text string }{
		{"JSON_LINES", strings.Join([]string{
			`{"externalId": "a", "name": "A", "type": "image/png", "url": "https://example.com/a", "metadata": {"n": 12345678901234567890, "deep": [{"x": null}]}}`,
			`{"externalId": "b", "name": `,
			``,
			`{"externalId": "c"}`,
			`{"externalId": "d:#%", "name": "D"}`,
			`{"externalId": "a", "name": "again"}`,
			`{"externalId": "e", "name": "E", "url": "javascript:alert(1)"}`,
			"{\"externalId\": \"f\", \"name\": \"\xff\"}",
			`[1]`,
			`{"externalId": "g", "name": "G", "more": 1}`,
			`{"externalId": "h", "name": "H", "metadata": {"_x": 1}}`,
			`{"externalId": "` + strings.Repeat("x", 201) + `", "name": "I"}`,
			`{"externalId": "j", "name": "` + strings.Repeat("x", 310_000) + `"}`,
			`{"externalId": "last", "name": "L"}`,
			`{"externalId": "\ud800", "name": "half"}`, // would be the same id as the next
			`{"externalId": "\udfff", "name": "half"}`,
		}, "\n")},
		{"CSV", strings.Join([]string{
			`name,externalId,type,url,colour,"size, cm"`,
			`A,a,image/png,https://example.com/a,red,"1 ""2"""`,
			`B`,
			``,
			`,c,,,,`,
			"D,d:#%,,,,\"two\nlines\"", // one row, two lines
			`again,a,,,,`,
			`E,e,,javascript:alert(1),,`,
			"\xff,f,,,,",
			`G,"g"x,,,,`,
			`H,h,,,,`,
			`I,` + strings.Repeat("x", 201) + `,,,,`,
			`J,j,` + strings.Repeat("x", 310_000) + `,,,`,
			`L,last,,,,`,
		}, "\n")},
	} {
		t.Run(test.format, func(t *testing.T) {
			l := ada.project("of " + test.format)
			i := l.importedAs("DONE", test.format, test.text)
			i.t = t
			want, numbers, all := []string{"a", "d:#%", "last"}, "2 4 7 8 9 10 11 12 13 15 16", 16
			if test.format == "CSV" { // H is right there
				want, numbers, all = append(want, "h"), "3 5 9 10 11 13 14", 15
			}
			assert.ElementsMatch(t, want, l.externalIDs())
			var told []string
			for _, f := range i.list("faults") {
				told = append(told, fmt.Sprint(f.(map[string]any)["line"]))
				message := f.(map[string]any)["message"].(string)
				assert.NotRegexp(t, innerText, strings.ReplaceAll(message, "is not JSON: ", ""))
				assert.Less(t, len(message), 300)
			}
			assert.Equal(t, numbers, strings.Join(told, " "), "%v", i.list("faults"))
			assert.InDelta(t, len(want), i.at("imported"), 0)
			assert.InDelta(t, 1, i.at("duplicates"), 0)
			assert.InDelta(t, len(told), i.at("mistakes"), 0)
			assert.InDelta(t, all, i.at("lines"), 0, "empty ones and the header too")
			assert.InDelta(t, len(test.text), i.at("bytesRead"), 0)
			assert.Equal(t, ada.id, i.str("createdBy.id"))
			a := l.must(`query($p: ID!) { project(id: $p) { itemByExternalId(externalId: "a") { name type url metadata status version efforts { nodes { id } } category { id } } } }`, vars{"p": l.id})
			assert.Equal(t, "A image/png https://example.com/a NEW", a.str("project.itemByExternalId.name")+" "+a.str("project.itemByExternalId.type")+" "+a.str("project.itemByExternalId.url")+" "+a.str("project.itemByExternalId.status"))
			if test.format == "CSV" {
				assert.Equal(t, map[string]any{"colour": "red", "size, cm": `1 "2"`}, a.at("project.itemByExternalId.metadata"))
			} else {
				assert.Contains(t, a.body, "12345678901234567890", "all digits")
			}
			assert.Equal(t, "D", l.must(`query($p: ID!) { project(id: $p) { itemByExternalId(externalId: "d:#%") { name } } }`, vars{"p": l.id}).str("project.itemByExternalId.name"))

			again := l.importedAs("DONE", test.format, test.text)
			assert.InDelta(t, 0, again.at("imported"), 0)
			assert.InDelta(t, len(want)+1, again.at("duplicates"), 0)
			assert.Len(t, l.externalIDs(), len(want))
			assert.Len(t, l.must(`query($p: ID!) { project(id: $p) { imports { nodes { id } } } }`, vars{"p": l.id}).list("project.imports.nodes"), 2)
		})
	}
}

func TestFilesThatAreNoneOfItemsFail(t *testing.T) {
	s := newServer(t)
	l := s.user("ada@example.com").project("P")
	for _, test := range []struct{ format, text string }{
		{"JSON_LINES", `[{"externalId": "a", "name": "A"}]`}, {"JSON_LINES", "\x00\x01\x02"}, {"CSV", "\xff\xfea\x00"}, {"CSV", "id,title\n1,2\n"}, {"CSV", "externalId,name,name\na,b,c\n"},
	} {
		i := l.importedAs("FAILED", test.format, test.text)
		assert.NotEmpty(t, i.str("message"), "%q", test.text)
		assert.NotRegexp(t, innerText, i.str("message"))
		assert.InDelta(t, 0, i.at("imported"), 0)
		assert.NotEmpty(t, i.str("endedAt"))
	}
	assert.Empty(t, l.externalIDs())
}

func TestWhatIsUploadedIsWhatWasAnnounced(t *testing.T) {
	s := newServer(t)
	l := s.user("ada@example.com").project("P")
	text := lines(0, 3)
	id, upload := l.awaiting("JSON_LINES", len(text))
	assert.Equal(t, "AWAITING_UPLOAD", l.anImport(id).str("state"))
	l.do(startImport, vars{"i": id}).fails("CONFLICT", "")
	assert.NotEqual(t, http.StatusOK, upload(text+"more"), "longer")
	assert.NotEqual(t, http.StatusOK, upload(text[:len(text)-1]), "shorter")
	l.do(startImport, vars{"i": id}).fails("CONFLICT", "")
	assert.Equal(t, "AWAITING_UPLOAD", l.anImport(id).str("state"))
	require.Equal(t, http.StatusOK, upload(text))
	assert.Equal(t, "QUEUED", l.must(startImport, vars{"i": id}).str("startProjectImport.import.state"))
	l.must(startImport, vars{"i": id}) // which changes nothing
	s.during(func() { l.becomes("DONE", id) })
	assert.Equal(t, "DONE", l.must(startImport, vars{"i": id}).str("startProjectImport.import.state"))
	assert.Len(t, l.externalIDs(), 3)
}

func TestAnImportIsCancelledWhileItRuns(t *testing.T) {
	s := newServer(t)
	l := s.user("ada@example.com").project("P")
	const cancel = `mutation($i: ID!) { cancelProjectImport(input: {importId: $i}) { import { state endedAt } } }`
	text := lines(0, 4_000)
	id, upload := l.awaiting("JSON_LINES", len(text))
	require.Equal(t, http.StatusOK, upload(text))
	l.must(startImport, vars{"i": id})
	items := func(c *faultinject.Call) bool {
		return transactions(c) && strings.Contains(string(c.Body), "ProjectItem")
	}
	gate := s.faults.Hold(func(n int) bool { return n > 20 }, items) // of 80
	t.Cleanup(gate.Open)
	const underWay = 8 // chunks of 50 items
	before := 0
	s.during(func() {
		require.NoError(t, gate.Wait(t.Context(), underWay), "it is in the middle")
		before = len(l.externalIDs())
		assert.Equal(t, "CANCELLED", l.must(cancel, vars{"i": id}).str("cancelProjectImport.import.state"))
		gate.Open()
		l.becomes("CANCELLED", id)
		// What was under way is stored and counted all the same.
		require.Eventually(t, func() bool {
			counted := l.must(`query($p: ID!) { project(id: $p) { queue { counts { total } } } }`, vars{"p": l.id}).at("project.queue.counts.total")
			return counted.(float64) >= float64(before+underWay*50) && counted == float64(len(l.externalIDs()))
		}, patience, 20*time.Millisecond)
	})
	i := l.anImport(id)
	there := len(l.externalIDs())
	assert.Less(t, there, 4_000, "what was imported stays, and no more comes")
	assert.Equal(t, "CANCELLED", i.str("state"))
	assert.Equal(t, "CANCELLED", l.must(cancel, vars{"i": id}).str("cancelProjectImport.import.state"))
	l.do(startImport, vars{"i": id}).fails("CONFLICT", "")
	s.during(func() {})
	assert.Len(t, l.externalIDs(), there)

	waiting, _ := l.awaiting("CSV", 10)
	assert.Equal(t, "CANCELLED", l.must(cancel, vars{"i": waiting}).str("cancelProjectImport.import.state"))
	done := l.importedAs("DONE", "JSON_LINES", text)
	assert.InDelta(t, 4_000-there, done.at("imported"), 0, "the next import brings the rest")
	assert.InDelta(t, there, done.at("duplicates"), 0)
}

func TestTwoImportsOfTheSameItemsAtOnce(t *testing.T) {
	s := newServer(t)
	l := s.user("ada@example.com").project("P")
	const items = 1_500
	text := lines(0, items)
	ids := make([]string, 2)
	for i := range ids {
		id, upload := l.awaiting("JSON_LINES", len(text))
		require.Equal(t, http.StatusOK, upload(text))
		l.must(startImport, vars{"i": id})
		ids[i] = id
	}
	s.during(func() {
		for _, id := range ids {
			l.becomes("DONE", id)
		}
	})
	imported := 0.0
	for _, id := range ids {
		i := l.anImport(id)
		imported += i.at("imported").(float64)
		assert.InDelta(t, items, i.at("imported").(float64)+i.at("duplicates").(float64), 0)
		assert.InDelta(t, items, i.at("lines"), 0)
	}
	assert.InDelta(t, items, imported, 0, "each item is new once")
	all := l.externalIDs()
	assert.Len(t, all, items)
	assert.Len(t, unique(all), items)
}

func unique(all []string) map[string]bool {
	set := map[string]bool{}
	for _, one := range all {
		set[one] = true
	}
	return set
}

// exported has the results of a project written, and returns the file.
func (l crew) exported(format string, status any) string {
	l.t.Helper()
	a := l.mutate("createProjectExport", "export { id state status url bytes }", vars{"projectId": l.id, "format": format, "status": status})
	assert.Equal(l.t, "QUEUED", a.str("result.export.state"))
	id := a.str("result.export.id")
	l.during(func() { l.becomes("DONE", id) })
	a = l.must(`query($i: ID!) { node(id: $i) { ... on ProjectExport { url bytes items endedAt } } }`, vars{"i": id})
	resp, err := http.Get(a.str("node.url"))
	require.NoError(l.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(l.t, err)
	require.Equal(l.t, http.StatusOK, resp.StatusCode, "%s", text)
	assert.InDelta(l.t, len(text), a.at("node.bytes"), 0)
	return string(text)
}

// What was exported can be imported into another project as it is: the items are the same, and nothing comes along of what was
// found out about them.
func TestAnExportIsImportedIntoAnotherProject(t *testing.T) {
	t.Parallel()
	ada := newServer(t).user("ada@example.com")
	l := ada.project("From")
	l.importedAs("DONE", "JSON_LINES", `{"externalId":"=1+1","name":"+say \"x\"; '@y","type":"-楽譜","url":"https://example.com/a,b;=c"}
{"externalId":"'=1+1","name":"''''","metadata":{"=n":12345678901234567890,"k;":";=\"1\"\r\n\t'@x","l":[null,true,{"'":"楽譜"}]}}
{"externalId":"@x, \"y\"","name":"a;=b;''-c","metadata":{"text":"\t","empty":""}}
`)
	l.finished(l.client, l.claimedAs("=1+1"), vars{"categoryId": l.categories[1], "keywords": []string{"@k", "l"}})
	const fields = `externalId name type url metadata status keywords category { name } efforts { nodes { id } }`
	of := func(l crew) map[string]map[string]any {
		found := map[string]map[string]any{}
		require.Eventually(t, func() bool { // the list lags behind by moments
			for _, node := range l.must(`query($p: ID!) { project(id: $p) { items(first: 500) { nodes { `+fields+` } } } }`, vars{"p": l.id}).list("project.items.nodes") {
				item := node.(map[string]any)
				found[item["externalId"].(string)] = item
			}
			return len(found) == 3
		}, 10*time.Second, 20*time.Millisecond)
		return found
	}
	want := of(l)
	for _, item := range want {
		item["status"], item["keywords"], item["category"], item["efforts"] = "NEW", []any{}, nil, map[string]any{"nodes": []any{}}
	}
	for _, format := range []string{"CSV", "JSON_LINES"} {
		again := ada.project("Into " + format)
		i := again.importedAs("DONE", format, l.exported(format, nil))
		assert.InDelta(t, 0, i.at("mistakes"), 0, "%s", i.body)
		assert.InDelta(t, 3, i.at("imported"), 0, "%s", i.body)
		assert.Equal(t, want, of(again), format)
	}
}

func TestExportsOfBothFormats(t *testing.T) {
	s := newServer(t)
	l := s.user("ada@example.com").project("Birds")
	l.importedAs("DONE", "JSON_LINES", `{"externalId": "a", "name": "=1+1", "metadata": {"n": 12345678901234567890}}`+"\n"+`{"externalId": "b", "name": "two\" lines"}`+"\n"+lines(0, 20))
	l.finished(l.client, l.claimedAs("a"), vars{"categoryId": l.categories[1], "keywords": []string{"k", "l"}})
	download := func(format string, status any) string { return l.exported(format, status) }
	seen := map[string]map[string]any{}
	for line := range strings.Lines(download("JSON_LINES", nil)) {
		var result map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &result))
		seen[result["externalId"].(string)] = result
	}
	require.Len(t, seen, 22)
	assert.Equal(t, "=1+1 FINISHED Goose", fmt.Sprint(seen["a"]["name"], " ", seen["a"]["status"], " ", seen["a"]["category"]))
	assert.Equal(t, []any{"k", "l"}, seen["a"]["keywords"])
	assert.Equal(t, l.client.id, seen["a"]["finishedBy"])
	assert.Equal(t, l.client.must(`{ viewer { name } }`, nil).at("viewer.name"), seen["a"]["finishedByName"])
	assert.Equal(t, "NEW", seen["b"]["status"])
	assert.Contains(t, download("JSON_LINES", "FINISHED"), `"n":12345678901234567890`)

	rows, err := csv.NewReader(strings.NewReader(download("CSV", nil))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+22)
	rows, err = csv.NewReader(strings.NewReader(download("CSV", "FINISHED"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 2)
	assert.Equal(t, []string{"a", "'=1+1"}, rows[1][:2], "a spreadsheet does not calculate it")
	rows, err = csv.NewReader(strings.NewReader(download("CSV", "SKIPPED"))).ReadAll()
	require.NoError(t, err)
	assert.Len(t, rows, 1, "the header alone")
}
