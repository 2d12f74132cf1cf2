/* Answers of DNS (RFC 1035): reads one query, writes its response. No I/O. One thread. */
#ifndef ARCP_EGRESS_EGRESS_DNS_H
#define ARCP_EGRESS_EGRESS_DNS_H

#include "egress/egress_names.h"

#define ARCP__EGRESS_DNS_MESSAGE_MAX 512
#define ARCP__EGRESS_DNS_TTL_SEC     60

typedef struct arcp__egress_dns_answer {
    char bytes[ARCP__EGRESS_DNS_MESSAGE_MAX];
    size_t size;    /* 0: the query gets no response */
    bool is_denied; /* the lease reaches no host of this name */
    /* That was asked for, NUL-terminated; empty when it could not be read. Bytes that are not
     * printable ASCII, dots within a label and backslashes are written as '?'. */
    char name[ARCP__EGRESS_NAME_MAX + 1];
} arcp__egress_dns_answer;

/* Writes the response to a query:
 *
 *   a name that the lease may reach   types A and ANY: its address, for 60 s; others: no record;
 *                                     SERVFAIL when no address can be given
 *   any other name                    NXDOMAIN; is_denied, unless the query is for the name of an
 *                                     address (PTR below arpa)
 *   classes other than IN and ANY     REFUSED
 *   operations other than queries     NOTIMP
 *   malformed queries, and queries with more than one question and an OPT record (RFC 6891)
 *                                     FORMERR
 *   responses, and less than a header no response
 *
 * The question is echoed byte by byte. */
void arcp__egress_dns_respond(arcp__egress_names *names, arcp_span query,
                              arcp__egress_dns_answer *out);

#endif
