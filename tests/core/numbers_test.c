/* The numbers of public enums (include/arcp). A program that was compiled with an older release's
 * header has them in its code: none may change, and none may be given twice. A new enumerator gets
 * a row here. */
#include "support/check.h"

#include <arcp/client.h>
#include <arcp/runtime.h>

typedef struct row {
    const char *name;
    int number; /* as the headers have it */
    int pinned;
} row;

#define PIN(enumerator, number)                                                                    \
    {                                                                                              \
#enumerator, (int)(enumerator), (number)                                                   \
    }

static const row status[] = {
    PIN(ARCP_OK, 0),
    PIN(ARCP_E_PERMISSION_DENIED, 1),
    PIN(ARCP_E_LEASE_SUBSET_VIOLATION, 2),
    PIN(ARCP_E_JOB_NOT_FOUND, 3),
    PIN(ARCP_E_DUPLICATE_KEY, 4),
    PIN(ARCP_E_AGENT_NOT_AVAILABLE, 5),
    PIN(ARCP_E_AGENT_VERSION_NOT_AVAILABLE, 6),
    PIN(ARCP_E_CANCELLED, 7),
    PIN(ARCP_E_TIMEOUT, 8),
    PIN(ARCP_E_RESUME_WINDOW_EXPIRED, 9),
    PIN(ARCP_E_HEARTBEAT_LOST, 10),
    PIN(ARCP_E_LEASE_EXPIRED, 11),
    PIN(ARCP_E_BUDGET_EXHAUSTED, 12),
    PIN(ARCP_E_INVALID_REQUEST, 13),
    PIN(ARCP_E_UNAUTHENTICATED, 14),
    PIN(ARCP_E_INTERNAL_ERROR, 15),
    PIN(ARCP_E_NO_MEMORY, 16),
    PIN(ARCP_E_IO, 17),
    PIN(ARCP_E_CLOSED, 18),
    PIN(ARCP_E_LIMIT, 19),
    PIN(ARCP_E_EXISTS, 20),
    PIN(ARCP_E_NOT_FOUND, 21),
    PIN(ARCP_E_DEADLINE, 22),
    PIN(ARCP_E_INTERRUPTED, 23),
    PIN(ARCP_E_CORRUPT, 24),
    PIN(ARCP_E_USAGE, 25),
    PIN(ARCP_E_FENCED, 26),
};
static const row message_types[] = {
    PIN(ARCP_MESSAGE_UNKNOWN, 0),          PIN(ARCP_MESSAGE_VENDOR, 1),
    PIN(ARCP_MESSAGE_SESSION_HELLO, 2),    PIN(ARCP_MESSAGE_SESSION_RESUME, 3),
    PIN(ARCP_MESSAGE_SESSION_WELCOME, 4),  PIN(ARCP_MESSAGE_SESSION_ERROR, 5),
    PIN(ARCP_MESSAGE_SESSION_PING, 6),     PIN(ARCP_MESSAGE_SESSION_PONG, 7),
    PIN(ARCP_MESSAGE_SESSION_ACK, 8),      PIN(ARCP_MESSAGE_SESSION_LIST_JOBS, 9),
    PIN(ARCP_MESSAGE_SESSION_JOBS, 10),    PIN(ARCP_MESSAGE_SESSION_CLOSE, 11),
    PIN(ARCP_MESSAGE_SESSION_CLOSED, 12),  PIN(ARCP_MESSAGE_SESSION_BYE, 13),
    PIN(ARCP_MESSAGE_JOB_SUBMIT, 14),      PIN(ARCP_MESSAGE_JOB_ACCEPTED, 15),
    PIN(ARCP_MESSAGE_JOB_CANCEL, 16),      PIN(ARCP_MESSAGE_JOB_CANCELLED, 17),
    PIN(ARCP_MESSAGE_JOB_SUBSCRIBE, 18),   PIN(ARCP_MESSAGE_JOB_SUBSCRIBED, 19),
    PIN(ARCP_MESSAGE_JOB_UNSUBSCRIBE, 20), PIN(ARCP_MESSAGE_JOB_EVENT, 21),
    PIN(ARCP_MESSAGE_JOB_RESULT, 22),      PIN(ARCP_MESSAGE_JOB_ERROR, 23),
};
static const row features[] = {
    PIN(ARCP_FEATURE_HEARTBEAT, 0),
    PIN(ARCP_FEATURE_ACK, 1),
    PIN(ARCP_FEATURE_LIST_JOBS, 2),
    PIN(ARCP_FEATURE_SUBSCRIBE, 3),
    PIN(ARCP_FEATURE_LEASE_EXPIRES_AT, 4),
    PIN(ARCP_FEATURE_COST_BUDGET, 5),
    PIN(ARCP_FEATURE_MODEL_USE, 6),
    PIN(ARCP_FEATURE_PROVISIONED_CREDENTIALS, 7),
    PIN(ARCP_FEATURE_PROGRESS, 8),
    PIN(ARCP_FEATURE_RESULT_CHUNK, 9),
    PIN(ARCP_FEATURE_AGENT_VERSIONS, 10),
    PIN(ARCP_FEATURE_ACCEPTED_AGAIN, 11),
    PIN(ARCP_FEATURE_VIEW, 12),
    PIN(ARCP_FEATURE_OPERATE, 13),
    PIN(ARCP_FEATURE_PAGE_KEY, 14),
};
static const row event_kinds[] = {
    PIN(ARCP_EVENT_UNKNOWN, 0),  PIN(ARCP_EVENT_VENDOR, 1),    PIN(ARCP_EVENT_LOG, 2),
    PIN(ARCP_EVENT_THOUGHT, 3),  PIN(ARCP_EVENT_TOOL_CALL, 4), PIN(ARCP_EVENT_TOOL_RESULT, 5),
    PIN(ARCP_EVENT_STATUS, 6),   PIN(ARCP_EVENT_METRIC, 7),    PIN(ARCP_EVENT_ARTIFACT_REF, 8),
    PIN(ARCP_EVENT_DELEGATE, 9), PIN(ARCP_EVENT_PROGRESS, 10), PIN(ARCP_EVENT_RESULT_CHUNK, 11),
};
static const row deny_reasons[] = {
    PIN(ARCP_DENY_NONE, 0),
    PIN(ARCP_DENY_EXPIRED, 1),
    PIN(ARCP_DENY_BUDGET, 2),
    PIN(ARCP_DENY_EMPTY, 3),
    PIN(ARCP_DENY_NUL, 4),
    PIN(ARCP_DENY_TOO_LONG, 5),
    PIN(ARCP_DENY_UNKNOWN_CAPABILITY, 6),
    PIN(ARCP_DENY_BAD_BYTE, 7),
    PIN(ARCP_DENY_BAD_UTF8, 8),
    PIN(ARCP_DENY_CONTROL_BYTE, 9),
    PIN(ARCP_DENY_NOT_A_URL, 10),
    PIN(ARCP_DENY_SCHEME_NOT_FETCHABLE, 11),
    PIN(ARCP_DENY_USERINFO, 12),
    PIN(ARCP_DENY_BAD_AUTHORITY, 13),
    PIN(ARCP_DENY_BAD_PERCENT, 14),
    PIN(ARCP_DENY_ENCODED_DOT_SEGMENT, 15),
    PIN(ARCP_DENY_AMBIGUOUS_DOT_SEGMENT, 16),
    PIN(ARCP_DENY_DOT_SEGMENT, 17),
    PIN(ARCP_DENY_ESCAPES_BASE, 18),
    PIN(ARCP_DENY_BASE_ITSELF, 19),
    PIN(ARCP_DENY_NO_MATCH, 20),
    PIN(ARCP_DENY_TOO_COMPLEX, 21),
};
static const row job_statuses[] = {
    PIN(ARCP_JOB_PENDING, 0), PIN(ARCP_JOB_RUNNING, 1),   PIN(ARCP_JOB_SUCCESS, 2),
    PIN(ARCP_JOB_ERROR, 3),   PIN(ARCP_JOB_CANCELLED, 4), PIN(ARCP_JOB_TIMED_OUT, 5),
};
static const row store_tables[] = {
    PIN(ARCP_STORE_META, 0),          PIN(ARCP_STORE_SESSIONS, 1),    PIN(ARCP_STORE_JOBS, 2),
    PIN(ARCP_STORE_IDEMPOTENCY, 3),   PIN(ARCP_STORE_CREDENTIALS, 4), PIN(ARCP_STORE_PROCESSES, 5),
    PIN(ARCP_STORE_SUBSCRIPTIONS, 6), PIN(ARCP_STORE_SCHEDULES, 7),   PIN(ARCP_STORE_OUTBOX, 8),
};
static const row store_ops[] = {
    PIN(ARCP_STORE_APPEND, 0), PIN(ARCP_STORE_TRIM, 1),   PIN(ARCP_STORE_DROP, 2),
    PIN(ARCP_STORE_PUT, 3),    PIN(ARCP_STORE_DELETE, 4),
};
static const row json_types[] = {
    PIN(ARCP_JSON_NULL, 0),   PIN(ARCP_JSON_FALSE, 1),  PIN(ARCP_JSON_TRUE, 2),
    PIN(ARCP_JSON_NUMBER, 3), PIN(ARCP_JSON_STRING, 4), PIN(ARCP_JSON_ARRAY, 5),
    PIN(ARCP_JSON_OBJECT, 6),
};
static const row log_levels[] = {
    PIN(ARCP_LOG_DEBUG, 0), PIN(ARCP_LOG_INFO, 1),  PIN(ARCP_LOG_WARN, 2),
    PIN(ARCP_LOG_ERROR, 3), PIN(ARCP_LOG_AUDIT, 4),
};
static const row agent_kinds[] = {
    PIN(ARCP_AGENT_BLOCKING, 0),
    PIN(ARCP_AGENT_NON_BLOCKING, 1),
};
static const row roles[] = {
    PIN(ARCP_ROLE_NONE, 0),
    PIN(ARCP_ROLE_VIEWER, 1),
    PIN(ARCP_ROLE_OPERATOR, 2),
};
static const row jwt_algorithms[] = {
    PIN(ARCP_JWT_HS256, 0),
    PIN(ARCP_JWT_RS256, 1),
    PIN(ARCP_JWT_ES256, 2),
};
static const row provision_outcomes[] = {
    PIN(ARCP_PROVISION_UNKNOWN, 0),
    PIN(ARCP_PROVISION_DONE, 1),
    PIN(ARCP_PROVISION_REFUSED, 2),
    PIN(ARCP_PROVISION_ABSENT, 3),
};
static const row close_codes[] = {
    PIN(ARCP_CLOSE_NORMAL, 1000),         PIN(ARCP_CLOSE_GOING_AWAY, 1001),
    PIN(ARCP_CLOSE_PROTOCOL_ERROR, 1002), PIN(ARCP_CLOSE_UNSUPPORTED, 1003),
    PIN(ARCP_CLOSE_ABNORMAL, 1006),       PIN(ARCP_CLOSE_BAD_DATA, 1007),
    PIN(ARCP_CLOSE_POLICY, 1008),         PIN(ARCP_CLOSE_TOO_BIG, 1009),
    PIN(ARCP_CLOSE_INTERNAL, 1011),       PIN(ARCP_CLOSE_TRY_AGAIN, 1013),
};
static const row client_event_types[] = {
    PIN(ARCP_CLIENT_CONNECTED, 0),    PIN(ARCP_CLIENT_DISCONNECTED, 1),
    PIN(ARCP_CLIENT_RESUMED, 2),      PIN(ARCP_CLIENT_CLOSED, 3),
    PIN(ARCP_CLIENT_JOB_ADDED, 4),    PIN(ARCP_CLIENT_JOB_EVENT, 5),
    PIN(ARCP_CLIENT_JOB_ENDED, 6),    PIN(ARCP_CLIENT_NOTICE, 7),
    PIN(ARCP_CLIENT_JOBS_CHANGED, 8), PIN(ARCP_CLIENT_FIGURES, 9),
    PIN(ARCP_CLIENT_WATCH_ENDED, 10),
};
static const row result_modes[] = {
    PIN(ARCP_RESULT_MEMORY, 0),
    PIN(ARCP_RESULT_FD, 1),
    PIN(ARCP_RESULT_CALLBACK, 2),
};

