#!/bin/sh
# HealthCheckProgram for Slurm: takes a node out of service while the fabric around it is broken.
#
#   slurm.conf:  HealthCheckProgram=/etc/slurm/whichlink-healthcheck.sh
#                HealthCheckInterval=300
#                HealthCheckNodeState=IDLE,CYCLE
#
# Slurm ends a health check that takes longer than 60 s. Only a fault at this very host drains the node: a broken link elsewhere is for the network's
# people, and draining all hosts would not mend it. What was found goes to syslog either way. The exit code is always 0 once the check has run: slurmd
# reads the node's state, not the code.
set -u
FABRIC=${WHICHLINK_FABRIC:-/etc/whichlink/fabric.clab.yml}
ME=${WHICHLINK_FROM:-$(hostname -s)}
NODE=${SLURMD_NODENAME:-$ME}
# Arguments that a test replaces, such as --drill in place of --fabric.
CHECK=${WHICHLINK_CHECK:---fabric $FABRIC --from $ME --for 10s}

# shellcheck disable=SC2086 # several arguments are meant
out=$(whichlink check -q $CHECK -o json 2>/dev/null)
state=$?
summary=$(printf '%s\n' "$out" | sed -n 's/^  "summary": "\(.*\)",$/\1/p' | head -n 1)
logger -t whichlink -p daemon.notice -- "state $state: ${summary:-could not measure}" 2>/dev/null || :
[ "$state" -eq 2 ] || exit 0

# The suspects that are as good as certain, one a line: what stands between "id" and "probability" is one suspect's.
mine=$(printf '%s\n' "$out" | sed -n '/^  "suspects": \[/,/^  \],*$/p' |
	awk -v me="$ME" '/^      "id":/ { id = $2; gsub(/[",]/, "", id) } /^      "probability":/ { p = $2 + 0; if (p >= 0.9 && (id == me || index(id, me ":") == 1 || index(id, ">" me ":") || index(id, "--" me ":"))) print id }')
[ -n "$mine" ] || exit 0
first=$(printf '%s\n' "$mine" | head -n 1)
scontrol update "nodename=$NODE" state=drain "reason=whichlink: $first"
exit 0
