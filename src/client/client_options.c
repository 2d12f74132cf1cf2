#include "base/alloc.h"
#include "base/options.h"
#include "client/client_session.h"

static arcp_status check(const arcp_client_options *from, arcp_error *err)
{
    arcp_status status = arcp__options_check(from, sizeof(*from), "ARCP_CLIENT_OPTIONS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (from->url.size == 0 && from->dial == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "options need a url or a dial function");
    }
    if ((from->resume.session_id.size == 0) != (from->resume.resume_token.size == 0)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "to resume takes both a session id and a resume token");
    }
    const struct {
        const char *name;
        int64_t value;
        int64_t least;
    } numbers[] = {
        {"connect_timeout_ms", from->connect_timeout_ms, 1},
        {"connect_retry_ms", from->connect_retry_ms, 0},
        {"request_timeout_ms", from->request_timeout_ms, 1},
        {"backoff_first_ms", from->backoff_first_ms, 1},
        {"backoff_max_ms", from->backoff_max_ms, 1},
        {"give_up_ms", from->give_up_ms, 0},
        {"ack_events", from->ack_events, 1},
        {"ack_ms", from->ack_ms, 1},
        {"unread_bytes_max",
         from->unread_bytes_max > INT64_MAX ? INT64_MAX : (int64_t)from->unread_bytes_max, 1},
        {"frame_bytes_max",
         from->frame_bytes_max > UINT32_MAX / 2 ? 0 : (int64_t)from->frame_bytes_max, 1024},
    };
    for (size_t row = 0; row < sizeof(numbers) / sizeof(numbers[0]); row++) {
        if (numbers[row].value < numbers[row].least) {
            return arcp_error_set(err, ARCP_E_USAGE, "option %s is %lld, must be at least %lld",
                                  numbers[row].name, (long long)numbers[row].value,
                                  (long long)numbers[row].least);
        }
    }
    return ARCP_OK;
}

/* The copy ends with a NUL; no data stands for an empty span. */
static bool copy_span(arcp__arena *strings, arcp_span *span)
{
    char *copy = span->size == 0 ? NULL : arcp__arena_take(strings, span->size + 1);
    bool failed = span->size != 0 && copy == NULL;
    if (copy != NULL) {
        memcpy(copy, span->data, span->size);
        copy[span->size] = '\0';
    }
    *span = arcp_span_make(copy, copy == NULL ? 0 : span->size);
    return !failed;
}

arcp_status arcp__client_session_options_copy(const arcp_client_options *from,
                                              arcp__client_session_options *out, arcp_error *err)
{
    arcp_status status = check(from, err);
    if (status != ARCP_OK) {
        return status;
    }
    *out = (arcp__client_session_options){.given = *from};
    arcp_client_options *given = &out->given;
    if (given->client_name.size == 0) {
        given->client_name = ARCP_SPAN_LITERAL("libarcp");
    }
    if (given->client_version.size == 0) {
        given->client_version = ARCP_SPAN_LITERAL(ARCP_VERSION_STRING);
    }
    /* Secrets go into arcp_secret, not into the arena. */
    given->token = arcp_span_make(NULL, 0);
    given->resume.resume_token = arcp_span_make(NULL, 0);
    given->resume.session_id = arcp_span_make(NULL, 0);
    bool copied = copy_span(&out->strings, &given->url) &&
                  copy_span(&out->strings, &given->client_name) &&
                  copy_span(&out->strings, &given->client_version) &&
                  copy_span(&out->strings, &given->tls_ca_file);
    if (copied && from->token.size != 0) {
        out->token = arcp_secret_new(from->token);
        copied = out->token != NULL;
    }
    if (!copied) {
        arcp__client_session_options_fini(out);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return ARCP_OK;
}

void arcp__client_session_options_fini(arcp__client_session_options *options)
{
    arcp_secret_free(options->token);
    options->token = NULL;
    arcp__arena_fini(&options->strings);
}
