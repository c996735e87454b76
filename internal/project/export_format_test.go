package project

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestResultsAsJSONLines(t *testing.T) {
	s := newResults(2)
	s.items[0].Metadata = map[string]any{"n": json.Number("12345678901234567890"), "<": nil}
	s.finish(0, 2)
	var b strings.Builder
	n, err := s.exporter().Write(t.Context(), &b, importProject, JSONLines, "", nil)
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.Equal(t, `{"externalId":"x00000","name":"N","type":"","url":"","status":"FINISHED","category":"Animals","subcategory":"=Cats","keywords":["@x","y"],"finishedBy":"u1","finishedByName":"=Ada","team":"Blue","finishedAt":"2026-01-02T03:04:05.001Z","efforts":[`+
		`{"category":"Animals","subcategory":"=Cats","keywords":["@x","y"],"finishedBy":"u1","finishedByName":"=Ada","team":"Blue","finishedAt":"2026-01-02T03:04:05.001Z"},`+
		`{"category":"Animals","subcategory":"=Cats","keywords":["@x","y"],"finishedBy":"u1","finishedByName":"=Ada","team":"Blue","finishedAt":"2026-01-02T03:04:05Z"}],"metadata":{"<":null,"n":12345678901234567890}}
{"externalId":"x00001","name":"N","type":"","url":"","status":"NEW","category":"","subcategory":"","keywords":[],"finishedBy":"","finishedByName":"","team":"","finishedAt":"","efforts":[],"metadata":{}}
`, b.String())
	assert.Equal(t, 1, s.asked, "only what was finished is asked about")
}

// What is in no list any more has its name all the same, and what nobody knows goes by its id.
func TestResultsNameWhatIsInNoList(t *testing.T) {
	s := newResults(2)
	s.finish(0, 1)
	s.finish(1, 1)
	of := func(i int) *Effort { return &s.efforts[s.items[i].ItemID][0] }
	s.items[0].Category, of(0).Category, of(0).Team = "merged", "merged", "former"
	s.items[1].Category, of(1).Category, of(1).Team = "c7", "c7", "t7"
	var b strings.Builder
	_, err := s.exporter().Write(t.Context(), &b, importProject, JSONLines, "", nil)
	require.NoError(t, err)
	for i, want := range [][2]string{{"Animals", "Former"}, {"c7", "t7"}} {
		var is struct {
			Category, Team string
			Efforts        []struct{ Category, Team string }
		}
		require.NoError(t, json.Unmarshal([]byte(strings.Split(b.String(), "\n")[i]), &is))
		assert.Equal(t, want, [2]string{is.Category, is.Team})
		assert.Equal(t, want, [2]string{is.Efforts[0].Category, is.Efforts[0].Team})
	}
}

func TestResultsAsCSVCalculateNothing(t *testing.T) {
	s := newResults(1)
	s.items[0].ExternalID = "-1"
	s.items[0].Name = "=HYPERLINK(\"http://x\")\nb"
	s.items[0].Type = "\tx"
	s.items[0].URL = "+1"
	s.finish(0, 3)
	var b strings.Builder
	_, err := s.exporter().Write(t.Context(), &b, importProject, CSV, Finished, nil)
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, [][]string{
		{"externalId", "name", "type", "url", "status", "category", "subcategory", "keywords", "finishedBy", "finishedByName", "team", "finishedAt", "efforts", "metadata"},
		{"'-1", "'=HYPERLINK(\"http://x\")\nb", "'\tx", "'+1", "FINISHED", "Animals", "'=Cats", "'@x;y", "u1", "'=Ada", "Blue", "2026-01-02T03:04:05.002Z", "3", "{}"},
	}, rows)
}

