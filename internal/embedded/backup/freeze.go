package backup

import (
	"errors"
	"time"
)

// Longest is for how long S3 stands still at most.
const Longest = 2 * time.Second

var errLate = errors.New("there is too much to hold it within two seconds: take the backup when less is going on, or stop the server for it")
