package memory

import "context"

// Meter gives room to what is made for one caller.
type Meter interface {
	// Take waits until there is room for n bytes more. An error says that there is none, and ends what they are for.
	Take(ctx context.Context, n int) error
}

type meterKey struct{}

// Metered returns a context in which [Take] asks the meter.
func Metered(ctx context.Context, by Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, by)
}

// Take waits until there is room for n bytes that are made for whom the context is for. It returns at once, and nil, when nobody meters that.
func Take(ctx context.Context, n int) error {
	if by, metered := ctx.Value(meterKey{}).(Meter); metered {
		return by.Take(ctx, n)
	}
	return nil
}
