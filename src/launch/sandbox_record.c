#include "launch/sandbox_record.h"

#include <errno.h>
#include <string.h>

#include "json/json.h"

/* The number of an error by its name, such as "EPERM"; 0: there is none. */
static int errno_of(arcp_span name)
{
    for (int number = 1; number < 256; number++) {
        const char *known = strerrorname_np(number);
        if (known != NULL && arcp_span_equal_cstr(name, known)) {
            return number;
        }
    }
    return 0;
}

arcp__sandbox_record arcp__sandbox_record_type(arcp_span record)
{
    static const char *const names[] = {[ARCP__SANDBOX_RECORD_RUNNING] = "running",
                                        [ARCP__SANDBOX_RECORD_DENIED] = "denied",
                                        [ARCP__SANDBOX_RECORD_PLANTED] = "planted",
                                        [ARCP__SANDBOX_RECORD_LEASED] = "leased",
                                        [ARCP__SANDBOX_RECORD_FAILED] = "failed"};
    arcp_json json = ARCP__JSON_INIT;
    arcp__sandbox_record type = ARCP__SANDBOX_RECORD_OTHER;
    if (arcp_json_scan(&json, record, NULL, NULL) == ARCP_OK &&
        arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        for (unsigned i = 0; i < ARCP__SANDBOX_RECORD_OTHER; i++) {
            if (type == ARCP__SANDBOX_RECORD_OTHER &&
                arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(names[i])) !=
                    ARCP_JSON_ABSENT) {
                type = (arcp__sandbox_record)i;
            }
        }
    }
    arcp__json_fini(&json);
    return type;
}

static const struct {
    const char *name, *text;
} stages[] = {
#define ARCP_LAUNCH_STAGE(id, name, text) {name, text},
#include "launch/launch_stage.def"
#undef ARCP_LAUNCH_STAGE
};

/* Whether the step looks for what the lease grants. Only directories must be there. */
static bool is_of_source(unsigned step)
{
    return step == ARCP__SANDBOX_STEP_LINKS || step == ARCP__SANDBOX_STEP_MOUNT;
}

unsigned arcp__sandbox_step_find(arcp_span name)
{
    unsigned step = 0;
    while (step < ARCP__SANDBOX_STEP_COUNT && !arcp_span_equal_cstr(name, stages[step].name)) {
        step++;
    }
    return step;
}

const char *arcp__sandbox_step_name(unsigned step)
{
    return stages[step].name;
}

const char *arcp__sandbox_record_failure(arcp_span record, arcp_buf *message)
{
    static const char *const names[] = {"failed", "path", "errno"};
    arcp_buf room[3] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
    arcp_span texts[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    arcp_json json = ARCP__JSON_INIT;
    const bool is_read = arcp_json_scan(&json, record, NULL, NULL) == ARCP_OK;
    for (size_t i = 0; i < 3 && is_read; i++) {
        const arcp_json_ref at = arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(names[i]));
        if (arcp_json_is(&json, at, ARCP_JSON_STRING)) {
            texts[i] = arcp_json_string(&json, at, &room[i]);
        }
    }
    const unsigned step = arcp__sandbox_step_find(texts[0]);
    const bool is_known = step < ARCP__SANDBOX_STEP_COUNT;
    const int number = errno_of(texts[2]);
    if (is_of_source(step) && (number == ENOENT || number == ENOTDIR)) {
        arcp_buf_append_cstr(message, "the directory ");
        arcp_buf_append(message, texts[1]);
        arcp_buf_append_cstr(message, number == ENOENT
                                          ? ", which the lease grants, does not exist"
                                          : ", which the lease grants, is not a directory");
    } else {
        arcp_buf_append_format(message, "%s%s", is_known ? stages[step].text : "unknown step",
                               texts[1].size == 0 ? "" : " ");
        arcp_buf_append(message, texts[1]);
        arcp_buf_append_format(message, ": %s", number == 0 ? "unknown error" : strerror(number));
    }
    for (size_t i = 0; i < 3; i++) {
        arcp_buf_fini(&room[i]);
    }
    arcp__json_fini(&json);
    return is_known ? stages[step].name : "";
}
