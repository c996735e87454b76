package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// takeProfile takes a CPU profile of one question, and one of all allocations since the start, when profiles are wanted.
func takeProfile(ctx context.Context, o options, t turn, run int) error {
	p := t.process
	if p.pprof == "" {
		return nil
	}
	if err := os.MkdirAll(o.profiles, 0o755); err != nil {
		return err
	}
	const seconds = 5
	name := filepath.Join(o.profiles, fmt.Sprintf("%s-%d", t.question.name, run))
	taken := make(chan error, 1)
	go func() {
		taken <- errors.Join(
			fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.pprof, seconds), name+".cpu"),
			fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/allocs", p.pprof), name+".allocs"),
		)
	}()
	_, err := t.measure(ctx, 0, seconds*time.Second)
	return errors.Join(err, <-taken)
}

func fetch(ctx context.Context, url, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, response.Body)
	return errors.Join(err, file.Close())
}
