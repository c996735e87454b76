package lean

import "io"

// written is what a plan wrote, until it goes into the answer.
type written struct{ by *Writer }

// MarshalGQL puts it into the answer. That happens once.
func (m *written) MarshalGQL(to io.Writer) {
	w := m.by
	m.by = nil
	if b, ok := to.(interface{ Len() int }); ok && b.Len()+len(w.B) > MaxAnswer {
		panic(TooLarge{})
	}
	if answer, ok := to.(*Answer); ok {
		answer.add(w.B)
	} else {
		_, _ = to.Write(w.B)
	}
	w.release()
}

// tooLarge stands for what would have been larger than an answer may be.
type tooLarge struct{}

// MarshalGQL tells it where the answer is written, as [Object.MarshalGQL] does.
func (tooLarge) MarshalGQL(io.Writer) { panic(TooLarge{}) }
