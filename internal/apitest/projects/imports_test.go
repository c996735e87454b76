package projects

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
)

func TestFaultyLinesAreTold(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
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
			l := ada.Project("of " + test.format)
			i := l.ImportedAs("DONE", test.format, test.text)
			i.T = t
			want, numbers, all := []string{"a", "d:#%", "last"}, "2 4 7 8 9 10 11 12 13 15 16", 16
			if test.format == "CSV" { // H is right there
				want, numbers, all = append(want, "h"), "3 5 9 10 11 13 14", 15
			}
			assert.ElementsMatch(t, want, l.ExternalIDs())
			var told []string
			for _, f := range i.List("faults") {
				told = append(told, fmt.Sprint(f.(map[string]any)["line"]))
				message := f.(map[string]any)["message"].(string)
				assert.NotRegexp(t, apitest.InnerText, strings.ReplaceAll(message, "is not JSON: ", ""))
				assert.Less(t, len(message), 300)
			}
			assert.Equal(t, numbers, strings.Join(told, " "), "%v", i.List("faults"))
			assert.InDelta(t, len(want), i.At("imported"), 0)
			assert.InDelta(t, 1, i.At("duplicates"), 0)
			assert.InDelta(t, len(told), i.At("mistakes"), 0)
			assert.InDelta(t, all, i.At("lines"), 0, "empty ones and the header too")
			assert.InDelta(t, len(test.text), i.At("bytesRead"), 0)
			assert.Equal(t, ada.ID, i.Str("createdBy.id"))
			a := l.Must(`query($p: ID!) { project(id: $p) { itemByExternalId(externalId: "a") { name type url metadata status version efforts { nodes { id } } category { id } } } }`, apitest.Vars{"p": l.ID})
			assert.Equal(t, "A image/png https://example.com/a NEW", a.Str("project.itemByExternalId.name")+" "+a.Str("project.itemByExternalId.type")+" "+a.Str("project.itemByExternalId.url")+" "+a.Str("project.itemByExternalId.status"))
			if test.format == "CSV" {
				assert.Equal(t, map[string]any{"colour": "red", "size, cm": `1 "2"`}, a.At("project.itemByExternalId.metadata"))
			} else {
				assert.Contains(t, a.Body, "12345678901234567890", "all digits")
			}
			assert.Equal(t, "D", l.Must(`query($p: ID!) { project(id: $p) { itemByExternalId(externalId: "d:#%") { name } } }`, apitest.Vars{"p": l.ID}).Str("project.itemByExternalId.name"))

			again := l.ImportedAs("DONE", test.format, test.text)
			assert.InDelta(t, 0, again.At("imported"), 0)
			assert.InDelta(t, len(want)+1, again.At("duplicates"), 0)
			assert.Len(t, l.ExternalIDs(), len(want))
			assert.Len(t, l.Must(`query($p: ID!) { project(id: $p) { imports { nodes { id } } } }`, apitest.Vars{"p": l.ID}).List("project.imports.nodes"), 2)
		})
	}
}

func TestFilesThatAreNoneOfItemsFail(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.User("ada@example.com").Project("P")
	for _, test := range []struct{ format, text string }{
		{"JSON_LINES", `[{"externalId": "a", "name": "A"}]`}, {"JSON_LINES", "\x00\x01\x02"}, {"CSV", "\xff\xfea\x00"}, {"CSV", "id,title\n1,2\n"}, {"CSV", "externalId,name,name\na,b,c\n"},
	} {
		i := l.ImportedAs("FAILED", test.format, test.text)
		assert.NotEmpty(t, i.Str("message"), "%q", test.text)
		assert.NotRegexp(t, apitest.InnerText, i.Str("message"))
		assert.InDelta(t, 0, i.At("imported"), 0)
		assert.NotEmpty(t, i.Str("endedAt"))
	}
	assert.Empty(t, l.ExternalIDs())
}

