package labelling

import "time"

// Hurry shortens how long a store may fail, and how long it takes until it is asked again how many are online.
func (h *Hub[T]) Hurry(patience, asks time.Duration) {
	h.limits.patience, h.limits.asks = patience, asks
}

// Doubt shortens how old a look at a membership gets.
func (h *Hub[T]) Doubt(looks time.Duration) { h.limits.looks = looks }

// Bound changes how many projects a user may listen to.
func (h *Hub[T]) Bound(heard int) { h.limits.heard = heard }

// RingSize is how many events a process keeps.
const RingSize = ringSize
