/* The event names of the audit log (audit_event.def). */
#ifndef ARCP_CORE_AUDIT_EVENT_H
#define ARCP_CORE_AUDIT_EVENT_H

#include <arcp/span.h>

typedef enum arcp__audit_event {
#define ARCP_AUDIT_EVENT(id, name, text) ARCP__AUDIT_##id,
#include "core/audit_event.def"
#undef ARCP_AUDIT_EVENT
    ARCP__AUDIT_EVENT_COUNT
} arcp__audit_event;

const char *arcp__audit_event_name(arcp__audit_event event);

/* ARCP__AUDIT_EVENT_COUNT for an unknown name. */
arcp__audit_event arcp__audit_event_from_name(arcp_span name);

#endif
