// Package processes tests the commands, and servers as processes of their own.
package processes
