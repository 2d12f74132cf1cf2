#include "client/client_job.h"

#include "base/alloc.h"
#include "json/json_put.h"

#define CREDENTIALS  ARCP_SPAN_LITERAL("credentials")
#define RESUME_TOKEN ARCP_SPAN_LITERAL("resume_token")

/* [arcp:9.8.2-15] [arcp:14-10] */
void arcp__client_credentials_redact(const arcp_json *json, arcp_json_ref object, arcp_buf *out)
{
    if (arcp_json_is(json, object, ARCP_JSON_OBJECT) && !json->has_space &&
        arcp_json_member(json, object, CREDENTIALS) == ARCP_JSON_ABSENT &&
        arcp_json_member(json, object, RESUME_TOKEN) == ARCP_JSON_ABSENT) {
        arcp_buf_append(out, arcp_json_raw(json, object)); /* it has none, as nearly all */
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
            arcp_buf text = ARCP_BUF_INIT;
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

static bool has_text(const arcp_json *json, arcp_json_ref object, const char *name)
{
    arcp_json_ref ref = arcp_json_member(json, object, arcp_span_cstr(name));
    return arcp_json_is(json, ref, ARCP_JSON_STRING) && arcp_json_raw(json, ref).size > 2;
}

/* [arcp:9.8.1-2] */
arcp_status arcp__client_credentials_keep(const arcp_json *json, arcp_json_ref payload,
                                          arcp_secret **out)
{
    arcp_json_ref list = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("credentials"));
    *out = NULL;
    if (!arcp_json_is(json, list, ARCP_JSON_ARRAY)) {
        return ARCP_OK;
    }
    arcp_buf text = ARCP_BUF_SECRET_INIT;
    size_t count = 0;
    arcp_buf_append_byte(&text, '[');
    for (arcp_json_ref at = arcp_json_first(json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, list, at)) {
        arcp_json_ref scheme = arcp_json_member(json, at, ARCP_SPAN_LITERAL("scheme"));
        if (arcp_json_string_equals(json, scheme, ARCP_SPAN_LITERAL("bearer")) &&
            has_text(json, at, "id") && has_text(json, at, "value")) {
            if (count++ != 0) {
                arcp_buf_append_byte(&text, ',');
            }
            arcp_json_compact(json, at, &text);
        }
    }
    arcp_buf_append_byte(&text, ']');
    arcp_status status = arcp_buf_status(&text);
    if (status == ARCP_OK && count != 0) {
        *out = arcp_secret_new(arcp_buf_span(&text));
        status = *out == NULL ? ARCP_E_NO_MEMORY : ARCP_OK;
    }
    arcp_buf_fini(&text);
    return status;
}

static arcp_span text_of(const arcp_json *json, arcp_json_ref object, const char *name,
                         arcp_buf *scratch)
{
    return arcp_json_string(json, arcp_json_member(json, object, arcp_span_cstr(name)), scratch);
}

size_t arcp__client_credentials_visit(const arcp_secret *kept,
                                      void (*visit)(void *user, const arcp_credential *credential),
                                      void *user)
{
    arcp_json json = ARCP_JSON_INIT;
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    arcp_buf scratch = ARCP_BUF_SECRET_INIT;
    size_t count = 0;
    arcp_span text = arcp_secret_reveal(kept);
    /* Room for everything that could be unescaped, so that no read fails. */
    if (arcp_buf_reserve(&scratch, text.size) &&
        arcp_json_scan(&json, text, &limits, NULL) == ARCP_OK) {
        for (arcp_json_ref at = arcp_json_first(&json, ARCP_JSON_ROOT); at != ARCP_JSON_ABSENT;
             at = arcp_json_next(&json, ARCP_JSON_ROOT, at)) {
            arcp_credential credential = {
                .id = text_of(&json, at, "id", &scratch),
                .value = text_of(&json, at, "value", &scratch),
                .endpoint = text_of(&json, at, "endpoint", &scratch),
                .profile = text_of(&json, at, "profile", &scratch),
                .constraints = arcp_json_raw(
                    &json, arcp_json_member(&json, at, ARCP_SPAN_LITERAL("constraints"))),
            };
            visit(user, &credential);
            count++;
        }
    }
    arcp_buf_fini(&scratch);
    arcp_json_fini(&json);
    return count;
}
