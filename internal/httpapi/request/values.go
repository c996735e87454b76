package request

import "bytes"

// Values is how many values there are in JSON below the outermost one. They stand behind one of {[, outside of texts.
func Values(data []byte) int {
	n := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[', ',':
			n++
		case '"':
			i = textEnd(data, i+1)
		}
	}
	return n
}

// textEnd returns where the quote is that ends a text whose contents begin at a place; behind the data when none does.
func textEnd(data []byte, from int) int {
	for at := from; ; at++ {
		quote := bytes.IndexByte(data[min(at, len(data)):], '"')
		if quote < 0 {
			return len(data)
		}
		at += quote
		escapes := at
		for escapes > from && data[escapes-1] == '\\' {
			escapes--
		}
		if (at-escapes)%2 == 0 {
			return at
		}
	}
}

// Weight is how long it takes to read JSON, in bytes of plain text.
func Weight(text []byte) int {
	const valueBytes = 20
	return len(text) + valueBytes*Values(text)
}
