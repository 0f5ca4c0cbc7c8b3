package chain

import "testing"

func TestWholeGiB(t *testing.T) {
	for _, c := range []struct {
		size, want string
		bytes      int64
	}{
		{"20Gi", "20Gi", 20 << 30},
		{"1Ti", "1Ti", 1 << 40},
		{"21474836480", "21474836480", 20 << 30},
		{"20000Mi", "20Gi", 20 << 30},
		{"1", "1Gi", 1 << 30},
		{"20G", "19Gi", 19 << 30},
		{"1.5Gi", "2Gi", 2 << 30},
		{"much", "much", 0},
	} {
		if text, bytes := WholeGiB(c.size); text != c.want || bytes != c.bytes {
			t.Errorf("%s is %s, %d bytes", c.size, text, bytes)
		}
	}
}
