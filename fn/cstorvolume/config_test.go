package cstorvolume

import "testing"

func TestWholeGiB(t *testing.T) {
	for _, c := range []struct {
		size, want string
		bytes      int64
		rounded    bool
	}{
		{"20Gi", "20Gi", 20 << 30, false},
		{"1Ti", "1Ti", 1 << 40, false},
		{"21474836480", "21474836480", 20 << 30, false},
		{"20000Mi", "20Gi", 20 << 30, true},
		{"1", "1Gi", 1 << 30, true},
		{"20G", "19Gi", 19 << 30, true},
		{"1.5Gi", "2Gi", 2 << 30, true},
	} {
		if text, bytes, rounded := wholeGiB(c.size); text != c.want || bytes != c.bytes || rounded != c.rounded {
			t.Errorf("%s is %s, %d bytes, rounded: %v", c.size, text, bytes, rounded)
		}
	}
}
