// Package projects tests projects, imports and exports through the API.
package projects
