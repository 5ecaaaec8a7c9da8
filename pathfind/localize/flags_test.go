package localize

import "flag"

var worlds = flag.Int("worlds", 150, "random worlds in the calibration test")
var dbgseed = flag.Int("dbg", 458, "")
var verbose = flag.Bool("innocents", false, "")
