package project

import (
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

var morning = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func refused(t require.TestingT, err error, field string) {
	e, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok, "got %v", err)
	require.Equal(t, fault.Invalid, e.Kind)
	require.Equal(t, field, e.Field)
}
