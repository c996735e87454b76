// Package fault says in which ways a request can fail.
//
// It knows kinds, fields and plain sentences for the client. It must not know
// GraphQL, HTTP or any store: they translate to and from a fault at their edge.
// Start reading at [Error] and [Kind].
package fault

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Kind is the class of a fault; internal/httpapi/present maps each to one extensions.code.
type Kind uint8

// The kinds of faults. Internal is the zero value: what nobody classified is a bug of ours.
const (
	Internal        Kind = iota // a bug or an unexpected answer; the client learns nothing more
	Invalid                     // the input is wrong; Field names where
	NotFound                    // it does not exist, or the viewer may not know that it does
	Forbidden                   // the viewer sees it but may not do this
	Unauthenticated             // nobody, or nobody valid, is asking
	Conflict                    // it does not fit what is there by now: the same request fails again, so the caller has to look first
	Unavailable                 // a store did not answer in time, or others change the same thing: the same request may succeed later
	Exhausted                   // a quota, a budget or a limit of a store is used up
	Outdated                    // a newer server wrote it in a way that this one cannot read: whoever operates the server has to upgrade it
)

var names = [...]string{"internal", "invalid", "not found", "forbidden", "unauthenticated", "conflict", "unavailable", "exhausted", "outdated"}

// String returns the kind in lower-case words, for logs.
func (k Kind) String() string {
	if int(k) < len(names) {
		return names[k]
	}
	return "internal"
}

// Error is a fault: a kind, a sentence that a client may read, and what caused it.
type Error struct {
	Kind    Kind
	Field   string // the input field at fault, as a dotted path ("input.title"), or ""
	Message string // safe for the client: no keys, no inner text
	Cause   error  // for logs only; never shown
	// RetryAfter is how long it takes until the same request may succeed; 0 when nobody knows.
	RetryAfter time.Duration
}

// Error returns the text for logs, with the cause.
func (e *Error) Error() string {
	text := e.Kind.String() + ": " + e.Message
	if e.Field != "" {
		text = e.Kind.String() + ": " + e.Field + ": " + e.Message
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New makes a fault of the given kind with a sentence for the client.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Invalidf says that the named input field is wrong, and why.
func Invalidf(field, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes a fault of the given kind from a cause that the client must not see.
func Wrap(kind Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// KindOf returns the kind of err, Internal when nobody classified it.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// Is reports whether err is a fault of the given kind.
func Is(err error, kind Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == kind
}

// Recovered turns a panic into an error of kind Internal when it is deferred: in a goroutine of one's own it would end the process.
func Recovered(err *error) {
	if p := recover(); p != nil {
		*err = Wrap(Internal, fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "the server made a mistake")
	}
}
