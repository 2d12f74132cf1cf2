/* Where jobs stand in their traces (§11): what a submit brings, and what agents, children and
 * the provisioner are given.
 *
 * Without spans of its own the runtime hands on what it was given, unchanged. With spans, each
 * job has one, and whatever is done for the job stands below it. A trace that its caller does
 * not record is not recorded here. */
#include "engine/parts.h"

#include "json/json_put.h"

#define TRACESTATE_MAX 512u

static void make_span_id(arcp__engine *engine, uint8_t out[8])
{
    arcp__context_random(&engine->context, out, 8);
    out[0] |= 1; /* never all zero */
}

static void put_span_id(arcp__engine *engine, char out[ARCP__SPAN_ID_SIZE + 1])
{
    uint8_t bytes[8];
    make_span_id(engine, bytes);
    arcp__hex_format(bytes, sizeof(bytes), out);
    out[ARCP__SPAN_ID_SIZE] = '\0';
}

static void put_own(arcp__engine *engine, const char trace_id[ARCP__TRACE_ID_SIZE],
                    char out[ARCP__TRACEPARENT_SIZE + 1])
{
    uint8_t bytes[8];
    make_span_id(engine, bytes);
    arcp__traceparent_format(trace_id, bytes, out);
    out[ARCP__TRACEPARENT_SIZE] = '\0';
}

static void put_text(char *to, size_t size, arcp_span text)
{
    assert(text.size < size);
    if (text.size != 0) {
        memcpy(to, text.data, text.size);
    }
    to[text.size] = '\0';
}

/* Nobody asked for it by a span of theirs, and there will be none of ours: one that is the
 * same for everything of the trace. */
static void put_anchor(const char trace_id[ARCP__TRACE_ID_SIZE],
                       char out[ARCP__TRACEPARENT_SIZE + 1])
{
    uint8_t bytes[8];
    uint64_t hash = arcp__hash_bytes(trace_id, ARCP__TRACE_ID_SIZE) | 1;
    memcpy(bytes, &hash, sizeof(bytes));
    arcp__traceparent_format(trace_id, bytes, out);
    out[ARCP__TRACEPARENT_SIZE] = '\0';
}

/* `asked_by` is a valid traceparent, or empty. */
static void begin(arcp__engine *engine, const char trace_id[ARCP__TRACE_ID_SIZE],
                  arcp_span asked_by, arcp__trace *out)
{
    *out = (arcp__trace){.began_wall_ns = engine->context.now.wall_ns};
    out->is_recorded = engine->options.makes_spans &&
                       (asked_by.size == 0 || arcp__traceparent_is_sampled(asked_by));
    if (out->is_recorded) {
        if (asked_by.size != 0) {
            put_text(out->parent_id, sizeof(out->parent_id),
                     arcp_span_first(arcp_span_from(asked_by, 36), ARCP__SPAN_ID_SIZE));
        }
        put_span_id(engine, out->session_id);
        put_own(engine, trace_id, out->traceparent);
    } else if (asked_by.size != 0) {
        put_text(out->traceparent, sizeof(out->traceparent), asked_by);
    } else {
        put_anchor(trace_id, out->traceparent);
    }
}

static arcp_json_ref context_of(const arcp__engine *engine, const arcp__envelope *envelope)
{
    return arcp_json_member(&engine->context.json, envelope->extensions,
                            ARCP_SPAN_LITERAL("x-vendor.opentelemetry.tracecontext"));
}

/* The trace that an envelope names, and its valid traceparent, empty for none; false: it names no
 * trace. */
static bool read_ids(arcp__engine *engine, const arcp__envelope *envelope,
                     char trace_id[ARCP__TRACE_ID_SIZE], arcp_span *out_parent)
{
    const arcp_json *json = &engine->context.json;
    arcp_span none = {NULL, 0};
    arcp_json_ref context = context_of(engine, envelope);
    arcp_span parent =
        arcp_json_string(json, arcp_json_member(json, context, ARCP_SPAN_LITERAL("traceparent")),
                         &engine->context.scratch);
    if (!arcp__traceparent_is_valid(parent)) {
        parent = arcp__traceparent_is_valid(envelope->trace_id) ? envelope->trace_id : none;
    }
    bool named = arcp__trace_id_parse(envelope->trace_id, trace_id);
    char of_parent[ARCP__TRACE_ID_SIZE];
    /* A context of another trace than the envelope's is none. */
    if (!arcp__trace_id_parse(parent, of_parent) ||
        (named && memcmp(of_parent, trace_id, sizeof(of_parent)) != 0)) {
        parent = none;
    } else {
        memcpy(trace_id, of_parent, sizeof(of_parent));
        named = true;
    }
    *out_parent = parent;
    return named;
}

