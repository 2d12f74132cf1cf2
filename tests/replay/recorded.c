#include "replay/recorded.h"

#include "support/check.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include "engine/play.h"

static void on_bytes(void *user, arcp_span bytes)
{
    recording *r = user;
    arcp_buf_append(&r->bytes, bytes);
    assert_false(r->bytes.failed);
}

void recording_begin(recording *r)
{
    *r = (recording){.bytes = arcp_buf_init()};
    r->recorder = arcp__recorder_new(on_bytes, r, false);
    assert_non_null(r->recorder);
}

void recording_attach(void *user, arcp__engine_options *options)
{
    const recording *r = user;
    arcp__recorder_attach(r->recorder, options);
}

arcp_span recording_end(recording *r)
{
    assert_false(arcp__recorder_has_failed(r->recorder));
    arcp__recorder_free(r->recorder);
    return arcp_buf_span(&r->bytes);
}

arcp_span record_simulation(recording *r, uint64_t seed, unsigned steps)
{
    play *p = arcp__alloc(sizeof *p);
    assert_non_null(p);
    recording_begin(r);
    play_begin_recorded(p, seed, recording_attach, r);
    for (unsigned i = 0; i < steps && play_step(p); i++) {
    }
    play_end(p);
    arcp__free(p);
    return recording_end(r);
}

/* ---- records ---- */

recorded_call *recorded_calls(arcp_span trace, size_t *count)
{
    arcp__recording at;
    arcp_span identity;
    arcp_span record;
    arcp_error error = {0};
    recorded_call *calls = NULL;
    size_t capacity = 0;
    *count = 0;
    check_ok(arcp__recording_open(trace, &at, &identity, &error), &error);
    for (size_t from = at.at; arcp__recording_next(&at, &record) == ARCP__RECORDING_RECORD;
         from = at.at) {
        recorded_call next = {.at = from, .text = arcp_span_make(trace.data + from, at.at - from)};
        assert_true(arcp__recording_read_call(record, &next.call));
        if (!arcp__call_is_input(next.call.kind)) {
            calls[*count - 1].next = at.at;
            continue;
        }
        next.next = at.at;
        calls = arcp__make_room(calls, *count, &capacity, sizeof *calls);
        assert_non_null(calls);
        calls[(*count)++] = next;
    }
    return calls;
}

void append_number(arcp_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        arcp_buf_append_byte(out, (char)(0x80 | (value & 0x7f)));
    }
    arcp_buf_append_byte(out, (char)value);
}

static void append_text(arcp_buf *out, arcp_span text)
{
    append_number(out, text.data == NULL ? 0 : (uint64_t)text.size + 1);
    if (text.size != 0) {
        arcp_buf_append(out, text);
    }
}

static void write_u32(char *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (char)(uint8_t)(value >> (8 * i));
    }
}

#define HEAD_SIZE 12u

void append_call(arcp_buf *out, const arcp__recording_call *call)
{
    const size_t at = out->size;
    arcp_buf_append(out, arcp_span_make("\0\0\0\0\0\0\0\0\0\0\0\0", HEAD_SIZE));
    append_number(out, (uint64_t)call->kind);
    append_number(out, (uint64_t)call->now.wall_ns);
    append_number(out, (uint64_t)call->now.mono_ns);
    append_number(out, call->link);
    append_number(out, call->job);
    for (size_t i = 0; i < ARCP__CALL_NUMBERS; i++) {
        append_number(out, call->numbers[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        append_text(out, call->texts[i]);
    }
    if (call->more.rest.size != 0) {
        arcp_buf_append(out, call->more.rest);
    }
    assert_false(out->failed);
    char *head = out->data + at;
    const size_t size = out->size - at - HEAD_SIZE;
    write_u32(head, (uint32_t)size);
    write_u32(head + 4, arcp__crc32c(0, head, 4));
    write_u32(head + 8, arcp__crc32c(0, head + HEAD_SIZE, size));
}
