// Package agentsim plays SNMP agents for tests: it serves recordings of real devices over UDP, and misbehaves as real devices do.
//
// A [Tree] holds what an agent has to say, read from a recording (`.snmprec`, or what `snmpwalk -On` prints) or built by [Tree.Set]. An
// [Agent] serves it as SNMPv2c: GET, GETNEXT and GETBULK (RFC 3416), each agent on an address of its own, thousands in one process.
// [Faults] say how it goes wrong.
//
// It shares no code with the poller that it tests: it has a BER of its own.
package agentsim
