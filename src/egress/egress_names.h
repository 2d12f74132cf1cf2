/* The names of a job: which of them DNS may answer, and the address that each has inside. No I/O.
 * One thread.
 *
 * Inside, a name has an address of 198.18.0.0/15 that leads nowhere but to our listeners. A name
 * keeps its address, and an address its name, as long as the job lives; 198.18.0.0 to 198.18.0.15
 * belong to no name of a lease (198.18.0.2 and 198.18.0.3 are gateways'). */
#ifndef ARCP_EGRESS_EGRESS_NAMES_H
#define ARCP_EGRESS_EGRESS_NAMES_H

#include <arcp/lease.h>

#define ARCP__EGRESS_NAME_MAX 253 /* bytes of a host name, without the dot at its end */

typedef struct arcp__egress_names arcp__egress_names;

/* Takes a reference to the lease. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__egress_names_new(const arcp_lease *lease,
                                                   arcp__egress_names **out, arcp_error *err);
void arcp__egress_names_free(arcp__egress_names *names); /* NULL is accepted */

/* Writes the canonical form of a host name: lower case, no dot at the end. False: it is no host
 * name. That is one with an empty or too long label, with bytes beside letters, digits, `-` and
 * `_`, and one whose last label is a number (decimal, or 0x and hexadecimal digits), because some
 * resolvers read it as an address. */
ARCP_MUST_CHECK bool arcp__egress_name_canonical(arcp_span name,
                                                 char out[ARCP__EGRESS_NAME_MAX + 1]);

/* Whether the name is `arcp` or below it, which no lease grants: such names belong to gateways. */
ARCP_MUST_CHECK bool arcp__egress_name_is_reserved(arcp_span name);

/* Says which gateways there are, as arcp__egress_job_options.gateways. */
void arcp__egress_names_set_gateways(arcp__egress_names *names, unsigned gateways);

/* The number of the gateway with this canonical name; ARCP__EGRESS_GATEWAYS: none has it, or the
 * job has no such gateway. */
ARCP_MUST_CHECK unsigned arcp__egress_names_gateway(const arcp__egress_names *names,
                                                    arcp_span name);

/* Whether it is the name of a gateway of the job, or some pattern of net.fetch matches a URL with
 * this canonical name as its host, of any scheme and port. */
ARCP_MUST_CHECK bool arcp__egress_names_may_reach(arcp__egress_names *names, arcp_span name);

/* The address of a canonical name, in host byte order; 0: the lease does not reach it, or
 * ARCP__EGRESS_NAMES_MAX names have one already, or memory ran out. */
ARCP_MUST_CHECK uint32_t arcp__egress_names_address(arcp__egress_names *names, arcp_span name);

/* The name that has the address, which is in host byte order; empty: none has. A NUL follows. Valid
 * as long as the names. */
arcp_span arcp__egress_names_find(const arcp__egress_names *names, uint32_t address);

#endif
