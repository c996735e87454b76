// Package task names work that outlives the request, and the server, that began it.
//
// It knows what a task is, who may work on it at a time, and when it comes back. It must not know what any kind of task does:
// the domains do, and internal/jobs runs them. A task is recorded in the transaction that makes it necessary, so that no crash
// can lose it, and it is done again from its last step by any server after the one that worked on it was lost. Hence every step
// has to be safe to repeat. Start reading at [Task], then [Store].
package task

import (
	"context"
	"time"
)

// Lease is how long a task belongs to the server that works on it, counted from its last heartbeat.
const Lease = 30 * time.Second

// Kind says which domain's handler works on a task.
type Kind string

// Task is work to be done at or after Due.
type Task struct {
	Kind  Kind
	ID    string // together with Kind it names the task; the same one is kept once
	Scope string // of the thing it is about
	Due   time.Time
	// Token fences: it changes with each server that takes the task over, and writes that must not come from one that was
	// lost are conditional on it.
	Token string
	Tries int // how often it was claimed before
}

// Store keeps tasks. It may fail with Unavailable.
type Store interface {
	// PutTask records a task; nothing happens when it is there already.
	PutTask(ctx context.Context, t Task) error
	// ListDueTasks returns up to limit tasks that are due and that nobody works on, the earliest due first.
	ListDueTasks(ctx context.Context, now time.Time, limit int) ([]Task, error)
	// ClaimTask makes the token that of the task until the lease ends; false when somebody else has it or it is done.
	ClaimTask(ctx context.Context, t Task, token string, until time.Time) (Task, bool, error)
	// ExtendTask moves the end of the lease; false when the token is no longer the task's.
	ExtendTask(ctx context.Context, t Task, until time.Time) (bool, error)
	// FinishTask removes the task, or lets it come back at again unless that is zero. Nothing happens when the token is no longer
	// the task's.
	FinishTask(ctx context.Context, t Task, again time.Time) error
}

// Handler works on tasks of one kind until they are done, or the context ends. It returns when the task is to come back,
// zero when it is done. After an error it comes back by itself, later each time.
type Handler func(ctx context.Context, t Task) (again time.Time, err error)
