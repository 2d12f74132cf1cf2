#include "core/audit_event.h"

#include <assert.h>

static const char *const names[ARCP__AUDIT_EVENT_COUNT] = {
#define ARCP_AUDIT_EVENT(id, name, text) name,
#include "core/audit_event.def"
#undef ARCP_AUDIT_EVENT
};

const char *arcp__audit_event_name(arcp__audit_event event)
{
    assert(event < ARCP__AUDIT_EVENT_COUNT);
    return names[event];
}

arcp__audit_event arcp__audit_event_from_name(arcp_span name)
{
    for (size_t i = 0; i < ARCP__AUDIT_EVENT_COUNT; i++) {
        if (arcp_span_equal_cstr(name, names[i])) {
            return (arcp__audit_event)i;
        }
    }
    return ARCP__AUDIT_EVENT_COUNT;
}