// cells divides a line as a spreadsheet may that takes these characters for separators: quotes count at the beginning of a cell
// only, and what follows the closing one belongs to the cell.
func cells(text, separators string) []string {
	var found []string
	var cell strings.Builder
	quoted, begins := false, true
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case begins && c == '"':
			quoted, begins = true, false
		case quoted && c == '"' && i+1 < len(text) && text[i+1] == '"':
			cell.WriteByte(c)
			i++
		case quoted && c == '"':
			quoted = false
		case !quoted && strings.IndexByte(separators+"\n", c) >= 0:
			found = append(found, cell.String())
			cell.Reset()
			begins = true
		default:
			cell.WriteByte(c)
			begins = false
		}
	}
	return append(found, cell.String())
}

func TestNoSeparatorBeginsAFormula(t *testing.T) {
	const formula = "=HYPERLINK(1)"
	s := newResults(1)
	s.finish(0, 1)
	s.items[0].ExternalID = "a;" + formula
	s.items[0].Name = `say "x";=1` + "\t" + formula
	s.items[0].Type = "a;;-1"
	s.items[0].Keywords = []string{"x", formula, "a;@b", "é"}
	s.items[0].Metadata = map[string]any{"k;": `;` + formula + `";+2`}
	var b strings.Builder
	_, err := s.exporter().Write(t.Context(), &b, importProject, CSV, "", nil)
	require.NoError(t, err)
	for _, separators := range []string{",", ";", "\t", ",;\t"} {
		for _, cell := range cells(b.String(), separators) {
			assert.NotContains(t, "=+-@", (cell + "x")[:1], "%q divided by %q", cell, separators)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, rows[1], cells(strings.Split(b.String(), "\n")[1], ",;\t"), "what is no separator of ours divides nothing")
	assert.Equal(t, "x;'=HYPERLINK(1);a;'@b;é", rows[1][7])
	var metadata map[string]any
	require.NoError(t, json.Unmarshal([]byte(rows[1][13]), &metadata))
	assert.Equal(t, s.items[0].Metadata, metadata, "JSON is what it was")
}

func TestTheApostropheOfACellIsTakenOffWhereItWasPut(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "a": "a", "'a": "'a", "'": "'", "=1": "'=1", "'=1": "''=1", "''+1": "'''+1", "a;-1": "a;'-1", "a;'@b": "a;''@b", "a'=b": "a'=b",
		"\t=": "'\t'=", "\n'\t": "\n''\t", "楽譜;=譜": "楽譜;'=譜",
	} {
		assert.Equal(t, want, harmless(cell))
		assert.Equal(t, cell, typed(want))
	}
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringOf(rapid.RuneFrom([]rune("''=+-@\t\r\n;\"a譜"))).Draw(t, "cell")
		require.Equal(t, cell, typed(harmless(cell)))
	})
}

// What an export writes, an import reads: the items as they were, and nothing of what was found out about them.
func TestAnExportCanBeImported(t *testing.T) {
	s := newResults(3)
	s.items[0].ExternalID, s.items[0].Name, s.items[0].Type, s.items[0].URL = "'=1", "-say \"x\"; '=1", "+楽譜", "https://example.com/a,b"
	s.items[0].Metadata = map[string]any{"=n": json.Number("12345678901234567890"), "k;": ";=\"+2\"\r\n\t'@", "l": []any{nil, true, map[string]any{"'": "楽譜"}}}
	s.items[1].ExternalID, s.items[1].Name = "@x", "''''"
	s.finish(0, 2)
	s.finish(1, 1)
	for _, format := range []Format{CSV, JSONLines} {
		var b strings.Builder
		_, err := s.exporter().Write(t.Context(), &b, importProject, format, "", nil)
		require.NoError(t, err)
		found, err := all(t, format, b.String(), position{})
		require.NoError(t, err)
		require.Len(t, found, len(s.items), format)
		for i, item := range s.items {
			assert.Empty(t, found[i].Mistake, format)
			metadata := item.Metadata
			if metadata == nil {
				metadata = map[string]any{}
			}
			assert.Equal(t, Imported{ExternalID: item.ExternalID, Name: item.Name, Type: item.Type, URL: item.URL, Metadata: metadata, Line: found[i].Line}, found[i].Imported, format)
		}
	}
}
