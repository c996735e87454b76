// Package permissions tests who sees what, for each field and each role.
package permissions
