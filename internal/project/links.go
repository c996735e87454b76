package project

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
)

// How long clients may use an address, how long an import can be given its file and be started after it was created, and how long the file of an export is kept: the rules of the bucket remove it then.
const (
	LinkTTL    = time.Hour
	UploadTime = 2 * LinkTTL
	ExportKept = 30 * 24 * time.Hour
)

// Presigner makes addresses by which clients reach files without passing through the server.
type Presigner interface {
	// PresignPut returns an address to which exactly so many bytes of the type can be put, and the headers that have to come
	// with them.
	PresignPut(ctx context.Context, key string, size int64, contentType string, ttl time.Duration) (url string, headers map[string]string, err error)
	// PresignGet returns an address from which the file can be downloaded, to be saved under the name.
	PresignGet(ctx context.Context, key, filename, contentType string, ttl time.Duration) (string, error)
}

// UploadLink is where the file of an import has to be put, with which headers.
type UploadLink struct {
	URL       string
	Headers   map[string]string
	ExpiresAt time.Time
}

// UploadLink returns where the file of an import that the viewer was shown has to be put; false when it awaits none. No address
// outlives the [UploadTime] of the import.
func (s *Service) UploadLink(ctx context.Context, files Presigner, i Import) (UploadLink, bool, error) {
	if i.State != Awaiting {
		return UploadLink{}, false, nil
	}
	// From before the address is made, so that it never ends earlier than it says.
	now := s.o.Now()
	ttl := min(LinkTTL, i.CreatedAt.Add(UploadTime).Sub(now)).Truncate(time.Second)
	if ttl < time.Second {
		return UploadLink{}, false, nil
	}
	expires := now.Add(ttl).UTC().Truncate(time.Second)
	url, headers, err := files.PresignPut(ctx, ImportKey(i.TransferID), i.Bytes, i.Format.ContentType(), ttl)
	if err != nil {
		return UploadLink{}, false, fault.Wrap(fault.Unavailable, fmt.Errorf("link to the file of an import: %w", err), "files cannot be uploaded now")
	}
	return UploadLink{URL: url, Headers: headers, ExpiresAt: expires}, true, nil
}

// DownloadLink returns where the file of an export that the viewer was shown can be read; false when there is none yet, or none
// any more.
func (s *Service) DownloadLink(ctx context.Context, files Presigner, e Export, projectName string) (string, bool, error) {
	if e.State != Done || !s.o.Now().Before(e.EndedAt.Add(ExportKept)) {
		return "", false, nil
	}
	url, err := files.PresignGet(ctx, ExportKey(e.TransferID), e.FileName(projectName), e.Format.ContentType(), LinkTTL)
	if err != nil {
		return "", false, fault.Wrap(fault.Unavailable, fmt.Errorf("link to the file of an export: %w", err), "files cannot be downloaded now")
	}
	return url, true, nil
}

// maxFileNameBytes leaves room for the rest of the name within the 255 bytes that file systems allow.
const maxFileNameBytes = 200

// FileName returns the name under which the file of the export is saved: letters and digits of the project's name, with
// dashes for everything that could mean something to a system.
func (e Export) FileName(projectName string) string {
	words := strings.FieldsFunc(projectName, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_'
	})
	name := strings.Join(append(words, "results"), "-")
	if stem := strings.TrimSuffix(name, "-results"); len(stem) > maxFileNameBytes {
		end := maxFileNameBytes
		for !utf8.RuneStart(stem[end]) {
			end--
		}
		name = strings.TrimRight(stem[:end], "-") + "-results"
	}
	if e.Format == CSV {
		return name + ".csv"
	}
	return name + ".jsonl"
}
