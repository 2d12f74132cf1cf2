#include "client/client_job.h"

#include "core/decode.h"
#include "json/json_put.h"

#define CREDENTIALS  ARCP_SPAN_LITERAL("credentials")
#define RESUME_TOKEN ARCP_SPAN_LITERAL("resume_token")

/* [arcp:9.8.2-15] [arcp:14-10] */
void arcp__client_credentials_redact(const arcp_json *json, arcp_json_ref object, arcp_buf *out)
{
    if (arcp_json_is(json, object, ARCP_JSON_OBJECT) && !json->has_space &&
        arcp_json_member(json, object, CREDENTIALS) == ARCP_JSON_ABSENT &&
        arcp_json_member(json, object, RESUME_TOKEN) == ARCP_JSON_ABSENT) {
        arcp_buf_append(out, arcp_json_raw(json, object)); /* usually there is nothing to remove */
        return;
    }
    arcp_json_writer writer = arcp__put_begin(out);
    if (arcp_json_is(json, object, ARCP_JSON_OBJECT)) {
        for (arcp_json_ref name = arcp_json_first(json, object); name != ARCP_JSON_ABSENT;
             name = arcp_json_next(json, object, name)) {
            if (arcp_json_string_equals(json, name, CREDENTIALS) ||
                arcp_json_string_equals(json, name, RESUME_TOKEN)) {
                continue;
            }
            arcp_buf text = arcp_buf_init();
            arcp_json_name_span(&writer, arcp_json_string(json, name, &text));
            arcp_buf_clear(&text);
            arcp_json_compact(json, name + 1, &text);
            out->failed = out->failed || text.failed;
            arcp_json_write_raw(&writer, arcp_buf_span(&text));
            arcp_buf_fini(&text);
        }
    }
    arcp_json_end_object(&writer);
}

typedef struct members {
    arcp_credential seen;
    arcp_span scheme;
    arcp_json_ref constraints;
} members;

static const arcp__member rows[] = {
    {ARCP__MEMBER(members, scheme, "scheme", STRING), .required = true},
    {ARCP__MEMBER(members, seen.id, "id", STRING), .required = true},
    {ARCP__MEMBER(members, seen.value, "value", STRING), .required = true},
    {ARCP__MEMBER(members, seen.endpoint, "endpoint", LOOSE)},
    {ARCP__MEMBER(members, seen.profile, "profile", LOOSE)},
    {ARCP__MEMBER(members, constraints, "constraints", ANY)},
};
static const arcp__members table = ARCP__MEMBERS(rows);

/* [arcp:9.8.1-2] */
bool arcp__client_credentials_keep(const arcp_json *json, arcp_json_ref list, arcp_secret **out)
{
    arcp_buf text = arcp_buf_secret_init();
    arcp_buf scratch = arcp_buf_secret_init();
    for (arcp_json_ref item = arcp_json_first(json, list); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, list, item)) {
        members in = {0};
        if (arcp__decode_row(json, &scratch, item, &table, &in) &&
            arcp_span_equal_cstr(in.scheme, "bearer")) {
            arcp_buf_append_byte(&text, text.size == 0 ? '[' : ',');
            arcp_json_compact(json, item, &text);
        }
    }
    bool is_kept = !text.failed && !scratch.failed;
    if (is_kept && text.size != 0) {
        arcp_buf_append_byte(&text, ']');
        *out = text.failed ? NULL : arcp_secret_new(arcp_buf_span(&text));
        is_kept = *out != NULL;
    }
    arcp_buf_fini(&text);
    arcp_buf_fini(&scratch);
    return is_kept;
}

size_t arcp__client_credentials_for_each(const arcp_secret *kept,
                                         void (*each)(void *user,
                                                      const arcp_credential *credential),
                                         void *user)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__CLIENT_JSON_LIMITS;
    arcp_buf scratch = arcp_buf_secret_init();
    arcp_buf texts = arcp_buf_secret_init();
    size_t count = 0;
    const arcp_span text = arcp_secret_reveal(kept);
    /* Enough for all unescaped strings, so that no read fails. */
    if (arcp_buf_reserve(&scratch, text.size) && arcp_buf_reserve(&texts, 2 * text.size) &&
        arcp_json_scan(&json, text, &limits, NULL) == ARCP_OK) {
        for (arcp_json_ref item = arcp_json_first(&json, ARCP_JSON_ROOT); item != ARCP_JSON_ABSENT;
             item = arcp_json_next(&json, ARCP_JSON_ROOT, item)) {
            members in = {0};
            if (arcp__decode_row(&json, &scratch, item, &table, &in)) {
                const arcp_credential shown = {
                    .id = arcp__client_append_text(&texts, in.seen.id),
                    .value = arcp__client_append_text(&texts, in.seen.value),
                    .endpoint = arcp__client_append_text(&texts, in.seen.endpoint),
                    .profile = arcp__client_append_text(&texts, in.seen.profile),
                    .constraints =
                        arcp__client_append_text(&texts, arcp_json_raw(&json, in.constraints)),
                };
                each(user, &shown);
                count++;
            }
        }
    }
    arcp_buf_fini(&scratch);
    arcp_buf_fini(&texts);
    arcp__json_fini(&json);
    return count;
}
