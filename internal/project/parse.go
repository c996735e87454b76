package project

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/taggie/taggie/internal/fault"
)

// record is what a line of a file of items says, or what is wrong with the line. Its values are not checked yet.
type record struct {
	Imported
	Mistake string   // what is wrong, as the rest of a sentence about the line; only the number of the line is set then
	End     position // where the next one begins: reading can start there
}

// position is a place between two lines of a file.
type position struct {
	Bytes int64 // before it
	Lines int   // before it
}

// records reads a file of items one by one.
type records interface {
	// next returns io.EOF at the end, an Invalid fault when the file cannot be read as what it should be, and any error of the
	// reader as it is. A line with a mistake is no error.
	next() (record, error)
	// at returns how far reading came: behind what says nothing, too, such as empty lines.
	at() position
}

// openRecords starts reading at a position that an earlier reading reported, or at the zero position. The returned function
// closes the file.
func openRecords(format Format, from position, open func(offset int64) (io.ReadCloser, error)) (records, func(), error) {
	var columns []column
	if format == CSV && from.Bytes > 0 { // what the columns are is said at the start only
		file, err := open(0)
		if err != nil {
			return nil, nil, err
		}
		_, columns, err = startCSV(file)
		_ = file.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	file, err := open(from.Bytes)
	if err != nil {
		return nil, nil, err
	}
	var r records
	switch {
	case format == CSV && from.Bytes > 0:
		r = &csvRecords{lines: newLines(file, from), columns: columns}
	case format == CSV:
		var l *lines
		if l, columns, err = startCSV(file); err == nil {
			r = &csvRecords{lines: l, columns: columns}
		}
	case format == JSONLines:
		l := newLines(file, from)
		if from.Bytes == 0 {
			err = startJSON(l)
		}
		r = &jsonRecords{lines: l, parse: parseJSON}
	case format == listOfOriginals:
		r = &jsonRecords{lines: newLines(file, from), parse: parseOriginal}
	default:
		err = fault.New(fault.Invalid, "files of this format cannot be imported")
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return r, func() { _ = file.Close() }, nil
}

// readAhead is how much more than one line is kept in memory.
const readAhead = 64 << 10

// lines finds lines in bounded memory.
type lines struct {
	r  *bufio.Reader
	at position
}

func newLines(r io.Reader, at position) *lines {
	return &lines{r: bufio.NewReaderSize(r, MaxLineBytes+readAhead), at: at}
}

// window returns what is in memory of the text from here on, at least n bytes unless the file is shorter; ended says that it
// ends with the file. It takes nothing away.
func (l *lines) window(n int) (text []byte, ended bool, err error) {
	_, err = l.r.Peek(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	ended = err != nil
	text, err = l.r.Peek(l.r.Buffered())
	return text, ended, err
}

// take goes on behind the next n bytes, which are in memory and hold the given number of line breaks.
func (l *lines) take(n, breaks int) {
	_, _ = l.r.Discard(n) // cannot fail on what is in memory
	l.at.Bytes += int64(n)
	l.at.Lines += breaks
}

// skip goes on behind the next line break, however far that is.
func (l *lines) skip() error {
	for {
		text, ended, err := l.window(1)
		if err != nil {
			return err
		}
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			l.take(i+1, 1)
			return nil
		}
		l.take(len(text), 0)
		if ended {
			l.at.Lines++ // the last line needs no break
			return nil
		}
	}
}

// line returns the next line without its break, which is valid until the next call; long says that it had more than
// [MaxLineBytes] and was skipped. It returns io.EOF at the end.
func (l *lines) line() (text []byte, long bool, err error) {
	for seen := 0; ; {
		window, ended, err := l.window(seen + 1)
		if err != nil {
			return nil, false, err
		}
		i := bytes.IndexByte(window[seen:], '\n')
		switch {
		case i < 0 && len(window) > MaxLineBytes+len("\r"), i >= 0 && seen+i > MaxLineBytes+len("\r"):
			return nil, true, l.skip()
		case i >= 0:
			l.take(seen+i+1, 1)
			return bytes.TrimSuffix(window[:seen+i], []byte("\r")), false, nil
		case ended && len(window) == 0:
			return nil, false, io.EOF
		case ended:
			l.take(len(window), 1)
			return bytes.TrimSuffix(window, []byte("\r")), false, nil
		}
		seen = len(window)
	}
}

// start checks that a file is text, and takes the mark away that some programs put in front of it.
func (l *lines) start() error {
	text, _, err := l.window(1024)
	if err != nil {
		return err
	}
	switch {
	case len(text) == 0:
		return fault.New(fault.Invalid, "the file is empty")
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")), bytes.IndexByte(text[:min(len(text), 1024)], 0) >= 0:
		return fault.New(fault.Invalid, "the file is not text in UTF-8")
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		l.take(3, 0)
	}
	return nil
}

const (
	mistakeTooLong = "is longer than 300,000 bytes"
	mistakeNotUTF8 = "is not text in UTF-8"
)
