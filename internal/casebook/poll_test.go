package casebook_test

import (
	"context"
	"testing"
	"time"

	"whichlink/internal/evidence"
	"whichlink/internal/lab"
	"whichlink/probes/snmp"
)

// pollEvery is how often a play asks each agent. Its figures are up to three seconds old.
const pollEvery = time.Second

// poll watches all switches of a lab as snmp watch does until ctx ends, and hands over what they say as records.
func poll(ctx context.Context, t *testing.T, l *lab.Lab, take func(*evidence.Record)) {
	cfg := snmp.WatchConfig{
		Credentials: snmp.Credentials{Community: lab.Community}, Status: pollEvery, Counters: pollEvery, Limits: snmp.Limits{Open: l.DoManagement}, Record: take,
	}
	for _, n := range l.Fabric().Switches() {
		cfg.Agents = append(cfg.Agents, snmp.WatchedAgent{Name: l.Fabric().NodeName(n), Target: l.Fabric().Node(n).Management.String()})
	}
	go func() {
		if err := snmp.NewWatch(cfg).Run(ctx); err != nil {
			t.Error(err)
		}
	}()
}
