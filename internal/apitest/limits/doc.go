// Package limits tests each limit that the documentation lists, and that it lists all of them.
package limits
