package memory

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

func TestTheSmallestBoundCounts(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:       16000000 kB\nMemFree:         100 kB\n"
	for _, test := range []struct {
		why   string
		files map[string]string
		want  int64
	}{
		{"nothing tells", nil, 0},
		{"a machine", map[string]string{"proc/meminfo": meminfo}, 16000000 << 10},
		{"version 2, seen from within", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		{"version 2, a group above", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1048576\n",
		}, 1 << 20},
		{"version 1", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "2097152\n",
		}, 2 << 20},
		{"version 1, the path of the host", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/docker/x\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "3145728\n",
		}, 3 << 20},
		{"version 1 without a bound", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 16000000 << 10},
	} {
		root := fstest.MapFS{}
		for name, text := range test.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		assert.Equal(t, test.want, smallest(root), test.why)
	}
	assert.Positive(t, Limit())
}
