package awsclient

import (
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
)

// checkedBody compares an answer with the checksum that DynamoDB sent along.
//
// The SDK has such a check, but it tells of a mismatch when the body is closed, and what closing says is
// only logged: the damaged answer counts as good. Here it is what reading the body ends with.
type checkedBody struct {
	io.ReadCloser
	want, sum uint32
}

// checked puts the check around the answer's body, when there is a checksum.
func checked(resp *http.Response) {
	want, err := strconv.ParseUint(resp.Header.Get("X-Amz-Crc32"), 10, 32)
	if err != nil || resp.Uncompressed {
		return
	}
	resp.Body = &checkedBody{ReadCloser: resp.Body, want: uint32(want)}
}

// Read reads the answer; at its end it returns a [checksumError] if the answer was damaged.
func (b *checkedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sum = crc32.Update(b.sum, crc32.IEEETable, p[:n])
	if err == io.EOF && b.sum != b.want { //nolint:errorlint // a Reader returns io.EOF itself
		return n, &checksumError{want: b.want, got: b.sum}
	}
	return n, err
}

// checksumError says that an answer was damaged on its way.
type checksumError struct{ want, got uint32 }

func (e *checksumError) Error() string {
	return fmt.Sprintf("the answer's checksum is %d, DynamoDB sent %d", e.got, e.want)
}

// ConnectionError tells the SDK's retries that the connection is to blame.
func (*checksumError) ConnectionError() bool { return true }
