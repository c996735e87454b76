// Package archives tests the archives of users through the API, and how many calls of DynamoDB one costs.
package archives
