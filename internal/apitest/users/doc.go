// Package users tests through the API how users are deleted, brought back and erased.
package users
