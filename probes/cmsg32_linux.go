//go:build linux && (386 || arm || mips || mipsle)

package probes

import "encoding/binary"

// struct timespec (of SO_TIMESTAMPING_OLD) and struct cmsghdr where a word has 32 bits.
const sizeofTimespec = 8

func timespecNano(d []byte) int64 {
	return int64(int32(binary.NativeEndian.Uint32(d)))*1e9 + int64(binary.NativeEndian.Uint32(d[4:]))
}

func cmsgFields(b []byte) (n int, level, kind int32) {
	return int(binary.NativeEndian.Uint32(b)), int32(binary.NativeEndian.Uint32(b[4:])), int32(binary.NativeEndian.Uint32(b[8:]))
}

func putCmsgFields(b []byte, n int, level, kind int32) {
	binary.NativeEndian.PutUint32(b, uint32(n))
	binary.NativeEndian.PutUint32(b[4:], uint32(level))
	binary.NativeEndian.PutUint32(b[8:], uint32(kind))
}

func cmsgAlign(n int) int { return (n + 3) &^ 3 }
