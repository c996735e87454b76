// Package notes tests users and notes through the API, and how many calls of DynamoDB they cost.
package notes
