/* The draft's vocabulary as enums: message types, event kinds, features, job statuses. Only the
 * tables (*.def) have the words. Numbers are the same in every release; a ..._COUNT is one more
 * than the largest that this header knows. Any thread. */
#ifndef ARCP_WIRE_H
#define ARCP_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum arcp_message_type {
    ARCP_MESSAGE_UNKNOWN = 0, /* neither in the table nor a vendor's */
    ARCP_MESSAGE_VENDOR = 1,  /* x-vendor.*: ignored when unknown */
#define ARCP_MESSAGE(name, number, wire, from) ARCP_MESSAGE_##name = (number),
#include <arcp/message_type.def>
#undef ARCP_MESSAGE
    ARCP_MESSAGE_COUNT
} arcp_message_type;

/* ARCP_MESSAGE_VENDOR or ARCP_MESSAGE_UNKNOWN for a type that is not in the table. */
ARCP_API arcp_message_type arcp_message_type_from_wire(arcp_span text);
ARCP_API const char *arcp_message_type_name(arcp_message_type type); /* static */
/* Whether a client may send the type. */
ARCP_API bool arcp_message_type_is_from_client(arcp_message_type type);

typedef enum arcp_feature {
#define ARCP_FEATURE(name, number, wire) ARCP_FEATURE_##name = (number),
#include <arcp/feature.def>
#undef ARCP_FEATURE
    ARCP_FEATURE_COUNT,
    ARCP_FEATURE_NONE = 255 /* has no bit */
} arcp_feature;

/* One bit per feature. */
typedef uint32_t arcp_feature_set;
#define ARCP_FEATURE_BIT(feature) ((arcp_feature_set)1 << (feature))
#define ARCP_FEATURES_ALL         (((arcp_feature_set)1 << ARCP_FEATURE_COUNT) - 1)

/* ARCP_FEATURE_NONE for a name that is not in the table. */
ARCP_API arcp_feature arcp_feature_from_wire(arcp_span text);
ARCP_API const char *arcp_feature_name(arcp_feature feature); /* static */

typedef enum arcp_event_kind {
    ARCP_EVENT_UNKNOWN = 0, /* neither in the table nor a vendor's */
    ARCP_EVENT_VENDOR = 1,  /* x-vendor.*: relayed */
#define ARCP_EVENT_KIND(name, number, wire, feature) ARCP_EVENT_##name = (number),
#include <arcp/event_kind.def>
#undef ARCP_EVENT_KIND
    ARCP_EVENT_COUNT
} arcp_event_kind;

/* A vendor's kind is a name of letters, digits and . _ - of at most this size. */
#define ARCP_EVENT_KIND_BYTES_MAX 128

/* ARCP_EVENT_VENDOR or ARCP_EVENT_UNKNOWN for a kind that is not in the table. */
ARCP_API arcp_event_kind arcp_event_kind_from_wire(arcp_span text);
ARCP_API const char *arcp_event_kind_name(arcp_event_kind kind); /* static */
/* The feature that a session needs to get events of this kind, or ARCP_FEATURE_NONE. */
ARCP_API arcp_feature arcp_event_kind_feature(arcp_event_kind kind);

/* Job statuses, as in listings (§6.6, §7.3). */
typedef enum arcp_job_status {
    ARCP_JOB_PENDING = 0,
    ARCP_JOB_RUNNING = 1,
    ARCP_JOB_SUCCESS = 2,
    ARCP_JOB_ERROR = 3,
    ARCP_JOB_CANCELLED = 4,
    ARCP_JOB_TIMED_OUT = 5,
    ARCP_JOB_STATUS_COUNT
} arcp_job_status;

ARCP_API const char *arcp_job_status_name(arcp_job_status status); /* static */
/* ARCP_JOB_STATUS_COUNT for a word that is not a status. */
ARCP_API arcp_job_status arcp_job_status_from_wire(arcp_span text);

static inline bool arcp_job_status_is_terminal(arcp_job_status status)
{
    return status >= ARCP_JOB_SUCCESS && status < ARCP_JOB_STATUS_COUNT;
}

#ifdef __cplusplus
}
#endif
#endif
