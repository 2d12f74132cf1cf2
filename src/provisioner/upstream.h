/* The common part of the provisioners: properties of the upstream, and the mapping of its errors.
 */
#ifndef ARCP_PROVISIONER_UPSTREAM_H
#define ARCP_PROVISIONER_UPSTREAM_H

#include <arcp/sys/provisioner.h>

/* Configured rules; the first that matches applies. */
typedef struct arcp__upstream_rule {
    int http_status;      /* 0: any or none */
    const char *contains; /* substring of the error's text, ignoring case; NULL: any text */
    arcp_status code;     /* a wire code */
} arcp__upstream_rule;

/* All pointers are borrowed until the provisioner is freed. */
typedef struct arcp__upstream {
    arcp_provisioner_terms terms;
    const char *endpoint, *scheme, *profile; /* of issued credentials; may be NULL */
    const arcp__upstream_rule *error_rules;
    size_t error_rule_count;
} arcp__upstream;

/* All provisioners begin with this. */
typedef struct arcp__upstream_provisioner {
    arcp_provisioner base;
    arcp__upstream upstream;
    arcp_provisioner_callbacks callbacks;
} arcp__upstream_provisioner;

/* Implement the operations of the same names. */
void arcp__upstream_set_callbacks(arcp_provisioner *provisioner,
                                  const arcp_provisioner_callbacks *callbacks);
arcp_status arcp__upstream_translate(const arcp_provisioner *provisioner,
                                     const arcp_upstream_error *error);

#endif
