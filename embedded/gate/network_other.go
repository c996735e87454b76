//go:build !linux

package main

import (
	"errors"
	"syscall"
)

func dieWithParent() *syscall.SysProcAttr { return nil }

func loopbackUp() error { return errors.ErrUnsupported }
