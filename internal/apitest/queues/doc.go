// Package queues tests the labelling of projects through the API.
package queues
