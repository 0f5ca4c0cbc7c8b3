package mkfs

import (
	"strings"
	"testing"
)

// TestOptions holds which options a class may hand to mkfs.
func TestOptions(t *testing.T) {
	for _, c := range []struct{ fs, options, want string }{
		{"ext4", ``, ""},
		{"ext4", `[]`, ""},
		{"ext4", `["-m", "0"]`, ""},
		{"ext4", `["-m 0", "-T", "largefile4"]`, ""},
		{"ext4", `["-O", "^has_journal"]`, ""},
		{"ext4", `["-E", "lazy_itable_init=0,discard"]`, ""},
		{"ext4", `["-b4096", "-q"]`, ""},
		{"xfs", `["-m", "reflink=1,crc=1"]`, ""},
		{"xfs", `["-n", "ftype=1"]`, ""},
		{"xfs", `["-K", "-i", "size=512"]`, ""},
		{"ext4", `["-b", "-4096"]`, ""},
		{"ext4", `["-b"]`, "-b without a value"},
		{"ext4", `["-m", "-q"]`, "-m without a value"},
		{"xfs", `["-n"]`, "-n without a value"},
		{"xfs", `["-n", "-q"]`, "-n without a value"},
		{"ext4", `["-m 0", ""]`, "an empty text"},
		{"ext4", `["--help"]`, "--help, and mkfs has options of one letter"},
		{"ext4", `["--"]`, "--, and mkfs"},
		{"ext4", `["-V"]`, "-V, which makes no filesystem"},
		{"xfs", `["-V"]`, "-V, which makes no filesystem"},
		{"ext4", `["-O", "journal_dev"]`, "-O journal_dev, which makes no filesystem"},
		{"ext4", `null`, "no JSON list"},
		{"ext4", `-m 0`, "no JSON list"},
		{"ext4", `{"-m": 0}`, "no JSON list"},
		{"ext4", `[0]`, "no JSON list"},
		{"ext4", `["-U", "random"]`, "-U"},
		{"ext4", `["-Urandom"]`, "-U"},
		{"ext4", `["-qF"]`, "-F"},
		{"ext4", `["-L data"]`, "-L"},
		{"ext4", `["-f", "1024"]`, "-f"},
		{"ext4", `["-n"]`, "-n"},
		{"ext4", `["-E", "discard,offset=1048576"]`, "-E offset="},
		{"ext4", `["-R", "offset=1048576"]`, "-R offset=, which makes the filesystem of another size than the device"},
		{"ext4", `["-Roffset=1048576"]`, "-R offset="},
		{"ext4", `["-qjR", "stride=16,offset=1048576"]`, "-R offset="},
		{"ext4", `["-qEoffset=1048576"]`, "-E offset="},
		{"ext4", `["-R", "stride=16"]`, ""},
		{"ext4", `["-s", "0"]`, ""},
		{"ext4", `["-jvqF"]`, "-F"},
		{"xfs", `["-Kmuuid=x"]`, "-m uuid="},
		{"xfs", `["-Kf"]`, "-f"},
		{"ext4", `["-J", "device=UUID=1"]`, "-J device="},
		{"ext4", `["-m", "0", "10G"]`, "10G"},
		{"ext4", `["/dev/sda"]`, "/dev/sda"},
		{"ext4", `["-E", "root=/tmp"]`, "/tmp"},
		{"xfs", `["-m", "uuid=1b4e28ba-2fa1-11d2-883f-0016d3cca427"]`, "-m uuid="},
		{"xfs", `["-m uuid=x"]`, "-m uuid="},
		{"xfs", `["-L", "data"]`, "-L"},
		{"xfs", `["-f"]`, "-f"},
		{"xfs", `["-N"]`, "-N"},
		{"xfs", `["-d", "size=1g"]`, "-d size="},
		{"xfs", `["-l", "logdev=sdb"]`, "-l logdev="},
		{"xfs", `["sdb"]`, "sdb"},
		{"xfs", `["-"]`, "no option"},
	} {
		_, err := Options(c.fs, c.options)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.fs, c.options, err, c.want)
		}
	}
}
