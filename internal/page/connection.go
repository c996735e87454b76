package page

// Edge is an item in a list.
type Edge[T any] struct {
	Position
	Node T
}

// Connection is one page of a list. E is the type of its edges.
type Connection[E any] struct {
	Edges    []E
	PageInfo Info
}

// Info says where a page lies in its list.
type Info struct {
	HasNextPage     bool
	HasPreviousPage bool
	start, end      Position
}

// StartCursor returns the cursor of the first edge, nil on an empty page.
func (i Info) StartCursor() *Cursor { return i.start.orNil() }

// EndCursor returns the cursor of the last edge, nil on an empty page.
func (i Info) EndCursor() *Cursor { return i.end.orNil() }

func (p Position) orNil() *Cursor {
	if p.sealer == nil {
		return nil
	}
	c := p.Cursor()
	return &c
}

// Connect makes the page of a list from what the store returned.
func Connect[T, E any](o Opened, s Slice[T], edge func(Position, T) E) Connection[E] {
	c := Connection[E]{Edges: make([]E, len(s.Items))}
	for i, item := range s.Items {
		c.Edges[i] = edge(o.At(s.Positions[i]), item)
	}
	c.PageInfo.HasNextPage, c.PageInfo.HasPreviousPage = s.More, s.Other
	if o.Window.Backward {
		c.PageInfo.HasNextPage, c.PageInfo.HasPreviousPage = s.Other, s.More
	}
	if n := len(s.Items); n > 0 {
		c.PageInfo.start, c.PageInfo.end = o.At(s.Positions[0]), o.At(s.Positions[n-1])
	}
	switch {
	case s.Until == "":
	case o.Window.Backward:
		c.PageInfo.start = o.At(s.Until)
	default:
		c.PageInfo.end = o.At(s.Until)
	}
	return c
}

// List is a connection whose edges carry nothing but the item.
type List[T any] struct{ Connection[Edge[T]] }

// Nodes returns the items without their edges.
func (l List[T]) Nodes() []T {
	nodes := make([]T, len(l.Edges))
	for i, e := range l.Edges {
		nodes[i] = e.Node
	}
	return nodes
}

// Plain makes the page of a list whose edges carry nothing but the item.
func Plain[T any](o Opened, s Slice[T]) *List[T] { return &List[T]{Connect(o, s, Node[T])} }

// Node is the edge function of lists whose edges carry nothing but the item.
func Node[T any](p Position, item T) Edge[T] { return Edge[T]{Position: p, Node: item} }
