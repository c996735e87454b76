package request

// Values is how many values there are in JSON below the outermost one. They stand behind one of {[, outside of texts.
func Values(data []byte) int {
	n := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[', ',':
			n++
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}

// Weight is how long it takes to read JSON, in bytes of plain text.
func Weight(text []byte) int {
	const valueBytes = 20
	return len(text) + valueBytes*Values(text)
}
