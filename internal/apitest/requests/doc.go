// Package requests tests what holds for every request: bad input, faults of stores, and mutations that are sent twice.
package requests
