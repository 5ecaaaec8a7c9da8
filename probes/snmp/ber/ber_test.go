package ber

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzBER takes any text apart: the pieces lie within it and end, and an object identifier that is read is written so that it reads the same.
func FuzzBER(f *testing.F) {
	f.Add(AppendHead(nil, Sequence, 3))
	f.Add([]byte{0x30, 0x82, 0, 7, 6, 5, 0x2b, 6, 0x8f, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{6, 6, 0x90, 0x80, 0x80, 0x80, 0x4f, 0x7f, 2, 0x84, 0, 0, 0, 1, 0x80})
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Cursor{Rest: text}
		for left := len(text) + 1; len(c.Rest) > 0 && !c.Bad; {
			if len(c.Rest) >= left {
				t.Fatalf("%d octets are left of %d", len(c.Rest), left)
			}
			left = len(c.Rest)
			before := c
			_, content := c.Next()
			if number := before.Number(); !before.Bad && len(content) == 1 && number != int64(int8(content[0])) {
				t.Errorf("%x is %d", content, number)
			}
			parts, ok := Name([]uint32{7}, content)
			if !ok {
				if len(parts) != 1 {
					t.Errorf("%x is none, and left %v", content, parts)
				}
				continue
			}
			if again, ok := Name(nil, AppendName(nil, parts[1:])); !ok || !slices.Equal(again, parts[1:]) || parts[0] != 7 || len(parts) > 1+MostParts+1 {
				t.Errorf("%x is %v, which is written as %v", content, parts[1:], again)
			}
		}
		head := AppendHead(nil, OctetString, len(text)&0xffff)
		c = Cursor{Rest: append(bytes.Clone(head), text[:len(text)&0xffff]...)}
		if got := c.In(OctetString); c.Bad || c.Cut || !bytes.Equal(got, text[:len(text)&0xffff]) {
			t.Errorf("%d octets came back as %d", len(text), len(got))
		}
	})
}
