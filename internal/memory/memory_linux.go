package memory

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

func available() int64 { return smallest(os.DirFS("/")) }

// smallest is the smallest of what the machine has and what the control groups of this process allow, of version 1 and 2; 0 when
// nothing tells.
func smallest(root fs.FS) (least int64) {
	add := func(bytes int64) {
		if bytes > 0 && (least == 0 || bytes < least) {
			least = bytes
		}
	}
	add(machine(root))
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // without it there is none
	for line := range strings.Lines(string(groups)) {
		// 0::/path, or a number, the names of controllers and a path.
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, at, found := strings.Cut(rest, ":")
		if !found {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		if controllers != "" {
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		if controllers != "" && !strings.Contains(","+controllers+",", ",memory,") {
			continue
		}
		// A container sees its own group at the root, whatever the path says; a group is bounded by those above it too.
		for at = path.Clean("/" + at); ; at = path.Dir(at) {
			add(number(root, path.Join(mount, at, file)))
			if at == "/" {
				break
			}
		}
	}
	return least
}

// number reads a file that has a number of bytes; 0 when it does not exist, or says "max".
func number(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return bytes
}

func machine(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64) // 0 when it is none
			return kilobytes << 10
		}
	}
	return 0
}
