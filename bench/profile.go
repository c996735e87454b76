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

// profiled runs f, and takes a CPU profile and one of all allocations so far meanwhile when they are wanted.
func profiled(ctx context.Context, o options, p *process, name string, f func() error) error {
	if p.pprof == "" {
		return f()
	}
	if err := os.MkdirAll(o.profiles, 0o755); err != nil {
		return err
	}
	taken := make(chan error, 1)
	go func() {
		if err := wait(ctx, o.warmUp); err != nil {
			taken <- err
			return
		}
		seconds := max(1, int(o.measure/time.Second))
		taken <- errors.Join(
			fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.pprof, seconds), filepath.Join(o.profiles, name+".cpu")),
			fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/allocs", p.pprof), filepath.Join(o.profiles, name+".allocs")),
		)
	}()
	return errors.Join(f(), <-taken)
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
