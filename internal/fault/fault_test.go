package fault

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKindOfLooksThroughWrapping(t *testing.T) {
	err := fmt.Errorf("save the note: %w", Invalidf("input.title", "too long"))
	assert.Equal(t, Invalid, KindOf(err))
	assert.True(t, Is(err, Invalid))
	assert.False(t, Is(err, NotFound))
	assert.Equal(t, Internal, KindOf(errors.New("nobody classified this")))
	assert.False(t, Is(errors.New("nobody classified this"), Internal), "an error that is no fault is of no kind")
	assert.False(t, Is(nil, Internal))
}

func TestErrorTellsTheCauseToLogsOnly(t *testing.T) {
	cause := errors.New("connection refused")
	err := Wrap(Unavailable, cause, "the list could not be read")
	assert.Equal(t, "unavailable: the list could not be read: connection refused", err.Error())
	assert.Equal(t, "the list could not be read", err.Message)
	assert.ErrorIs(t, err, cause)
	assert.Equal(t, "internal", Kind(200).String())
}

func Example() {
	err := fmt.Errorf("create the note: %w", Invalidf("input.title", "a title has at most %d characters", 200))
	if f, ok := errors.AsType[*Error](err); ok {
		fmt.Println(f.Kind, f.Field, "-", f.Message)
	}
	// Output: invalid input.title - a title has at most 200 characters
}
