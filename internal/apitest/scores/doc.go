// Package scores tests scores, their files and tags through the API.
package scores
