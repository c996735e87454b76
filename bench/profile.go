package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// takeProfile returns where the CPU time of one question goes. When profiles are wanted, it also keeps the profile, and one of
// all allocations since the start.
func takeProfile(ctx context.Context, o options, t turn, run int) (shares, error) {
	if o.profile <= 0 {
		return shares{}, nil
	}
	p := t.process
	type profiled struct {
		cpu []byte
		err error
	}
	taken := make(chan profiled, 1)
	go func() {
		// Less than the load, so that no moment without load is in it.
		cpu, err := fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.pprof, o.profile/time.Second))
		taken <- profiled{cpu, err}
	}()
	_, err := t.measure(ctx, 0, o.profile+500*time.Millisecond)
	it := <-taken
	if err := errors.Join(err, it.err); err != nil {
		return nil, err
	}
	if o.profiles != "" {
		allocations, err := fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/allocs", p.pprof))
		if err != nil {
			return nil, err
		}
		name := filepath.Join(o.profiles, fmt.Sprintf("%s-%d", t.question.name, run))
		err = errors.Join(os.MkdirAll(o.profiles, 0o755), os.WriteFile(name+".cpu", it.cpu, 0o644), os.WriteFile(name+".allocs", allocations, 0o644))
		if err != nil {
			return nil, err
		}
	}
	return readShares(bytes.NewReader(it.cpu))
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}
