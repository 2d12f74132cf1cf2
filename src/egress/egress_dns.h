/* Answers of DNS (RFC 1035): reads one query, writes its response. No I/O. */
#ifndef ARCP_EGRESS_EGRESS_DNS_H
#define ARCP_EGRESS_EGRESS_DNS_H

#include "egress/egress_names.h"

#define ARCP__EGRESS_DNS_MESSAGE_MAX 512

typedef struct arcp__egress_dns_answer {
    char bytes[ARCP__EGRESS_DNS_MESSAGE_MAX];
    size_t size;                          /* 0: the query gets no response */
    bool is_denied;                       /* the name exists for nobody in this sandbox */
    char name[ARCP__EGRESS_NAME_MAX + 1]; /* that was asked for, when it could be read */
} arcp__egress_dns_answer;

/* A for a name that the lease may reach: its address, for 60 s. Other types: no record. Any other
 * name: NXDOMAIN. What is no query of one question: FORMERR, or nothing when it has no id. */
void arcp__egress_dns_respond(arcp__egress_names *names, arcp_span query,
                              arcp__egress_dns_answer *out);

#endif
