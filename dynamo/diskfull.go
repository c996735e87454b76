package dynamo

import (
	"errors"
	"strings"

	"github.com/aws/smithy-go"
)

const (
	// MessageDiskFull is what a client is told when the disk is full that the embedded DynamoDB is on.
	MessageDiskFull = "the disk of the server is full: nothing can be changed until there is room again"
	// CodeDiskFull is the error code of a write that the embedded DynamoDB was not asked for, because its disk is full.
	CodeDiskFull = "TaggieDiskFull"
)

// DiskFull reports whether a write failed because the disk is full that the embedded DynamoDB is on. SQLite, which that keeps its
// tables in, says "database or disk is full", or "disk I/O error" where a file may not grow. DynamoDB never does.
func DiskFull(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && (api.ErrorCode() == CodeDiskFull || api.ErrorCode() == "InternalServerError" &&
		(strings.Contains(api.ErrorMessage(), "disk is full") || strings.Contains(api.ErrorMessage(), "disk I/O error")))
}
