package faultinject

import (
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// Throttle refuses calls as DynamoDB does when a table's throughput is used up.
func (i *Injector) Throttle(when When, match ...Match) *Rule {
	return i.Fail(http.StatusBadRequest, "ProvisionedThroughputExceededException", when, match...)
}

// Fail refuses calls with an error of DynamoDB: (500, "InternalServerError"), (400, "ThrottlingException") and so on.
func (i *Injector) Fail(status int, code string, when When, match ...Match) *Rule {
	return i.add(&Rule{match: all(match), when: when, act: func(*exchange, handler) (*answer, error) {
		return refuse(status, code, "injected", nil), nil
	}})
}

// DiskFull refuses calls as the embedded engine does when its disk is full.
func (i *Injector) DiskFull(when When, match ...Match) *Rule {
	return i.add(&Rule{match: all(match), when: when, act: func(*exchange, handler) (*answer, error) {
		return refuse(http.StatusInternalServerError, "InternalServerError", "commit failed (backend: I/O error: database or disk is full)", nil), nil
	}})
}

// Conflict refuses writes because another transaction works on their first row: a transaction is cancelled with the reason
// TransactionConflict, a single write fails with TransactionConflictException.
func (i *Injector) Conflict(when When, match ...Match) *Rule {
	return i.add(&Rule{match: all(match, conditional), when: when, act: func(x *exchange, _ handler) (*answer, error) {
		return conflict(x, 0)
	}})
}

// conflict is the answer to a write whose rows with the given positions belong to another transaction.
func conflict(x *exchange, rows ...int) (*answer, error) {
	if x.call.Operation != "TransactWriteItems" && x.call.Operation != "TransactGetItems" {
		return refuse(http.StatusBadRequest, "TransactionConflictException", conflictMessage, nil), nil
	}
	n, err := actions(x.body)
	if err != nil {
		return nil, err
	}
	return cancelled(n, rows...), nil
}

// ResetBefore breaks the connection before the engine has received the call.
func (i *Injector) ResetBefore(when When, match ...Match) *Rule {
	return i.add(&Rule{match: all(match), when: when, act: func(*exchange, handler) (*answer, error) {
		return nil, reset("write")
	}})
}

// ResetAfter breaks the connection after the engine has carried out the call: its outcome is unknown. The SDK repeats
// such a call; with [Always] every attempt is carried out and none is answered.
func (i *Injector) ResetAfter(when When, match ...Match) *Rule {
	return i.add(&Rule{match: all(match), when: when, act: func(x *exchange, next handler) (*answer, error) {
		if _, err := next(x); err != nil {
			return nil, err
		}
		return nil, reset("read")
	}})
}

func reset(verb string) error {
	return &net.OpError{Op: verb, Net: "tcp", Err: os.NewSyscallError(verb, syscall.ECONNRESET)}
}

// Delay lets calls wait before they go to the engine.
func (i *Injector) Delay(d time.Duration, when When, match ...Match) *Rule {
	return i.add(&Rule{match: all(match), when: when, act: func(x *exchange, next handler) (*answer, error) {
		if err := i.Sleep(x.ctx, d); err != nil {
			return nil, err
		}
		return next(x)
	}})
}

// ErrKilled is what each call fails with once [Injector.KillAfter] has struck. The SDK does not repeat such calls.
var ErrKilled error = killed{}

type killed struct{}

func (killed) Error() string       { return "faultinject: the process is dead" }
func (killed) CanceledError() bool { return true } // tells the SDK not to try again

// KillAfter lets the process die, as far as the engine can see: the first n calls that match are carried out, the next one
// and every call after it, of whatever kind, fails with [ErrKilled]. Answers that come after death are lost too.
// Stop brings a new process to life.
func (i *Injector) KillAfter(n int, match ...Match) *Rule {
	var mu sync.Mutex
	dead, done := false, 0
	matches := all(match)
	die := func(c *Call) bool {
		mu.Lock()
		defer mu.Unlock()
		if c != nil && matches(c) {
			done++
			dead = dead || done > n
		}
		return dead
	}
	return i.add(&Rule{match: all(nil), when: Always, act: func(x *exchange, next handler) (*answer, error) {
		if die(x.call) {
			return nil, ErrKilled
		}
		a, err := next(x)
		if die(nil) {
			return nil, errors.Join(ErrKilled, err)
		}
		return a, err
	}})
}
