package jobs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestJobsComeAgainAfterErrorAndPanicAndStopWithTheContext(t *testing.T) {
	var out bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	var once sync.Once
	rounds := 0
	Run(ctx, slog.New(slog.NewTextHandler(&out, nil)), Job{Name: "shaky", Every: time.Millisecond, Do: func(context.Context) error {
		rounds++
		switch rounds {
		case 1:
			return errors.New("first")
		case 2:
			panic("second")
		default:
			once.Do(stop)
			return nil
		}
	}})
	assert.GreaterOrEqual(t, rounds, 3)
	assert.Contains(t, out.String(), "error=first")
	assert.Contains(t, out.String(), "panic: second")
}

func TestAnErrorOfEachRoundIsLoggedOnceAndAgainAfterARoundWithout(t *testing.T) {
	var out bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	var once sync.Once
	rounds := 0
	Run(ctx, slog.New(slog.NewTextHandler(&out, nil)), Job{Name: "away", Every: time.Millisecond, Do: func(context.Context) error {
		rounds++
		switch {
		case rounds == 10:
			return nil
		case rounds < 20:
			return errors.New("the store is away")
		}
		once.Do(stop)
		return nil
	}})
	assert.Equal(t, 2, bytes.Count(out.Bytes(), []byte("the store is away")), "%s", out.String())
}
