#include <arcp/wire.h>

typedef enum sender { NONE = 0, CLIENT = 1, RUNTIME = 2, BOTH = 3 } sender;

typedef struct message_row {
    arcp_span wire;
    sender from;
} message_row;

static const message_row message_rows[ARCP_MESSAGE_COUNT] = {
    [ARCP_MESSAGE_UNKNOWN] = {{"unknown", 0}, NONE},
    [ARCP_MESSAGE_VENDOR] = {{"unknown", 0}, NONE},
#define ARCP_MESSAGE(name, number, wire, from)                                                     \
    [ARCP_MESSAGE_##name] = {{wire, sizeof(wire) - 1}, from},
#include <arcp/message_type.def>
#undef ARCP_MESSAGE
};

static bool is_vendor(arcp_span text)
{
    static const arcp_span prefix = {"x-vendor.", sizeof "x-vendor." - 1};
    return arcp_span_starts_with(text, prefix) && text.size > prefix.size;
}

/* An event's kind is written into its record unescaped, so only name characters are valid. */
static bool is_vendor_kind(arcp_span text)
{
    for (size_t i = 0; i < text.size; i++) {
        const char byte = text.data[i];
        const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        const bool is_digit = byte >= '0' && byte <= '9';
        if (!is_letter && !is_digit && byte != '.' && byte != '_' && byte != '-') {
            return false;
        }
    }
    return is_vendor(text) && text.size <= ARCP_EVENT_KIND_BYTES_MAX;
}

arcp_message_type arcp_message_type_from_wire(arcp_span text)
{
    for (size_t i = 0; i < ARCP_MESSAGE_COUNT; i++) {
        if (text.size != 0 && arcp_span_equal(message_rows[i].wire, text)) {
            return (arcp_message_type)i;
        }
    }
    return is_vendor(text) ? ARCP_MESSAGE_VENDOR : ARCP_MESSAGE_UNKNOWN;
}

const char *arcp_message_type_name(arcp_message_type type)
{
    return (size_t)type < ARCP_MESSAGE_COUNT ? message_rows[type].wire.data : "unknown";
}

bool arcp_message_type_is_from_client(arcp_message_type type)
{
    return (size_t)type < ARCP_MESSAGE_COUNT && (message_rows[type].from & CLIENT) != 0;
}

static const arcp_span feature_rows[ARCP_FEATURE_COUNT] = {
#define ARCP_FEATURE(name, number, wire) [ARCP_FEATURE_##name] = {wire, sizeof(wire) - 1},
#include <arcp/feature.def>
#undef ARCP_FEATURE
};

arcp_feature arcp_feature_from_wire(arcp_span text)
{
    for (size_t i = 0; i < ARCP_FEATURE_COUNT; i++) {
        if (arcp_span_equal(feature_rows[i], text)) {
            return (arcp_feature)i;
        }
    }
    return ARCP_FEATURE_NONE;
}

const char *arcp_feature_name(arcp_feature feature)
{
    return (size_t)feature < ARCP_FEATURE_COUNT ? feature_rows[feature].data : "none";
}

typedef struct event_row {
    arcp_span wire;
    arcp_feature feature;
} event_row;

static const event_row event_rows[ARCP_EVENT_COUNT] = {
    [ARCP_EVENT_UNKNOWN] = {{"unknown", 0}, ARCP_FEATURE_NONE},
    [ARCP_EVENT_VENDOR] = {{"unknown", 0}, ARCP_FEATURE_NONE},
#define ARCP_EVENT_KIND(name, number, wire, feature)                                               \
    [ARCP_EVENT_##name] = {{wire, sizeof(wire) - 1}, ARCP_FEATURE_##feature},
#include <arcp/event_kind.def>
#undef ARCP_EVENT_KIND
};

arcp_event_kind arcp_event_kind_from_wire(arcp_span text)
{
    for (size_t i = 0; i < ARCP_EVENT_COUNT; i++) {
        if (text.size != 0 && arcp_span_equal(event_rows[i].wire, text)) {
            return (arcp_event_kind)i;
        }
    }
    return is_vendor_kind(text) ? ARCP_EVENT_VENDOR : ARCP_EVENT_UNKNOWN;
}

const char *arcp_event_kind_name(arcp_event_kind kind)
{
    return (size_t)kind < ARCP_EVENT_COUNT ? event_rows[kind].wire.data : "unknown";
}

arcp_feature arcp_event_kind_feature(arcp_event_kind kind)
{
    return (size_t)kind < ARCP_EVENT_COUNT ? event_rows[kind].feature : ARCP_FEATURE_NONE;
}

static const char *const job_status_names[ARCP_JOB_STATUS_COUNT] = {
    [ARCP_JOB_PENDING] = "pending",     [ARCP_JOB_RUNNING] = "running",
    [ARCP_JOB_SUCCESS] = "success",     [ARCP_JOB_ERROR] = "error",
    [ARCP_JOB_CANCELLED] = "cancelled", [ARCP_JOB_TIMED_OUT] = "timed_out",
};

const char *arcp_job_status_name(arcp_job_status status)
{
    return (size_t)status < ARCP_JOB_STATUS_COUNT ? job_status_names[status] : "unknown";
}

arcp_job_status arcp_job_status_from_wire(arcp_span text)
{
    int status = 0;
    while (status < ARCP_JOB_STATUS_COUNT &&
           !arcp_span_equal_cstr(text, job_status_names[status])) {
        status++;
    }
    return (arcp_job_status)status;
}
