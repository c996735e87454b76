// Package checks tests that taggie check misses what rows and objects need.
package checks
