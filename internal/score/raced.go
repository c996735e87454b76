//go:build race

package score

// raced says that the race detector keeps books of its own for all memory: four bytes for each, and more.
const raced = true
