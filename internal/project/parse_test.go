package project

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/internal/fault"
)

func opened(text string) func(int64) (io.ReadCloser, error) {
	return func(offset int64) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text[offset:])), nil
	}
}

// all reads a file from a position to its end.
func all(t require.TestingT, format Format, text string, from position) ([]record, error) {
	r, done, err := openRecords(format, from, opened(text))
	if err != nil {
		return nil, err
	}
	defer done()
	var found []record
	for {
		one, err := r.next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		require.NoError(t, err)
		found = append(found, one)
	}
}

// told writes records as "line: external id|name|type|url|metadata" or "line: mistake".
func told(records []record) []string {
	var s []string
	for _, r := range records {
		if r.Mistake != "" {
			s = append(s, fmt.Sprintf("%d: %s", r.Line, r.Mistake))
			continue
		}
		s = append(s, fmt.Sprintf("%d: %s|%s|%s|%s|%v", r.Line, r.ExternalID, r.Name, r.Type, r.URL, r.Metadata))
	}
	return s
}

func TestJSONLinesAreReadLineByLine(t *testing.T) {
	long := strings.Repeat("x", MaxLineBytes)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain":             {`{"externalId":"a","name":"A","type":"t","url":"u","metadata":{"n":12345678901234567890,"l":[1,null]}}`, []string{"1: a|A|t|u|map[l:[1 <nil>] n:12345678901234567890]"}},
		"breaks":            {"{\"name\":\"A\"}\r\n\r\n  \n{\"name\":\"B\"}\n", []string{"1: |A|||map[]", "4: |B|||map[]"}},
		"mark in front":     {"\xef\xbb\xbf{\"name\":\"A\"}", []string{"1: |A|||map[]"}},
		"null is nothing":   {`{"name":null,"metadata":null}`, []string{"1: ||||map[]"}},
		"unknown field":     {`{"name":"A","colour":"red"}` + "\n" + `{"Name":"A"}`, []string{`1: has the unknown field "colour"; put what is not externalId, name, type or url inside metadata`, `2: has the unknown field "Name"; put what is not externalId, name, type or url inside metadata`}},
		"less than export":  {`{"name":"A","status":"NEW"}`, []string{`1: has the unknown field "status"; put what is not externalId, name, type or url inside metadata`}},
		"wrong types":       {`{"name":1}` + "\n" + `{"metadata":[]}` + "\n[1]\nnull\n7", []string{"1: name is not a string", "2: metadata is not an object", "3: is not a JSON object", "4: is not a JSON object", "5: is not a JSON object"}},
		"broken, goes on":   {"{\"name\":\n{\"name\":\"B\"}\n{\"name\":\"C\"", []string{"1: is not JSON: unexpected end of JSON input at byte 8", "2: |B|||map[]", "3: is not JSON: unexpected end of JSON input at byte 11"}},
		"two on a line":     {`{"name":"A"}{"name":"B"}`, []string{"1: is not JSON: invalid character '{' after top-level value at byte 13"}},
		"not UTF-8":         {"{\"name\":\"\xff\"}\n{\"name\":\"B\"}", []string{"1: is not text in UTF-8", "2: |B|||map[]"}},
		"too long, goes on": {long + "x\n{\"name\":\"B\"}\n" + long + long + long, []string{"1: is longer than 300,000 bytes", "2: |B|||map[]", "3: is longer than 300,000 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := all(t, JSONLines, c.text, position{})
			require.NoError(t, err)
			assert.Equal(t, c.want, told(found))
		})
	}
}

func TestTheLongestLineIsRead(t *testing.T) {
	object := func(size int) string {
		const frame = `{"name":""}`
		return `{"name":"` + strings.Repeat("x", size-len(frame)) + `"}`
	}
	for _, end := range []string{"", "\n", "\r\n"} {
		found, err := all(t, JSONLines, object(MaxLineBytes)+end+object(MaxLineBytes+1)+end, position{})
		require.NoError(t, err)
		if end == "" {
			assert.Len(t, found, 1)
			continue
		}
		require.Len(t, found, 2)
		assert.Empty(t, found[0].Mistake)
		assert.Equal(t, "is longer than 300,000 bytes", found[1].Mistake)
	}
}

