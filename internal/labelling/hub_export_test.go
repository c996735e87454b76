package labelling

import "time"

// Hurry shortens how long a store may fail, and how long it takes until it is asked again how many are online.
func (h *Hub[T]) Hurry(patience, asks time.Duration) {
	h.limits = hubLimits{patience: patience, asks: asks}
}

// RingSize is how many events a process keeps.
const RingSize = ringSize
