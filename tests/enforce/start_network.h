/* What a daemon does beside a sandbox until its program ends: reads its records, and serves its
 * network. */
#ifndef ARCP_TESTS_ENFORCE_START_NETWORK_H
#define ARCP_TESTS_ENFORCE_START_NETWORK_H

#include <arcp/lease.h>
#include <arcp/sys/launcher.h>

/* Copies the records of the sandbox to standard error, and writes one there for each denial of its
 * network. Takes over the descriptor. Returns when the process has ended. Exits on failure. */
void start_network_run(arcp_process *process, int control, const arcp_lease *lease, int leased,
                       arcp_process_exit *end);

#endif
