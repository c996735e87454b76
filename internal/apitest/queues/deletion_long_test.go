//go:build long

package queues

// deletedItems is how many items a large project has that is deleted.
const deletedItems = 100_000
