// Package fleets tests several servers together: what they tell each other, what is killed, and campaigns that break servers and Redis.
package fleets
