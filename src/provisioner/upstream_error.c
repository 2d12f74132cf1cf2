#include "provisioner/upstream_error.h"

#include <ctype.h>
#include <string.h>

static bool equal_folded(const char *text, const char *part, size_t size)
{
    for (size_t at = 0; at < size; at++) {
        if (tolower((unsigned char)text[at]) != tolower((unsigned char)part[at])) {
            return false;
        }
    }
    return true;
}

static bool contains(arcp_span text, const char *part)
{
    size_t size = strlen(part);
    for (size_t at = 0; at + size <= text.size; at++) {
        if (equal_folded(text.data + at, part, size)) {
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
