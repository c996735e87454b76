package project

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/fault"
)

// result is an item with what was found out about it, as the lines of an export have it.
type result struct {
	ExternalID     string         `json:"externalId"`
	Name           string         `json:"name"`
	Type           string         `json:"type"`
	URL            string         `json:"url"`
	Status         Status         `json:"status"`
	Category       string         `json:"category"`    // names
	Subcategory    string         `json:"subcategory"` //
	Keywords       []string       `json:"keywords"`
	FinishedBy     string         `json:"finishedBy"`     // of the last effort
	FinishedByName string         `json:"finishedByName"` //
	Team           string         `json:"team"`           //
	FinishedAt     string         `json:"finishedAt"`     //
	Efforts        []finding      `json:"efforts"`        // the newest first
	Metadata       map[string]any `json:"metadata"`
}

// finding is an effort in a line of an export.
type finding struct {
	Category       string   `json:"category"`
	Subcategory    string   `json:"subcategory"`
	Keywords       []string `json:"keywords"`
	FinishedBy     string   `json:"finishedBy"`
	FinishedByName string   `json:"finishedByName"`
	Team           string   `json:"team"`
	FinishedAt     string   `json:"finishedAt"`
}

// columnNames are the columns of CSV, in their order, and the fields of JSON Lines.
var columnNames = []string{"externalId", "name", "type", "url", "status", "category", "subcategory", "keywords", "finishedBy", "finishedByName", "team", "finishedAt", "efforts", "metadata"}

// exported reports whether a file or a line with these names is one of an export: it has all that an export has. One that
// has some of them only may mean something else by them.
func exported(has func(name string) bool) bool {
	return !slices.ContainsFunc(columnNames, func(name string) bool { return !has(name) })
}

func (n names) result(item Item, efforts []Effort) result {
	r := result{
		ExternalID: item.ExternalID, Name: item.Name, Type: item.Type, URL: item.URL, Status: item.Status,
		Category: n.label(item.Project, Category, item.Category), Subcategory: n.label(item.Project, Subcategory, item.Subcategory), Keywords: list(item.Keywords),
		Efforts: make([]finding, 0, len(efforts)), Metadata: item.Metadata,
	}
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	for _, e := range efforts {
		r.Efforts = append(r.Efforts, finding{
			Category: n.label(e.Project, Category, e.Category), Subcategory: n.label(e.Project, Subcategory, e.Subcategory), Keywords: list(e.Keywords),
			FinishedBy: n.user(e.User), FinishedByName: n.users[e.User], Team: n.teams[TeamID{Project: e.Project, ID: e.Team}], FinishedAt: e.FinishedAt.UTC().Format(time.RFC3339Nano),
		})
		if e.ID == item.LastEffort {
			last := r.Efforts[len(r.Efforts)-1]
			r.FinishedBy, r.FinishedByName, r.Team, r.FinishedAt = last.FinishedBy, last.FinishedByName, last.Team, last.FinishedAt
		}
	}
	return r
}

// list makes an empty list of a nil one, which JSON would write as null.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// resultWriter writes the lines of an export.
type resultWriter interface {
	write(r result) error
	flush() error
}

func newResultWriter(w io.Writer, format Format) (resultWriter, error) {
	switch format {
	case JSONLines:
		buffered := bufio.NewWriter(w)
		encoder := json.NewEncoder(buffered)
		encoder.SetEscapeHTML(false)
		return &jsonWriter{buffered, encoder}, nil
	case CSV:
		c := &csvWriter{bufio.NewWriter(w)}
		return c, c.row(columnNames)
	}
	return nil, fault.New(fault.Invalid, "results cannot be exported in this format")
}

type jsonWriter struct {
	w       *bufio.Writer
	encoder *json.Encoder
}

func (j *jsonWriter) write(r result) error { return j.encoder.Encode(r) }
func (j *jsonWriter) flush() error         { return j.w.Flush() }

// csvWriter writes CSV itself: encoding/csv quotes no cell for a semicolon or a tab in it, by which many a spreadsheet divides
// cells, besides by commas.
type csvWriter struct{ w *bufio.Writer }

// write writes a row: keywords in one cell with ";" between them, efforts as their number, metadata as JSON.
func (c *csvWriter) write(r result) error {
	metadata, err := json.Marshal(r.Metadata)
	if err != nil {
		return err
	}
	// In JSON a semicolon can be in texts only, and may be escaped there: a spreadsheet finds none, and the value stays the same.
	metadata = bytes.ReplaceAll(metadata, []byte(";"), []byte(`\u003b`))
	row := []string{r.ExternalID, r.Name, r.Type, r.URL, string(r.Status), r.Category, r.Subcategory, strings.Join(r.Keywords, ";"),
		r.FinishedBy, r.FinishedByName, r.Team, r.FinishedAt, strconv.Itoa(len(r.Efforts)), string(metadata)}
	for i, cell := range row {
		row[i] = harmless(cell)
	}
	return c.row(row)
}

// row writes cells as RFC 4180 has it, in quotes where they hold what may divide cells or rows.
func (c *csvWriter) row(cells []string) error {
	for i, cell := range cells {
		if i > 0 {
			_ = c.w.WriteByte(',') // the last write tells the error of any
		}
		if strings.ContainsAny(cell, ",;\t\r\n\"") {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		_, _ = c.w.WriteString(cell)
	}
	return c.w.WriteByte('\n')
}

func (c *csvWriter) flush() error { return c.w.Flush() }

// A spreadsheet takes a cell for a formula that begins with one of formulas. One that divides cells by semicolons or tabs heeds no quotes
// within what it takes for a cell, so what follows one of breaks begins a cell, too.
const formulas, breaks = "=+-@\t\r", ";\t\r\n"

// harmless keeps a spreadsheet from calculating what somebody wrote into a cell: an apostrophe makes it text. One that was there
// before such a character gets another in front, so that [typed] knows which one was put there.
func harmless(cell string) string {
	if !strings.ContainsAny(cell, formulas) {
		return cell
	}
	var b strings.Builder
	begins := true
	for i, r := range cell {
		if begins && guarded(cell[i:]) {
			b.WriteByte('\'')
		}
		b.WriteRune(r)
		begins = strings.ContainsRune(breaks, r)
	}
	return b.String()
}

// typed returns the cell that harmless made this one of.
func typed(cell string) string {
	if !strings.Contains(cell, "'") {
		return cell
	}
	var b strings.Builder
	begins := true
	for i, r := range cell {
		if begins && r == '\'' && guarded(cell[i:]) {
			begins = false // what follows was not looked at for a beginning
			continue
		}
		b.WriteRune(r)
		begins = strings.ContainsRune(breaks, r)
	}
	return b.String()
}

// guarded reports whether text begins as a formula does, behind any number of apostrophes.
func guarded(text string) bool {
	text = strings.TrimLeft(text, "'")
	return text != "" && strings.Contains(formulas, text[:1])
}
