/* What an upstream's errors mean here: rules of the operator, the first that fits wins. */
#ifndef ARCP_PROVISIONER_UPSTREAM_ERROR_H
#define ARCP_PROVISIONER_UPSTREAM_ERROR_H

#include <arcp/sys/provisioner.h>

typedef struct arcp__upstream_rule {
    int http_status;      /* 0: any, also unknown */
    const char *contains; /* in what is known of the error, upper or lower case; NULL: any */
    arcp_status code;     /* a wire code */
} arcp__upstream_rule;

/* ARCP_OK when no rule fits. */
arcp_status arcp__upstream_rules_apply(const arcp__upstream_rule *rules, size_t count,
                                       const arcp_upstream_error *error);

#endif
