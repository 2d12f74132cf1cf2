#include "arcp/jobs.h"

#include <arcp/time.h>

#include "core/decimal.h"

/* ---- cost ---- */

/* A decimal that may be negative, as JSON's number or as "USD:5.00". */
static bool read_amount(const arcp_json *json, arcp_json_ref ref, arcp_decimal *out)
{
    arcp_buf room = arcp_buf_init();
    arcp_span text = arcp_json_is(json, ref, ARCP_JSON_STRING) ? arcp_json_string(json, ref, &room)
                                                               : arcp_json_raw(json, ref);
    const char *colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
    if (colon != NULL) {
        text = arcp_span_from(text, (size_t)(colon - text.data) + 1);
    }
    const bool is_negative = arcp_span_starts_with(text, ARCP_SPAN_LITERAL("-"));
    arcp_decimal value;
    const bool is_read =
        arcp_decimal_parse(arcp_span_from(text, is_negative ? 1 : 0), &value, NULL) == ARCP_OK;
    if (is_read) {
        const arcp__units units = arcp__decimal_units(value);
        *out = arcp__decimal_of(is_negative ? -units : units);
    }
    arcp_buf_fini(&room);
    return is_read;
}

/* What was spent: the amount in the lease without what remains. */
static void append_spent(const arcp_json *json, arcp_json_ref initial, arcp_json_ref budget,
                         arcp_buf *out)
{
    arcp_buf room = arcp_buf_init();
    const arcp_span text = arcp_json_string(json, initial, &room);
    const char *colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
    arcp_decimal first, remaining;
    if (colon != NULL) {
        const arcp_span currency = arcp_span_first(text, (size_t)(colon - text.data));
        if (read_amount(json, initial, &first) &&
            read_amount(json, arcp_json_member(json, budget, currency), &remaining)) {
            char amount[ARCP_DECIMAL_TEXT_MAX];
            (void)arcp_decimal_format(
                arcp__decimal_of(arcp__decimal_units(first) - arcp__decimal_units(remaining)),
                amount);
            arcp_buf_append_cstr(out, out->size == 0 ? "" : ", ");
            arcp_buf_append(out, currency);
            arcp_buf_append_format(out, " %s", amount);
        }
    }
    arcp_buf_fini(&room);
}

/* What a row of the view says was spent: {"USD":{"cap":5,"spent":1.5}}. */
static void append_costs(const arcp_json *json, arcp_json_ref budget, arcp_buf *out)
{
    for (arcp_json_ref at = arcp_json_first(json, budget); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, budget, at)) {
        const arcp_json_ref spent = arcp_json_member(json, at + 1, ARCP_SPAN_LITERAL("spent"));
        arcp_buf room = arcp_buf_init();
        if (arcp_json_is(json, spent, ARCP_JSON_NUMBER)) {
            arcp_buf_append_cstr(out, out->size == 0 ? "" : ", ");
            arcp_buf_append(out, arcp_json_string(json, at, &room));
            arcp_buf_append_byte(out, ' ');
            arcp_buf_append(out, arcp_json_raw(json, spent));
        }
        arcp_buf_fini(&room);
    }
}

/* ---- a row ---- */

static arcp_span text_of(const arcp_json *json, const char *name, arcp_buf *room)
{
    return arcp_json_string(json, arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name)),
                            room);
}

/* The status, with the place of a queued job: "pending 3". */
static void append_status(const arcp_json *json, arcp__job_facts *out)
{
    arcp_json_ref place =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("x-vendor.arcpd.queue_place"));
    if (arcp_json_is_missing(json, place)) { /* in a row of the view */
        place = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("queue_place"));
    }
    arcp_buf_append(&out->shown_status, out->status);
    if (arcp_json_is(json, place, ARCP_JSON_NUMBER)) {
        arcp_buf_append_byte(&out->shown_status, ' ');
        arcp_buf_append(&out->shown_status, arcp_json_raw(json, place));
    }
}

