//go:build !unix

package tui

import "time"

func processTime() time.Duration { return 0 }
