//go:build !race

package score

const raced = false // see raced.go
