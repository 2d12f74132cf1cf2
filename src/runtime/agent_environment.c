#include "runtime/agent_environment.h"

#include <pwd.h>
#include <stdlib.h>

#include <arcp/buf.h>
#include <arcp/json.h>

#include "base/alloc.h"

void arcp__agent_environment_set(arcp__agent_environment *environment, const char *name,
                                 arcp_span value)
{
    size_t name_size = strlen(name);
    const char *end = value.size == 0 ? NULL : memchr(value.data, '\0', value.size);
    arcp_buf pair = ARCP_BUF_INIT;
    size_t at = 0;
    arcp_buf_append_cstr(&pair, name);
    arcp_buf_append_byte(&pair, '=');
    arcp_buf_append(&pair,
                    end == NULL ? value : arcp_span_first(value, (size_t)(end - value.data)));
    char *text = arcp_buf_take_cstr(&pair);
    arcp_buf_fini(&pair);
    while (at < environment->count && (strncmp(environment->pairs[at], name, name_size) != 0 ||
                                       environment->pairs[at][name_size] != '=')) {
        at++;
    }
    if (text != NULL && at == environment->count) {
        char **pairs = arcp__realloc_array(environment->pairs, at + 2, sizeof(*pairs));
        if (pairs != NULL) {
            environment->pairs = pairs;
            pairs[at] = NULL;
            pairs[at + 1] = NULL;
            environment->count++;
        } else {
            arcp__free(text);
            text = NULL;
        }
    }
    if (text == NULL) {
        environment->failed = true;
        return;
    }
    arcp__free(environment->pairs[at]);
    environment->pairs[at] = text;
}

static void set_own(arcp__agent_environment *environment, const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    if (value != NULL || otherwise != NULL) {
        arcp__agent_environment_set(environment, name,
                                    arcp_span_cstr(value != NULL ? value : otherwise));
    }
}

void arcp__agent_environment_base(arcp__agent_environment *environment, const char *user)
{
    char buffer[16384];
    struct passwd entry;
    struct passwd *found = NULL;
    set_own(environment, "PATH", "/usr/local/bin:/usr/bin:/bin");
    set_own(environment, "LANG", NULL);
    set_own(environment, "TZ", NULL);
    if (user == NULL) {
        set_own(environment, "HOME", NULL);
    } else if (getpwnam_r(user, &entry, buffer, sizeof(buffer), &found) == 0 && found != NULL) {
        arcp__agent_environment_set(environment, "HOME", arcp_span_cstr(found->pw_dir));
    }
}

void arcp__agent_environment_pass(arcp__agent_environment *environment, const char *const *names)
{
    for (size_t at = 0; names != NULL && names[at] != NULL; at++) {
        const char *given = names[at];
        const char *equals = strchr(given, '=');
        if (equals == NULL) {
            set_own(environment, given, NULL);
            continue;
        }
        char *name = arcp__copy_cstr(given, (size_t)(equals - given));
        if (name == NULL) {
            environment->failed = true;
            return;
        }
        arcp__agent_environment_set(environment, name, arcp_span_cstr(equals + 1));
        arcp__free(name);
    }
}

void arcp__agent_environment_job(arcp__agent_environment *environment, arcp_span start)
{
    static const struct {
        const char *name;
        const char *member;
    } rows[] = {{"ARCP_JOB_ID", "job_id"},
                {"ARCP_AGENT", "agent"},
                {"ARCP_TRACE_ID", "trace_id"},
                {"TRACEPARENT", "traceparent"},
                {"TRACESTATE", "tracestate"}};
    arcp_json json = ARCP_JSON_INIT;
    arcp_buf scratch = ARCP_BUF_INIT;
    /* Its sender is the engine, which kept the limits already. */
    const arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    if (arcp_json_scan(&json, start, &limits, NULL) != ARCP_OK) {
        environment->failed = true;
    } else {
        arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
            arcp_json_ref member =
                arcp_json_member(&json, payload, arcp_span_cstr(rows[at].member));
            if (arcp_json_is(&json, member, ARCP_JSON_STRING)) {
                scratch.size = 0; /* a failure is kept */
                arcp__agent_environment_set(environment, rows[at].name,
                                            arcp_json_string(&json, member, &scratch));
            }
        }
    }
    environment->failed = environment->failed || scratch.failed;
    arcp_buf_fini(&scratch);
    arcp_json_fini(&json);
}

void arcp__agent_environment_fini(arcp__agent_environment *environment)
{
    for (size_t at = 0; at < environment->count; at++) {
        arcp__free(environment->pairs[at]);
    }
    arcp__free(environment->pairs);
    *environment = (arcp__agent_environment){0};
}
