//go:build linux && (amd64 || arm64 || riscv64 || ppc64 || ppc64le || s390x || loong64 || mips64 || mips64le)

package probes

import "encoding/binary"

// struct timespec and struct cmsghdr where a word has 64 bits.
const sizeofTimespec = 16

func timespecNano(d []byte) int64 {
	return int64(binary.NativeEndian.Uint64(d))*1e9 + int64(binary.NativeEndian.Uint64(d[8:]))
}

func cmsgFields(b []byte) (n int, level, kind int32) {
	return int(binary.NativeEndian.Uint64(b)), int32(binary.NativeEndian.Uint32(b[8:])), int32(binary.NativeEndian.Uint32(b[12:]))
}

func putCmsgFields(b []byte, n int, level, kind int32) {
	binary.NativeEndian.PutUint64(b, uint64(n))
	binary.NativeEndian.PutUint32(b[8:], uint32(level))
	binary.NativeEndian.PutUint32(b[12:], uint32(kind))
}

func cmsgAlign(n int) int { return (n + 7) &^ 7 }
