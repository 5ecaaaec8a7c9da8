// Package snmp asks switches what they count and whom they hear.
//
// A [Session] talks to one agent with one request in flight. [Session.Sweep] reads the same rows of several columns together, with GETBULK (RFC 3416,
// 4.2.3) and as many repetitions as the agent bears. Nothing is ever set. Messages of SNMPv2c are encoded and read here, which takes a fraction of what the
// library does; those of SNMPv3, and traps, are the library's.
//
// [Crawl] goes from agent to agent along the neighbours that they hear by LLDP and CDP, and [Resolve] finds out, of what these tell, which ports the
// two ends of each cable are.
//
// [Watch] asks agents in rounds; [Traps] hears what they tell unasked, on a socket of its own: SNMPv2c with the right community, SNMPv3 that is authentic and no replay.
//
// Errors of agents are errors: a table that ends because the agent gave up is told from one that is complete, and what was read before is kept.
package snmp