func TestCSVIsReadRowByRow(t *testing.T) {
	const head = "externalId,name,type,url,metadata.page,author\n"
	export := strings.Join(columnNames, ",") + "\n"
	long := strings.Repeat("x", MaxLineBytes)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain":                {head + "a,A,t,u,7,Ada\n", []string{"2: a|A|t|u|map[author:Ada page:7]"}},
		"empty cells, no end":  {head + "a,A,,,,", []string{"2: a|A|||map[]"}},
		"another order":        {"name,x,externalId\r\nA,1,a\r\n", []string{"2: a|A|||map[x:1]"}},
		"mark, empty lines":    {"\xef\xbb\xbfexternalId,name\r\n\r\na,A\r\n\n\nb,B", []string{"3: a|A|||map[]", "6: b|B|||map[]"}},
		"quotes":               {head + `"a","A ""1"", two",,"","x` + "\r\n\r\n" + `y",` + "\nb,B,,,,\n", []string{"2: a|A \"1\", two|||map[page:x\n\ny]", "5: b|B|||map[]"}},
		"a quote in a cell":    {head + "a,A\"B,,,,\nb,B,,,,\n", []string{"2: " + mistakeQuote, "3: b|B|||map[]"}},
		"text behind a quote":  {head + "a,\"A\"B,,,,\nb,B,,,,\n", []string{"2: " + mistakeQuote, "3: b|B|||map[]"}},
		"never closed":         {head + "a,\"A,,,,\nb,B,,,,\nc,C,,,,\n", []string{"2: " + mistakeOpen, "3: b|B|||map[]", "4: c|C|||map[]"}},
		"closed by another":    {head + "a,\"A,,,,\nb,B,,,,\nc,\"C\",,,,\n", []string{"2: " + mistakeQuote, "3: b|B|||map[]", "4: c|C|||map[]"}},
		"never closed, long":   {head + "a,\"A,,,,\nb,B,,,,\n" + long + "\nc,C,,,,\n", []string{"2: " + mistakeOpen, "3: b|B|||map[]", "4: has 1 columns, but the first line names 6", "5: c|C|||map[]"}},
		"breaks without end":   {head + "a,\"" + strings.Repeat("\n", 2*MaxLineBytes), []string{"2: " + mistakeOpen}},
		"too few and too many": {head + "a,A\nb,B,,,,,\nc,C,,,,\n", []string{"2: has 2 columns, but the first line names 6", "3: has 7 columns, but the first line names 6", "4: c|C|||map[]"}},
		"not UTF-8":            {head + "a,\xff,,,,\nb,B,,,,\n", []string{"2: is not text in UTF-8", "3: b|B|||map[]"}},
		"too long":             {head + long + "x\nb,B,,,,\n", []string{"2: is longer than 300,000 bytes", "3: b|B|||map[]"}},
		"header only":          {head, nil},
		"an export":            {export + "'=a,''=A,t,,NEW,c,s,k,u,U,T,now,1,\"{\"\"n\"\":1}\"\n", []string{"2: =a|'=A|t||map[n:1]"}},
		"an export with more":  {"x," + export + "'=1,a,A,,,,,,,,,,,,\n2,b,B,,,,,,,,,,,,{}", []string{"2: a|A|||map[x:=1]", "3: b|B|||map[x:2]"}},
		"a broken export":      {export + "a,A,,,,,,,,,,,,[]\nb,B,,,,,,,,,,,,{}x\nc,C,,,,,,,,,,,,\"{\"\"a\"\":\"\"\\ud800\"\"}\"\n", []string{"2: " + mistakeMetadata, "3: " + mistakeMetadata, "4: has half of a surrogate pair in metadata, which is no character: write both halves or neither"}},
		"less than an export":  {"externalId,name,status,metadata\na,'=A,new,{}\n", []string{"2: a|'=A|||map[metadata:{} status:new]"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := all(t, CSV, c.text, position{})
			require.NoError(t, err)
			assert.Equal(t, c.want, told(found))
		})
	}
}

func TestAFileThatIsNotWhatItSays(t *testing.T) {
	for text, c := range map[string]struct {
		format Format
		want   string
	}{
		"":                               {JSONLines, "empty"},
		"\xff\xfe{\x00":                  {JSONLines, "UTF-8"},
		"PK\x03\x04\x14\x00":             {CSV, "UTF-8"},
		" \n[\n{\"name\":\"A\"}]":        {JSONLines, "JSON array"},
		"{}":                             {"XML", "format"},
		"\xef\xbb\xbf":                   {CSV, "empty"},
		"id,title\n1,A":                  {CSV, "externalId and name"},
		"externalId;name\n1;A":           {CSV, "externalId and name"},
		"externalId,name,\n1,A,":         {CSV, "column 3 has no name"},
		"externalId,name,x,metadata.x\n": {CSV, "columns 3 and 4"},
		"externalId,name,name\n":         {CSV, "columns 2 and 3"},
		"externalId,\"name\n1,A":         {CSV, "never closed"},
	} {
		_, err := all(t, c.format, text, position{})
		require.True(t, fault.Is(err, fault.Invalid), "%q: %v", text, err)
		assert.Contains(t, err.Error(), c.want)
	}
}