void arcp__trace_asked(arcp__engine *engine, const arcp__envelope *envelope,
                       char trace_id[ARCP__TRACE_ID_SIZE])
{
    arcp_span parent;
    if (!read_ids(engine, envelope, trace_id, &parent)) {
        trace_id[0] = '\0';
    }
}

/* [arcp:11-1] */
void arcp__trace_read(arcp__engine *engine, const arcp__envelope *envelope,
                      char trace_id[ARCP__TRACE_ID_SIZE], arcp__trace *out, arcp_span *tracestate)
{
    const arcp_json *json = &engine->context.json;
    arcp_span none = {NULL, 0};
    arcp_span parent;
    if (!read_ids(engine, envelope, trace_id, &parent)) {
        uint8_t bytes[ARCP__TRACE_ID_SIZE / 2];
        arcp__context_random(&engine->context, bytes, sizeof(bytes));
        bytes[0] |= 1; /* never all zero */
        arcp__hex_format(bytes, sizeof(bytes), trace_id);
    }
    *tracestate =
        parent.size == 0
            ? none
            : arcp_span_first(arcp_json_string(json,
                                               arcp_json_member(json, context_of(engine, envelope),
                                                                ARCP_SPAN_LITERAL("tracestate")),
                                               &engine->context.scratch),
                              TRACESTATE_MAX);
    begin(engine, trace_id, parent, out);
}

/* [arcp:11-2] */
void arcp__trace_of_child(arcp__engine *engine, const arcp__job *parent, arcp__trace *out)
{
    const arcp__trace *above = &parent->live->trace;
    *out = (arcp__trace){.is_recorded = above->is_recorded,
                         .began_wall_ns = engine->context.now.wall_ns};
    if (above->is_recorded) {
        put_text(out->parent_id, sizeof(out->parent_id), arcp__trace_span_id(above));
        put_own(engine, parent->trace_id, out->traceparent);
    } else {
        memcpy(out->traceparent, above->traceparent, sizeof(out->traceparent));
    }
}

arcp_span arcp__trace_span_id(const arcp__trace *trace)
{
    return arcp_span_make(trace->traceparent + 36, ARCP__SPAN_ID_SIZE);
}

/* ---- over a restart ---- */

#define MEMBER(member, kind) ARCP__MEMBER(arcp__trace, member, #member, kind)

static const arcp__member rows[] = {
    {MEMBER(traceparent, ID), .required = true},
    {MEMBER(parent_id, ID)},
    {MEMBER(session_id, ID)},
};
static const arcp__members members = ARCP__MEMBERS(rows);

void arcp__trace_write_row(const arcp__trace *trace, arcp_json_writer *writer)
{
    if (trace->is_recorded) {
        arcp__put_object(writer, "trace");
        arcp__encode_row(writer, &members, trace);
        arcp_json_end_object(writer);
    }
}

/* An id of ours, or none. */
static bool is_id(const char *text)
{
    return text[0] == '\0' || strlen(text) == ARCP__SPAN_ID_SIZE;
}

void arcp__trace_restore(arcp__engine *engine, const arcp_json *row, arcp_json_ref stored,
                         arcp__job *job)
{
    arcp__trace trace = {.began_wall_ns = job->created_wall_ns};
    job->live->trace = trace;
    if (engine->options.makes_spans &&
        arcp__decode_row(row, &engine->context.scratch, stored, &members, &trace) &&
        arcp__traceparent_is_valid(arcp_span_cstr(trace.traceparent))) {
        trace.is_recorded = is_id(trace.parent_id) && is_id(trace.session_id);
        job->live->trace = trace;
    }
}
