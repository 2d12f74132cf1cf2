#include "provisioner/upstream_error.h"

#include <string.h>
#include <strings.h>

static bool contains(arcp_span text, const char *part)
{
    const size_t size = strlen(part);
    for (size_t i = 0; i + size <= text.size; i++) {
        if (strncasecmp(text.data + i, part, size) == 0) {
            return true;
        }
    }
    return false;
}

arcp_status arcp__upstream_rules_apply(const arcp__upstream_rule *rules, size_t count,
                                       const arcp_upstream_error *error)
{
    for (size_t at = 0; at < count; at++) {
        const arcp__upstream_rule *rule = &rules[at];
        if ((rule->http_status == 0 || rule->http_status == error->http_status) &&
            (rule->contains == NULL || contains(error->text, rule->contains))) {
            return rule->code;
        }
    }
    return ARCP_OK;
}
