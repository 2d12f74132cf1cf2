#include "arcpd/audit_tail.h"

#include <string.h>

#include "base/alloc.h"
#include "json/json.h"
#include "json/json_put.h"

void arcp__audit_tail_add(arcp__audit_tail *tail, const char *line)
{
    tail->end = tail->end == 0 ? 1 : tail->end;
    char **place = &tail->lines[tail->end % ARCP__AUDIT_TAIL_LINES];
    arcp__free(*place);
    *place = arcp__copy_cstr(line, strlen(line));
    tail->end++;
}

void arcp__audit_tail_fini(arcp__audit_tail *tail)
{
    for (size_t i = 0; i < ARCP__AUDIT_TAIL_LINES; i++) {
        arcp__free(tail->lines[i]);
        tail->lines[i] = NULL;
    }
}

typedef struct reader {
    arcp_json request, line;
    arcp_json_ref filter;
    arcp_buf name, wanted;
} reader;

/* Whether the line has each member of the filter with the same text. */
static bool matches(reader *r, const char *line)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    const arcp_json *request = &r->request;
    arcp_json_ref at = arcp_json_first(request, r->filter);
    if (at == ARCP_JSON_ABSENT) {
        return true;
    }
    if (arcp_json_scan(&r->line, arcp_span_cstr(line), &limits, NULL) != ARCP_OK) {
        return false;
    }
    for (; at != ARCP_JSON_ABSENT; at = arcp_json_next(request, r->filter, at)) {
        arcp_buf_clear(&r->name);
        arcp_buf_clear(&r->wanted);
        const arcp_span name = arcp_json_string(request, at, &r->name);
        const arcp_span wanted = arcp_json_string(request, at + 1, &r->wanted);
        const arcp_json_ref value = arcp_json_member(&r->line, ARCP_JSON_ROOT, name);
        if (!arcp_json_string_equals(&r->line, value, wanted)) {
            return false;
        }
    }
    return !r->name.failed && !r->wanted.failed;
}

static void put_chain(arcp_json_writer *writer, const arcp__audit_stats *chain)
{
    if (chain == NULL) {
        arcp_json_name(writer, "chain");
        arcp_json_write_null(writer);
        return;
    }
    arcp__put_object(writer, "chain");
    arcp__put_u64(writer, "seq", chain->head.seq);
    arcp__put_string(writer, "hash", arcp_span_make(chain->head.hash, sizeof chain->head.hash));
    arcp__put_bool(writer, "failing", chain->is_failing);
    arcp__put_u64(writer, "lost", chain->lost);
    arcp__put_u64(writer, "queued_bytes", chain->queued_bytes);
    arcp_json_end_object(writer);
}

static uint64_t number_of(const arcp_json *json, const char *name)
{
    uint64_t value = 0;
    return arcp_json_u64(json, arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name)), &value)
               ? value
               : 0;
}

/* Writes the lines before `before` that match, the newest first; returns the number behind the next
 * one when there are more, or 0. */
static uint64_t put_lines(const arcp__audit_tail *tail, reader *r, uint64_t before, uint64_t limit,
                          size_t bytes_max, arcp_json_writer *writer)
{
    const uint64_t first =
        tail->end > ARCP__AUDIT_TAIL_LINES ? tail->end - ARCP__AUDIT_TAIL_LINES : 1;
    uint64_t at = before == 0 || before > tail->end ? tail->end : before;
    uint64_t shown = 0;
    for (; at > first; at--) {
        const char *line = tail->lines[(at - 1) % ARCP__AUDIT_TAIL_LINES];
        if (line != NULL && matches(r, line)) {
            const arcp_span text = arcp_span_cstr(line);
            if (shown == limit || (shown != 0 && writer->out->size + text.size + 1 > bytes_max)) {
                return at;
            }
            arcp_json_write_raw(writer, text);
            shown++;
        }
    }
    return 0;
}

arcp_status arcp__audit_tail_answer(const arcp__audit_tail *tail, const arcp__audit_stats *chain,
                                    arcp_span payload, size_t bytes_max, arcp_buf *out,
                                    arcp_error *err)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    reader r = {.request = ARCP__JSON_INIT, .line = ARCP__JSON_INIT};
    const arcp_status status = arcp_json_scan(&r.request, payload, &limits, err);
    if (status == ARCP_OK) {
        r.filter = arcp_json_member(&r.request, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("filter"));
        arcp_json_writer writer = arcp__put_begin(out);
        arcp__put_array(&writer, "lines");
        const uint64_t next = put_lines(tail, &r, number_of(&r.request, "before"),
                                        number_of(&r.request, "limit"), bytes_max, &writer);
        arcp_json_end_array(&writer);
        arcp_json_name(&writer, "next_before");
        if (next == 0) {
            arcp_json_write_null(&writer);
        } else {
            arcp_json_write_u64(&writer, next);
        }
        put_chain(&writer, chain);
        arcp_json_end_object(&writer);
    }
    arcp__json_fini(&r.request);
    arcp__json_fini(&r.line);
    arcp_buf_fini(&r.name);
    arcp_buf_fini(&r.wanted);
    return status == ARCP_OK && out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                            : status;
}
