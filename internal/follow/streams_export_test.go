package follow

// StreamsInMemory returns those of the tests of this package.
func StreamsInMemory() Streams { return &world{streams: map[Stream][]Entry{}} }