static const struct {
    const char *name;
    const row *rows;
    size_t count;
    size_t known; /* enumerators that the header has; 0: it does not count them */
} enums[] = {
    {"status", status, sizeof status / sizeof status[0], ARCP_STATUS_COUNT},
    {"message_types", message_types, sizeof message_types / sizeof message_types[0],
     ARCP_MESSAGE_COUNT},
    {"features", features, sizeof features / sizeof features[0], ARCP_FEATURE_COUNT},
    {"event_kinds", event_kinds, sizeof event_kinds / sizeof event_kinds[0], ARCP_EVENT_COUNT},
    {"deny_reasons", deny_reasons, sizeof deny_reasons / sizeof deny_reasons[0],
     ARCP_DENY_REASON_COUNT},
    {"job_statuses", job_statuses, sizeof job_statuses / sizeof job_statuses[0],
     ARCP_JOB_STATUS_COUNT},
    {"store_tables", store_tables, sizeof store_tables / sizeof store_tables[0],
     ARCP_STORE_TABLE_COUNT},
    {"store_ops", store_ops, sizeof store_ops / sizeof store_ops[0], 0},
    {"json_types", json_types, sizeof json_types / sizeof json_types[0], 0},
    {"log_levels", log_levels, sizeof log_levels / sizeof log_levels[0], 0},
    {"agent_kinds", agent_kinds, sizeof agent_kinds / sizeof agent_kinds[0], 0},
    {"roles", roles, sizeof roles / sizeof roles[0], 0},
    {"jwt_algorithms", jwt_algorithms, sizeof jwt_algorithms / sizeof jwt_algorithms[0], 0},
    {"provision_outcomes", provision_outcomes,
     sizeof provision_outcomes / sizeof provision_outcomes[0], 0},
    {"close_codes", close_codes, sizeof close_codes / sizeof close_codes[0], 0},
    {"client_event_types", client_event_types,
     sizeof client_event_types / sizeof client_event_types[0], 0},
    {"result_modes", result_modes, sizeof result_modes / sizeof result_modes[0], 0},
};

