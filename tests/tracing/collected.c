#include "tracing/collected.h"

#include "support/check.h"

#include "json/json.h"

static arcp_json_ref member(const arcp_json *json, arcp_json_ref object, const char *name)
{
    return arcp_json_member(json, object, arcp_span_cstr(name));
}

static void copy(const arcp_json *json, arcp_json_ref object, const char *name, char *out,
                 size_t size)
{
    arcp_buf scratch = arcp_buf_init();
    const arcp_span text = arcp_json_string(json, member(json, object, name), &scratch);
    assert_true(text.size < size);
    (void)snprintf(out, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
    arcp_buf_fini(&scratch);
}

static void read_span(collected *out, const arcp_json *json, arcp_json_ref ref)
{
    assert_true(out->count < COLLECTED_MAX);
    collected_span *span = &out->spans[out->count++];
    copy(json, ref, "traceId", span->trace, sizeof span->trace);
    copy(json, ref, "spanId", span->id, sizeof span->id);
    copy(json, ref, "parentSpanId", span->parent, sizeof span->parent);
    copy(json, ref, "name", span->name, sizeof span->name);
    const arcp_span text = arcp_json_raw(json, ref);
    assert_true(text.size < sizeof span->text);
    (void)snprintf(span->text, sizeof span->text, "%.*s", (int)text.size, text.data);
}

static void read_request(collected *out, arcp_span text)
{
    const arcp_json_limits limits = {64, 1000, SIZE_MAX};
    arcp_json json = ARCP__JSON_INIT;
    arcp_error error = {0};
    check_ok(arcp_json_scan(&json, text, &limits, &error), &error);
    const arcp_json_ref resources = member(&json, ARCP_JSON_ROOT, "resourceSpans");
    assert_int_equal(arcp_json_count(&json, resources), 1);
    const arcp_json_ref scopes = member(&json, arcp_json_first(&json, resources), "scopeSpans");
    assert_int_equal(arcp_json_count(&json, scopes), 1);
    const arcp_json_ref spans = member(&json, arcp_json_first(&json, scopes), "spans");
    assert_true(arcp_json_count(&json, spans) != 0);
    for (arcp_json_ref item = arcp_json_first(&json, spans); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(&json, spans, item)) {
        read_span(out, &json, item);
    }
    arcp__json_fini(&json);
}

void collected_read(stand_in *from, collected *out)
{
    *out = (collected){.spans = calloc(COLLECTED_MAX, sizeof *out->spans)};
    assert_non_null(out->spans);
    uv_mutex_lock(&from->lock);
    for (size_t offset = 0; offset < from->traces_size;) {
        const char *feed = memchr(from->traces + offset, '\n', from->traces_size - offset);
        const size_t size = (size_t)(feed - from->traces) - offset;
        read_request(out, arcp_span_make(from->traces + offset, size));
        offset += size + 1;
    }
    uv_mutex_unlock(&from->lock);
}

void collected_free(collected *c)
{
    free(c->spans);
    *c = (collected){.spans = NULL};
}

const collected_span *collected_find(const collected *c, const char *name, unsigned index)
{
    for (unsigned i = 0; i < c->count; i++) {
        if (strcmp(c->spans[i].name, name) == 0 && index-- == 0) {
            return &c->spans[i];
        }
    }
    return NULL;
}

const collected_span *collected_by_id(const collected *c, const char *id)
{
    for (unsigned i = 0; i < c->count; i++) {
        if (strcmp(c->spans[i].id, id) == 0) {
            return &c->spans[i];
        }
    }
    return NULL;
}
