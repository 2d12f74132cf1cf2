#include "sandbox/sandbox_seen.h"

#include "json/json_put.h"

static const char *const names[ARCP__SANDBOX_USE_COUNT] = {
    [ARCP__SANDBOX_USE_READ] = "read",       [ARCP__SANDBOX_USE_WRITE] = "write",
    [ARCP__SANDBOX_USE_CREATE] = "create",   [ARCP__SANDBOX_USE_LIST] = "list",
    [ARCP__SANDBOX_USE_ENTER] = "enter",     [ARCP__SANDBOX_USE_LOOK] = "look",
    [ARCP__SANDBOX_USE_EXECUTE] = "execute", [ARCP__SANDBOX_USE_REMOVE] = "remove",
    [ARCP__SANDBOX_USE_RENAME] = "rename",   [ARCP__SANDBOX_USE_MAKE] = "make",
    [ARCP__SANDBOX_USE_OWNER] = "owner",     [ARCP__SANDBOX_USE_CONNECT] = "connect",
    [ARCP__SANDBOX_USE_CHECK] = "check",     [ARCP__SANDBOX_USE_PORT] = "port",
    [ARCP__SANDBOX_USE_UNKNOWN] = "unknown",
};

void arcp__sandbox_seen_encode(const arcp__sandbox_seen *seen, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "seen", names[seen->use]);
    arcp__put_string(&writer, "path", seen->path);
    arcp__put_text(&writer, "real", seen->real);
    arcp__put_text(&writer, "other", seen->other);
    if (seen->is_directory) {
        arcp__put_bool(&writer, "directory", true);
    }
    if (seen->is_new) {
        arcp__put_bool(&writer, "new", true);
    }
    arcp_json_end_object(&writer);
}

static arcp_span text_of(const arcp_json *json, const char *name, arcp_buf *room)
{
    const arcp_json_ref at = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name));
    return arcp_json_is(json, at, ARCP_JSON_STRING) ? arcp_json_string(json, at, room)
                                                    : (arcp_span){"", 0};
}

static bool is_set(const arcp_json *json, const char *name)
{
    const arcp_json_ref at = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name));
    return arcp_json_is(json, at, ARCP_JSON_TRUE);
}

bool arcp__sandbox_seen_decode(arcp_span record, arcp_buf room[3], arcp__sandbox_seen *out)
{
    arcp_json json = ARCP__JSON_INIT;
    size_t use = ARCP__SANDBOX_USE_COUNT;
    if (arcp_json_scan(&json, record, NULL, NULL) == ARCP_OK &&
        arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        const arcp_json_ref at = arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("seen"));
        for (use = 0; use < ARCP__SANDBOX_USE_COUNT; use++) {
            if (arcp_json_is(&json, at, ARCP_JSON_STRING) &&
                arcp_json_string_equals(&json, at, arcp_span_cstr(names[use]))) {
                break;
            }
        }
    }
    if (use < ARCP__SANDBOX_USE_COUNT) {
        *out = (arcp__sandbox_seen){.use = (arcp__sandbox_use)use,
                                    .path = text_of(&json, "path", &room[0]),
                                    .real = text_of(&json, "real", &room[1]),
                                    .other = text_of(&json, "other", &room[2]),
                                    .is_directory = is_set(&json, "directory"),
                                    .is_new = is_set(&json, "new")};
    }
    arcp__json_fini(&json);
    return use < ARCP__SANDBOX_USE_COUNT && out->path.size != 0 && !room[0].failed &&
           !room[1].failed && !room[2].failed;
}