func TestAReaderThatFailsIsNoMistakeOfALine(t *testing.T) {
	broken := errors.New("broken")
	for format, head := range map[Format]string{JSONLines: "", CSV: "externalId,name\n"} {
		text := head + strings.Repeat("\n", 2000) + "{\"na"
		r, done, err := openRecords(format, position{}, func(int64) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))), nil
		})
		require.NoError(t, err, format)
		found, err := r.next()
		done()
		assert.ErrorIs(t, err, broken, format)
		assert.Empty(t, found.Mistake)
	}
}

// drawn is a file of pieces that make all kinds of sense and nonsense.
func drawn(t *rapid.T, format Format) string {
	pieces := []string{"a", "\n", "\r\n", "\r", ",", `"`, `""`, `",`, "\",\"", "é", "\xff", `{"externalId":"a","name":"b"}`, "{", "}", " ", strings.Repeat("y", MaxLineBytes/2)}
	text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "pieces"), "")
	if format == CSV {
		return rapid.SampledFrom([]string{"", "\xef\xbb\xbf"}).Draw(t, "mark") + "externalId,name,\"x\ny\"\n" + text
	}
	return "{}\n" + text
}

func TestReadingCanResumeAfterEachRecord(t *testing.T) {
	for _, format := range []Format{JSONLines, CSV} {
		rapid.Check(t, func(t *rapid.T) {
			text := drawn(t, format)
			whole, err := all(t, format, text, position{})
			require.NoError(t, err)
			line := 0
			for i, r := range whole {
				require.Greater(t, r.Line, line)
				line = r.Line
				require.GreaterOrEqual(t, r.End.Lines, r.Line)
				before := text[:r.End.Bytes]
				require.Equal(t, strings.Count(before, "\n"), r.End.Lines-map[bool]int{true: 1}[!strings.HasSuffix(before, "\n")], "lines are counted")
				rest, err := all(t, format, text, r.End)
				require.NoError(t, err)
				require.Equal(t, len(whole)-i-1, len(rest))
				require.Equal(t, told(whole[i+1:]), told(rest))
			}
		})
	}
}

func TestReadingDoesNotDependOnHowBytesArrive(t *testing.T) {
	for _, format := range []Format{JSONLines, CSV} {
		rapid.Check(t, func(t *rapid.T) {
			text := strings.ReplaceAll(drawn(t, format), strings.Repeat("y", MaxLineBytes/2), "y")
			whole, err := all(t, format, text, position{})
			require.NoError(t, err)
			r, done, err := openRecords(format, position{}, func(int64) (io.ReadCloser, error) {
				return io.NopCloser(iotest.OneByteReader(strings.NewReader(text))), nil
			})
			require.NoError(t, err)
			defer done()
			for _, want := range whole {
				got, err := r.next()
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			_, err = r.next()
			require.ErrorIs(t, err, io.EOF)
		})
	}
}

func TestCSVIsReadAsOthersWriteIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringOf(rapid.RuneFrom([]rune("ab,\"\n é;'\t")))
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 2, 2), 1, 20).Draw(t, "rows")
		var text bytes.Buffer
		w := csv.NewWriter(&text)
		w.UseCRLF = rapid.Bool().Draw(t, "CRLF")
		require.NoError(t, w.Write([]string{"externalId", "name"}))
		require.NoError(t, w.WriteAll(rows))
		oracle, err := csv.NewReader(bytes.NewReader(text.Bytes())).ReadAll()
		require.NoError(t, err)
		found, err := all(t, CSV, text.String(), position{})
		require.NoError(t, err)
		require.Len(t, found, len(oracle)-1)
		for i, r := range found {
			require.Empty(t, r.Mistake)
			require.Equal(t, oracle[i+1], []string{r.ExternalID, r.Name})
		}
	})
}

func FuzzCSV(f *testing.F) {
	f.Add("externalId,name\na,\"b\nc\"\n")
	f.Add("externalId,name\r\na,\"b\"\r\n\r\n\"\",\"\"\"\"")
	f.Fuzz(func(t *testing.T, text string) {
		theirs, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\xef\xbb\xbf"))).ReadAll()
		if err != nil || !utf8.ValidString(text) || len(text) > MaxLineBytes {
			return // no file without mistakes
		}
		ours, err := all(t, CSV, text, position{})
		if err != nil {
			return // no file of items
		}
		if len(ours) != len(theirs)-1 {
			t.Fatalf("%d rows of %d: %q", len(ours), len(theirs)-1, told(ours))
		}
		for i, r := range ours {
			if r.Mistake != "" || r.ExternalID != theirs[i+1][slices.Index(theirs[0], "externalId")] {
				t.Fatalf("row %d of %q is %+v", i, theirs, r)
			}
		}
	})
}
