package backup

import (
	"errors"
	"time"
)

// Longest is for how long S3 stands still at most.
const Longest = 2 * time.Second

// ErrLate says that there is no backup because that time was not enough.
var ErrLate = errors.New("there is too much to hold it within two seconds: take the backup when less is going on, or stop the server for it")
