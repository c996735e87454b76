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
	foreign bool   // not written in Go
	gogc    string // its setting of the garbage collector; "" for that of its language
	url     string
	pprof   string // address of its profiles; "" for none
	cmd     *exec.Cmd
	output  *bytes.Buffer
	exited  chan struct{}
}

// startAlone starts Taggie as under `make run` but with one core, and waits until it is ready.
func startAlone(ctx context.Context, o options, environment ...string) (*process, error) {
	p := &process{name: nameTaggie, graphql: true}
	return p, p.start(ctx, environment, o.server, "serve", "--no-demo")
}

// start runs a program on a free port with one core, and waits until it is ready.
func (p *process) start(ctx context.Context, environment []string, program string, args ...string) error {
	if err := p.spawn(environment, program, args...); err != nil {
		return err
	}
	return p.poll(ctx, 20*time.Millisecond, func() bool {
		response, err := http.Get(p.url + "/readyz")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}

// spawn runs a program on a free port, with one core unless the environment says otherwise.
func (p *process) spawn(environment []string, program string, args ...string) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	if strings.ContainsRune(program, filepath.Separator) {
		if program, err = filepath.Abs(program); err != nil {
			return err
		}
	}
	p.url, p.cmd, p.output, p.exited = "http://"+address, exec.Command(program, args...), new(bytes.Buffer), make(chan struct{})
	p.cmd.Env = append([]string{"TAGGIE_ADDR=" + address, "GOMAXPROCS=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, environment...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w (make build makes Taggie)", p.name, err)
	}
	go func() {
		_ = p.cmd.Wait() // what matters is in the output
		close(p.exited)
	}()
	return nil
}

// poll looks again and again until the process is ready. One that does not become ready is stopped.
func (p *process) poll(ctx context.Context, every time.Duration, ready func() bool) error {
	again := time.NewTicker(every)
	defer again.Stop()
	patience, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for !ready() {
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended before it was ready:\n%s", p.name, p.output)
		case <-patience.Done():
			p.stop()
			return fmt.Errorf("%s did not become ready:\n%s", p.name, p.output)
		case <-again.C:
		}
	}
	return nil
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

// tick is what CPU time is counted in: USER_HZ is 100 everywhere.
const tick = 10 * time.Millisecond

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
	var times [4]time.Duration // user and system, of the process and of its children
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
	pages, err := sumOfFamily(p.cmd.Process.Pid, 21)
	return pages * int64(os.Getpagesize()), err
}

// cpuOfFamily returns the CPU time that a process and all that it started have used, as far as they are still there.
func cpuOfFamily(pid int) (time.Duration, error) {
	ticks, err := sumOfFamily(pid, 11, 12) // user and system
	return time.Duration(ticks) * tick, err
}

// sumOfFamily adds fields of /proc/…/stat, counted from behind the name, of a process and of all that it started.
func sumOfFamily(pid int, fields ...int) (int64, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	all := make(map[string][]string, len(stats)) // by id
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		id, rest, _ := strings.Cut(string(stat), " ")
		found := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:]) // the name may hold blanks
		if len(found) < 22 {
			return 0, errors.New("/proc/…/stat has another form than proc(5) says")
		}
		all[id] = found
	}
	var sum int64
	eldest := strconv.Itoa(pid)
	for id, member := range all {
		ancestor := id
		for ancestor != eldest && all[ancestor] != nil {
			ancestor = all[ancestor][1]
		}
		if ancestor != eldest {
			continue
		}
		for _, at := range fields {
			n, err := strconv.ParseInt(member[at], 10, 64)
			if err != nil {
				return 0, err
			}
			sum += n
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

// heap is what Go's runtime says in /metrics; nothing for a program in another language.
type heap struct{ objects, bytes float64 }

func (p *process) heap() (heap, error) {
	if p.foreign {
		return heap{}, nil
	}
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
