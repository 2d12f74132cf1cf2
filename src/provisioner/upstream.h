/* What the provisioners have in common: what is known of the upstream, and what its errors mean. */
#ifndef ARCP_PROVISIONER_UPSTREAM_H
#define ARCP_PROVISIONER_UPSTREAM_H

#include <arcp/sys/provisioner.h>

/* Rules of the operator: the first that fits wins. */
typedef struct arcp__upstream_rule {
    int http_status;      /* 0: any, also unknown */
    const char *contains; /* in what is known of the error, upper or lower case; NULL: any */
    arcp_status code;     /* a wire code */
} arcp__upstream_rule;

/* What is pointed to is borrowed for the provisioner's life. */
typedef struct arcp__upstream {
    arcp_provisioner_terms terms;
    const char *endpoint, *scheme, *profile; /* of what is issued; may be NULL */
    const arcp__upstream_rule *error_rules;
    size_t error_rule_count;
} arcp__upstream;

/* Both provisioners begin with this. */
typedef struct arcp__upstream_provisioner {
    arcp_provisioner base;
    arcp__upstream upstream;
    arcp_provisioner_callbacks callbacks;
} arcp__upstream_provisioner;

/* For their tables of functions. */
void arcp__upstream_set_callbacks(arcp_provisioner *provisioner,
                                  const arcp_provisioner_callbacks *callbacks);
arcp_status arcp__upstream_translate(const arcp_provisioner *provisioner,
                                     const arcp_upstream_error *error);

#endif
