//go:build !linux

package child

import (
	"errors"
	"syscall"
)

// isolated knows no network namespaces: they are Linux's.
func isolated() (*syscall.SysProcAttr, error) { return nil, errors.ErrUnsupported }
