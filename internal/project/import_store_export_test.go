package project

import "github.com/stretchr/testify/require"

// Warehouse is the store of the tests of imports.
type Warehouse = warehouse

// NewWarehouse returns one that has an import.
func NewWarehouse(t require.TestingT, i Import) *Warehouse {
	w := newWarehouse(t, JSONLines, "")
	w.current = i
	return w
}
