//go:build !linux && !darwin

package memory

func available() int64 { return 0 }
