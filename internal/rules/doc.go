// Package rules tests the tree itself: which room imports what, what comments of stores have to say, and which faults may be tried again.
package rules