void arcp__job_facts_read(const arcp_json *json, arcp__job_facts *out)
{
    const arcp_json_ref lease = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease"));
    const arcp_json_ref budget =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("budget"));
    const arcp_json_ref amounts = arcp_json_member(json, lease, ARCP_SPAN_LITERAL("cost.budget"));
    *out = (arcp__job_facts){
        .cost = arcp_buf_init(), .shown_status = arcp_buf_init(), .room = arcp_buf_init()};
    out->job_id = text_of(json, "job_id", &out->room);
    out->agent = text_of(json, "agent", &out->room);
    out->status = text_of(json, "status", &out->room);
    if (out->status.size == 0) { /* of a descriptor */
        out->status = text_of(json, "current_status", &out->room);
    }
    append_status(json, out);
    out->created_at = text_of(json, "created_at", &out->room);
    out->parent_job_id = text_of(json, "parent_job_id", &out->room);
    out->trace_id = text_of(json, "trace_id", &out->room);
    out->principal = text_of(json, "principal", &out->room);
    out->code = text_of(json, "code", &out->room);
    out->started_at = text_of(json, "started_at", &out->room);
    out->ended_at = text_of(json, "ended_at", &out->room);
    append_costs(json, budget, &out->cost);
    for (arcp_json_ref at = arcp_json_first(json, amounts); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, amounts, at)) {
        append_spent(json, at, budget, &out->cost);
    }
}

void arcp__job_facts_fini(arcp__job_facts *facts)
{
    arcp_buf_fini(&facts->cost);
    arcp_buf_fini(&facts->shown_status);
    arcp_buf_fini(&facts->room);
}

void arcp__append_age(arcp_span instant, int64_t now_wall_ns, arcp_buf *out)
{
    static const struct {
        int64_t seconds;
        char unit;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    arcp__instant at;
    if (arcp__timestamp_parse(instant, &at, NULL) != ARCP_OK) {
        return;
    }
    const int64_t ns = now_wall_ns - at.wall_ns;
    const int64_t seconds = ns < 0 ? 0 : ns / ARCP_NS_PER_SEC;
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && seconds < units[i].seconds) {
        i++;
    }
    arcp_buf_append_format(out, "%lld%c", (long long)(seconds / units[i].seconds), units[i].unit);
}

void arcp__append_ms(uint64_t ms, arcp_buf *out)
{
    if (ms < 60000) {
        arcp_buf_append_format(out, "%llu.%llus", (unsigned long long)(ms / 1000),
                               (unsigned long long)(ms % 1000 / 100));
    } else if (ms < 3600000) {
        arcp_buf_append_format(out, "%llum", (unsigned long long)(ms / 60000));
    } else {
        arcp_buf_append_format(out, "%lluh", (unsigned long long)(ms / 3600000));
    }
}

void arcp__append_bytes(uint64_t bytes, arcp_buf *out)
{
    static const char units[] = "BKMGT";
    size_t unit = 0;
    while (bytes >= 10240 && unit + 2 < sizeof units) {
        bytes /= 1024;
        unit++;
    }
    arcp_buf_append_format(out, "%llu%c", (unsigned long long)bytes, units[unit]);
}

void arcp__append_took(arcp_span begun, arcp_span ended, arcp_buf *out)
{
    arcp__instant from, to;
    if (arcp__timestamp_parse(begun, &from, NULL) != ARCP_OK ||
        arcp__timestamp_parse(ended, &to, NULL) != ARCP_OK) {
        return;
    }
    const int64_t ns = to.wall_ns < from.wall_ns ? 0 : to.wall_ns - from.wall_ns;
    if (ns < 60 * ARCP_NS_PER_SEC) {
        const long long tenths = (long long)(ns / (ARCP_NS_PER_SEC / 10));
        arcp_buf_append_format(out, "%lld.%llds", tenths / 10, tenths % 10);
    } else {
        arcp__append_age(begun, to.wall_ns, out);
    }
}
