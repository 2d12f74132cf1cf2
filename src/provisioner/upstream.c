#include "provisioner/upstream.h"

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

void arcp__upstream_set_callbacks(arcp_provisioner *provisioner,
                                  const arcp_provisioner_callbacks *callbacks)
{
    ((arcp__upstream_provisioner *)provisioner)->callbacks = *callbacks;
}

arcp_status arcp__upstream_translate(const arcp_provisioner *provisioner,
                                     const arcp_upstream_error *error)
{
    const arcp__upstream *upstream = &((const arcp__upstream_provisioner *)provisioner)->upstream;
    for (size_t i = 0; i < upstream->error_rule_count; i++) {
        const arcp__upstream_rule *rule = &upstream->error_rules[i];
        if ((rule->http_status == 0 || rule->http_status == error->http_status) &&
            (rule->contains == NULL || contains(error->text, rule->contains))) {
            return rule->code;
        }
    }
    return ARCP_OK;
}