func TestWhatIsUploadedIsWhatWasAnnounced(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.User("ada@example.com").Project("P")
	text := apitest.Lines(0, 3)
	id, upload := l.Awaiting("JSON_LINES", len(text))
	assert.Equal(t, "AWAITING_UPLOAD", l.AnImport(id).Str("state"))
	l.Do(apitest.StartImport, apitest.Vars{"i": id}).Fails("CONFLICT", "")
	assert.NotEqual(t, http.StatusOK, upload(text+"more"), "longer")
	assert.NotEqual(t, http.StatusOK, upload(text[:len(text)-1]), "shorter")
	l.Do(apitest.StartImport, apitest.Vars{"i": id}).Fails("CONFLICT", "")
	assert.Equal(t, "AWAITING_UPLOAD", l.AnImport(id).Str("state"))
	require.Equal(t, http.StatusOK, upload(text))
	assert.Equal(t, "QUEUED", l.Must(apitest.StartImport, apitest.Vars{"i": id}).Str("startProjectImport.import.state"))
	l.Must(apitest.StartImport, apitest.Vars{"i": id}) // which changes nothing
	s.During(func() { l.Becomes("DONE", id) })
	assert.Equal(t, "DONE", l.Must(apitest.StartImport, apitest.Vars{"i": id}).Str("startProjectImport.import.state"))
	assert.Len(t, l.ExternalIDs(), 3)
}

func TestAnImportIsCancelledWhileItRuns(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.User("ada@example.com").Project("P")
	const cancel = `mutation($i: ID!) { cancelProjectImport(input: {importId: $i}) { import { state endedAt } } }`
	text := apitest.Lines(0, 4_000)
	id, upload := l.Awaiting("JSON_LINES", len(text))
	require.Equal(t, http.StatusOK, upload(text))
	l.Must(apitest.StartImport, apitest.Vars{"i": id})
	items := func(c *faultinject.Call) bool {
		return apitest.Transactions(c) && strings.Contains(string(c.Body), "ProjectItem")
	}
	gate := s.Faults.Hold(func(n int) bool { return n > 20 }, items) // of 80
	t.Cleanup(gate.Open)
	const underWay = 8 // chunks of 50 items
	before := 0
	s.During(func() {
		require.NoError(t, gate.Wait(t.Context(), underWay), "it is in the middle")
		before = len(l.ExternalIDs())
		assert.Equal(t, "CANCELLED", l.Must(cancel, apitest.Vars{"i": id}).Str("cancelProjectImport.import.state"))
		gate.Open()
		l.Becomes("CANCELLED", id)
		// What was under way is stored and counted all the same.
		require.Eventually(t, func() bool {
			counted := l.Must(`query($p: ID!) { project(id: $p) { queue { counts { total } } } }`, apitest.Vars{"p": l.ID}).At("project.queue.counts.total")
			return counted.(float64) >= float64(before+underWay*50) && counted == float64(len(l.ExternalIDs()))
		}, apitest.Patience, 20*time.Millisecond)
	})
	i := l.AnImport(id)
	there := len(l.ExternalIDs())
	assert.Less(t, there, 4_000, "what was imported stays, and no more comes")
	assert.Equal(t, "CANCELLED", i.Str("state"))
	assert.Equal(t, "CANCELLED", l.Must(cancel, apitest.Vars{"i": id}).Str("cancelProjectImport.import.state"))
	l.Do(apitest.StartImport, apitest.Vars{"i": id}).Fails("CONFLICT", "")
	s.During(func() {})
	assert.Len(t, l.ExternalIDs(), there)

	waiting, _ := l.Awaiting("CSV", 10)
	assert.Equal(t, "CANCELLED", l.Must(cancel, apitest.Vars{"i": waiting}).Str("cancelProjectImport.import.state"))
	done := l.ImportedAs("DONE", "JSON_LINES", text)
	assert.InDelta(t, 4_000-there, done.At("imported"), 0, "the next import brings the rest")
	assert.InDelta(t, there, done.At("duplicates"), 0)
}

