// Package entities tests entities, their relations and scopes through the API.
package entities
