#!/bin/sh
# Prolog for Slurm: a job does not begin on a node whose fabric is critical.
#
#   slurm.conf:  Prolog=/etc/slurm/whichlink-prolog.sh
#                PrologFlags=Alloc
#
# A prolog that fails drains its node and puts the job back into the queue; so it fails only on exit code 2 (as good as certain), never because it could
# not measure (3). Five seconds of probes are what a job waits.
set -u
FABRIC=${WHICHLINK_FABRIC:-/etc/whichlink/fabric.clab.yml}
CHECK=${WHICHLINK_CHECK:---fabric $FABRIC --for 5s}
# shellcheck disable=SC2086 # several arguments are meant
line=$(whichlink check -q $CHECK 2>/dev/null)
state=$?
if [ "$state" -eq 2 ]; then
	echo "print $line" # in a TaskProlog the job's owner sees it; in a Prolog slurmd logs it
	exit 1
fi
exit 0
