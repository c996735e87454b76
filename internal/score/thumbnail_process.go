package score

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/taggie/taggie/internal/fault"
)

// Process decodes each image in a process of its own: its memory is bounded by the operating system and given back at once, and it is
// killed with its context, whatever it is at.
type Process struct {
	// Command starts this program as one that calls [RenderStandardInput] with the arguments behind these.
	Command []string
	ended   func(rendered) // of tests
}

// heavyExit is how a process ends that would take up more memory than it is given: that is how a program in Go ends.
const heavyExit = 2

// feeding is how long the end of what is read is waited for when nobody wants it any more.
const feeding = time.Second

// maxRendered is how many bytes a process may answer: a thumbnail in base64.
const maxRendered = 1 << 20

// rendered is what a process answers.
type rendered struct {
	Thumb       *Thumb `json:",omitempty"`
	Unsupported bool   `json:",omitempty"`
	Peak        int64  `json:",omitempty"` // bytes that it took up at most, where the system tells
}

// Render is a [Renderer].
func (p Process) Render(ctx context.Context, job Rendering, r io.Reader) (Thumb, error) {
	args := append(p.Command[1:len(p.Command):len(p.Command)], job.Type, strconv.Itoa(job.Turn), strconv.FormatInt(job.Memory, 10))
	cmd := exec.CommandContext(ctx, p.Command[0], args...) //nolint:gosec // this program
	out, said := &bounded{most: maxRendered}, &bounded{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, said
	cmd.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"} // and none of our settings: it reads what strangers sent
	if race, ok := os.LookupEnv("GORACE"); ok {            // of tests: without it, each of them would sleep a second before it ends
		cmd.Env = append(cmd.Env, "GORACE="+race)
	}
	cmd.SysProcAttr = alone()
	in, err := cmd.StdinPipe()
	if err != nil {
		return Thumb{}, fault.Wrap(fault.Unavailable, err, "the image could not be looked at; complete the upload again")
	}
	// Linux kills the child when the thread that started it dies.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return Thumb{}, fault.Wrap(fault.Unavailable, err, "the image could not be looked at; complete the upload again")
	}
	// Not by the package exec, which waits for a storage that hangs. What is wrong with it is known before the process sees its end.
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		_, _ = io.Copy(in, r) // fails when the process wants no more, or has ended
		_ = in.Close()
	}()
	err = cmd.Wait()
	select {
	case <-fed:
	case <-time.After(feeding):
	}
	var answer rendered
	switch failed, code := ended(ctx.Err()), cmd.ProcessState.ExitCode(); {
	case code == 0 && json.Unmarshal(out.Bytes(), &answer) == nil:
	case failed != nil:
		return Thumb{}, failed
	case code == heavyExit:
		return Thumb{}, errHeavy
	case code < 0: // somebody killed it, or the system did for want of memory
		return Thumb{}, fault.Wrap(fault.Unavailable, err, "the image could not be looked at; complete the upload again")
	default:
		return Thumb{}, fault.Wrap(fault.Internal, fmt.Errorf("%w: %s", err, said), "the thumbnail could not be made")
	}
	if p.ended != nil {
		p.ended(answer)
	}
	switch {
	case answer.Unsupported:
		return Thumb{}, errUnsupported
	case answer.Thumb == nil:
		return Thumb{}, errBroken()
	}
	return *answer.Thumb, nil
}

// bounded keeps what is written, up to a length.
type bounded struct {
	bytes.Buffer
	most int
}

// Write keeps what there is room for.
func (b *bounded) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:max(0, min(len(p), b.most-b.Len()))]) // never fails
	return len(p), nil
}

// RenderStandardInput is the other side of [Process.Render]: it reads an image, and answers with its thumbnail.
func RenderStandardInput(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("this is what the server starts to decode an image: it needs a type, a turn and a number of bytes")
	}
	turn, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	memory, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	if err := confine(memory); err != nil {
		return fmt.Errorf("cannot bound what decoding takes up: %w", err)
	}
	debug.SetGCPercent(20) // what an image is put together from is garbage early
	var answer rendered
	thumb, err := renderOrBreak(Rendering{Type: args[0], Turn: turn, Memory: memory}, in)
	switch {
	case err == nil:
		answer.Thumb = &thumb
	case errors.Is(err, errUnsupported):
		answer.Unsupported = true
	case !fault.Is(err, fault.Invalid):
		return err
	}
	answer.Peak = peak()
	return json.NewEncoder(out).Encode(answer)
}

// renderOrBreak takes an image that a decoder panics about for broken.
func renderOrBreak(job Rendering, in io.Reader) (thumb Thumb, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errBroken()
		}
	}()
	return Render(context.Background(), job, in)
}
