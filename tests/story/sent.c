/* The frames and lines that the engine sends, compared with the table that docs/reference is
 * written from. */
#include "support/check.h"

#include "story/stage.h"
#include "json/json.h"

static const struct {
    const char *type, *member;
    int always;
} rows[] = {
#define ARCP__SENT(type, member, shape, always, text) {type, member, always},
#include "../../tools/reference/sent.def"
#undef ARCP__SENT
};

static arcp_span member_text(const arcp_json *json, const char *name)
{
    static char text[256];
    const arcp_json_ref ref = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name));
    const arcp_span raw = arcp_json_raw(json, ref);
    if (raw.size < 2 || raw.size >= sizeof text) {
        fail_msg("a frame without %s, or a long one", name);
        return arcp_span_make(NULL, 0);
    }
    memcpy(text, raw.data + 1, raw.size - 2);
    return arcp_span_make(text, raw.size - 2);
}

void story_check_sent(const char *frame)
{
    const arcp_span text = arcp_span_cstr(frame);
    const arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    arcp_json json = ARCP__JSON_INIT;
    assert_int_equal(arcp_json_scan(&json, text, &limits, NULL), ARCP_OK);
    const arcp_span type = member_text(&json, "type");
    const arcp_json_ref payload =
        arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    if (arcp_span_equal_cstr(type, "reply")) {
        arcp__json_fini(&json);
        return;
    }
    for (arcp_json_ref name = arcp_json_first(&json, payload); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(&json, payload, name)) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !is_known; i++) {
            is_known = arcp_span_equal_cstr(type, rows[i].type) &&
                       arcp_json_string_equals(&json, name, arcp_span_cstr(rows[i].member));
        }
        if (!is_known) {
            fail_msg("tools/reference/sent.def lacks a member of %.*s", (int)text.size, text.data);
        }
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].always && arcp_span_equal_cstr(type, rows[i].type) &&
            arcp_json_member(&json, payload, arcp_span_cstr(rows[i].member)) == ARCP_JSON_ABSENT) {
            fail_msg("tools/reference/sent.def: %s is missing in %.*s", rows[i].member,
                     (int)text.size, text.data);
        }
    }
    arcp__json_fini(&json);
}
