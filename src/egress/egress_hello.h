/* The first bytes of a connection: a TLS ClientHello with one server name, or something else. No
 * I/O. */
#ifndef ARCP_EGRESS_EGRESS_HELLO_H
#define ARCP_EGRESS_EGRESS_HELLO_H

#include "egress/egress_names.h"

#define ARCP__EGRESS_HELLO_MAX 16384 /* bytes, with the heads of its records */

typedef enum arcp__egress_hello_result {
    ARCP__EGRESS_HELLO_MORE,    /* the beginning of one */
    ARCP__EGRESS_HELLO_NAMED,   /* one, with one server name, in canonical form in `name` */
    ARCP__EGRESS_HELLO_UNNAMED, /* one without a server name */
    ARCP__EGRESS_HELLO_NOT_TLS, /* the first byte cannot begin one */
    ARCP__EGRESS_HELLO_INVALID  /* malformed, too big, two names, or a name that is none */
} arcp__egress_hello_result;

typedef struct arcp__egress_hello {
    char name[ARCP__EGRESS_NAME_MAX + 1];
} arcp__egress_hello;

/* Reads all bytes that were received so far, again from the first one. */
arcp__egress_hello_result arcp__egress_hello_read(arcp_span bytes, arcp__egress_hello *out);

#endif
