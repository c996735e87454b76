package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server under test.
type process struct {
	name    string
	graphql bool
	url     string
	pprof   string // address of its profiles; "" for none
	cmd     *exec.Cmd
	output  *bytes.Buffer
	exited  chan struct{}
}

// start runs a program on a free port with one core, and waits until it is ready.
func start(ctx context.Context, name string, graphql bool, environment []string, program string, args ...string) (*process, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	program, err = filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	p := &process{name: name, graphql: graphql, url: "http://" + address, cmd: exec.Command(program, args...), output: new(bytes.Buffer), exited: make(chan struct{})}
	p.cmd.Env = append(environment, "TAGGIE_ADDR="+address, "GOMAXPROCS=1", "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"))
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w (make build makes it)", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // what matters is in the output
		close(p.exited)
	}()
	ready := time.NewTicker(20 * time.Millisecond)
	defer ready.Stop()
	patience, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if response, err := http.Get(p.url + "/readyz"); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return p, nil
			}
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("%s ended before it was ready:\n%s", name, p.output)
		case <-patience.Done():
			p.stop()
			return nil, fmt.Errorf("%s did not become ready:\n%s", name, p.output)
		case <-ready.C:
		}
	}
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}

// stop ends the process.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// cpu returns the CPU time that the process has used, of its own and of the kernel for it. Its children (the embedded
// engines that Taggie starts) are not in it.
func (p *process) cpu() (time.Duration, error) {
	own, _, err := cpuTimes(strconv.Itoa(p.cmd.Process.Pid))
	return own, err
}

// cpuTimes returns the CPU time of a process, and that of its children that have ended. "self" is the caller.
func cpuTimes(pid string) (own, children time.Duration, err error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may hold blanks
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0, 0, errors.New("/proc/…/stat has another form than proc(5) says")
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 everywhere
	var times [4]time.Duration         // user and system, of the process and of its children
	for i := range times {
		n, err := strconv.ParseInt(fields[11+i], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		times[i] = time.Duration(n) * tick
	}
	return times[0] + times[1], times[2] + times[3], nil
}

// resident returns the memory of the process that is in RAM, in bytes.
func (p *process) resident() (int64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0, errors.New("/proc/…/statm has another form than proc(5) says")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// family returns the memory of the process and of all that it started, in bytes. What they share is counted with each.
func (p *process) family() (int64, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	type one struct {
		parent string
		bytes  int64
	}
	all := make(map[string]one, len(stats))
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, rest, _ := strings.Cut(string(stat), " ")
		fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:]) // the name may hold blanks
		if len(fields) < 22 {
			return 0, errors.New("/proc/…/stat has another form than proc(5) says")
		}
		pages, err := strconv.ParseInt(fields[21], 10, 64)
		if err != nil {
			return 0, err
		}
		all[pid] = one{parent: fields[1], bytes: pages * int64(os.Getpagesize())}
	}
	var sum int64
	eldest := strconv.Itoa(p.cmd.Process.Pid)
	for pid, member := range all {
		for ancestor := pid; ancestor != ""; ancestor = all[ancestor].parent {
			if ancestor == eldest {
				sum += member.bytes
				break
			}
		}
	}
	return sum, nil
}

// peak looks at the memory of processes until the returned function is called, which returns the most that was seen.
func peak(memory func() (int64, error)) func() (int64, error) {
	done, found := make(chan struct{}), make(chan int64, 1)
	var failed error
	go func() {
		var most int64
		every := time.NewTicker(50 * time.Millisecond)
		defer every.Stop()
		for {
			resident, err := memory()
			if err != nil {
				failed = err
			}
			most = max(most, resident)
			select {
			case <-done:
				found <- most
				return
			case <-every.C:
			}
		}
	}()
	return func() (int64, error) {
		close(done)
		return <-found, failed
	}
}

// heap is what Go's runtime says in /metrics.
type heap struct{ objects, bytes float64 }

func (p *process) heap() (heap, error) {
	response, err := http.Get(p.url + "/metrics")
	if err != nil {
		return heap{}, err
	}
	defer response.Body.Close()
	var h heap
	var found int
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case "go_memstats_mallocs_total":
			h.objects, err = strconv.ParseFloat(value, 64)
		case "go_memstats_alloc_bytes_total":
			h.bytes, err = strconv.ParseFloat(value, 64)
		default:
			continue
		}
		if err != nil {
			return heap{}, err
		}
		found++
	}
	if found != 2 {
		return heap{}, fmt.Errorf("%s does not tell its allocations in /metrics", p.name)
	}
	return h, lines.Err()
}

// ask sends the question once and returns the answer.
func (p *process) ask(q question, token string) ([]byte, error) {
	r, err := q.request(p.url, p.graphql, token)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s with %s: %.500s\n%s", p.name, q.name, response.Status, body, p.output)
	}
	return body, err
}