func TestTwoImportsOfTheSameItemsAtOnce(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.User("ada@example.com").Project("P")
	const items = 1_500
	text := apitest.Lines(0, items)
	ids := make([]string, 2)
	for i := range ids {
		id, upload := l.Awaiting("JSON_LINES", len(text))
		require.Equal(t, http.StatusOK, upload(text))
		l.Must(apitest.StartImport, apitest.Vars{"i": id})
		ids[i] = id
	}
	s.During(func() {
		for _, id := range ids {
			l.Becomes("DONE", id)
		}
	})
	imported := 0.0
	for _, id := range ids {
		i := l.AnImport(id)
		imported += i.At("imported").(float64)
		assert.InDelta(t, items, i.At("imported").(float64)+i.At("duplicates").(float64), 0)
		assert.InDelta(t, items, i.At("lines"), 0)
	}
	assert.InDelta(t, items, imported, 0, "each item is new once")
	all := l.ExternalIDs()
	assert.Len(t, all, items)
	assert.Len(t, apitest.Unique(all), items)
}

// What was exported can be imported into another project as it is: the items are the same, and nothing comes along of what was
// found out about them.
func TestAnExportIsImportedIntoAnotherProject(t *testing.T) {
	t.Parallel()
	ada := apitest.NewServer(t).User("ada@example.com")
	l := ada.Project("From")
	l.ImportedAs("DONE", "JSON_LINES", `{"externalId":"=1+1","name":"+say \"x\"; '@y","type":"-楽譜","url":"https://example.com/a,b;=c"}
{"externalId":"'=1+1","name":"''''","metadata":{"=n":12345678901234567890,"k;":";=\"1\"\r\n\t'@x","l":[null,true,{"'":"楽譜"}]}}
{"externalId":"@x, \"y\"","name":"a;=b;''-c","metadata":{"text":"\t","empty":""}}
`)
	l.Finished(l.Client, l.ClaimedAs("=1+1"), apitest.Vars{"categoryId": l.Categories[1], "keywords": []string{"@k", "l"}})
	const fields = `externalId name type url metadata status keywords category { name } efforts { nodes { id } }`
	of := func(l apitest.Crew) map[string]map[string]any {
		found := map[string]map[string]any{}
		require.Eventually(t, func() bool { // the list lags behind by moments
			for _, node := range l.Must(`query($p: ID!) { project(id: $p) { items(first: 500) { nodes { `+fields+` } } } }`, apitest.Vars{"p": l.ID}).List("project.items.nodes") {
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
		again := ada.Project("Into " + format)
		i := again.ImportedAs("DONE", format, l.Exported(format, nil))
		assert.InDelta(t, 0, i.At("mistakes"), 0, "%s", i.Body)
		assert.InDelta(t, 3, i.At("imported"), 0, "%s", i.Body)
		assert.Equal(t, want, of(again), format)
	}
}

func TestExportsOfBothFormats(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.User("ada@example.com").Project("Birds")
	l.ImportedAs("DONE", "JSON_LINES", `{"externalId": "a", "name": "=1+1", "metadata": {"n": 12345678901234567890}}`+"\n"+`{"externalId": "b", "name": "two\" lines"}`+"\n"+apitest.Lines(0, 20))
	l.Finished(l.Client, l.ClaimedAs("a"), apitest.Vars{"categoryId": l.Categories[1], "keywords": []string{"k", "l"}})
	download := func(format string, status any) string { return l.Exported(format, status) }
	seen := map[string]map[string]any{}
	for line := range strings.Lines(download("JSON_LINES", nil)) {
		var result map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &result))
		seen[result["externalId"].(string)] = result
	}
	require.Len(t, seen, 22)
	assert.Equal(t, "=1+1 FINISHED Goose", fmt.Sprint(seen["a"]["name"], " ", seen["a"]["status"], " ", seen["a"]["category"]))
	assert.Equal(t, []any{"k", "l"}, seen["a"]["keywords"])
	assert.Equal(t, l.Client.ID, seen["a"]["finishedBy"])
	assert.Equal(t, l.Client.Must(`{ viewer { name } }`, nil).At("viewer.name"), seen["a"]["finishedByName"])
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