static void numbers_stay_as_they_were_released(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof enums / sizeof enums[0]; i++) {
        for (size_t k = 0; k < enums[i].count; k++) {
            const row *entry = &enums[i].rows[k];
            print_message("  %s\n", entry->name);
            assert_int_equal(entry->number, entry->pinned);
        }
    }
}

static void no_number_is_given_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof enums / sizeof enums[0]; i++) {
        print_message("  %s\n", enums[i].name);
        for (size_t k = 0; k < enums[i].count; k++) {
            for (size_t other = 0; other < k; other++) {
                assert_int_not_equal(enums[i].rows[k].number, enums[i].rows[other].number);
            }
        }
    }
}

static void every_enumerator_is_pinned(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof enums / sizeof enums[0]; i++) {
        print_message("  %s\n", enums[i].name);
        assert_true(enums[i].known == 0 || enums[i].known == enums[i].count);
    }
}

static void no_feature_has_the_bit_of_another(void **state)
{
    arcp_feature_set all = 0;
    (void)state;
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        all |= ARCP_FEATURE_BIT(features[i].pinned);
    }
    assert_int_equal(all, ARCP_FEATURES_ALL);
    assert_true(ARCP_FEATURE_NONE > 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stay_as_they_were_released),
        cmocka_unit_test(no_number_is_given_twice),
        cmocka_unit_test(every_enumerator_is_pinned),
        cmocka_unit_test(no_feature_has_the_bit_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
