#include "record/record.h"

#include <string.h>

#include "base/crc32c.h"
#include "record/format.h"

static const char *const kind_names[] = {
#define ARCP_CALL(id, name, more) name,
#include "engine/call.def"
#undef ARCP_CALL
};

static uint32_t read_u32(const char *text)
{
    const uint8_t *bytes = (const uint8_t *)text;
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

arcp_status arcp__recording_open(arcp_span bytes, arcp__recording *out, arcp_span *identity,
                                 arcp_error *err)
{
    const arcp_span magic = ARCP_SPAN_LITERAL(ARCP__RECORDING_MAGIC);
    const arcp_span line = arcp_span_first(bytes, ARCP__RECORDING_LINE_MAX);
    const char *end = line.size == 0 ? NULL : memchr(line.data, '\n', line.size);
    if (!arcp_span_starts_with(bytes, ARCP_SPAN_LITERAL("ARCPTRACE "))) {
        return arcp_error_set(err, ARCP_E_CORRUPT, "this is no trace of arcpd");
    }
    if (!arcp_span_starts_with(bytes, magic) || end == NULL) {
        return arcp_error_set(err, ARCP_E_CORRUPT,
                              "the first line is damaged, or the trace has another version than 1");
    }
    *out = (arcp__recording){.bytes = bytes, .at = (size_t)(end - bytes.data) + 1};
    *identity = arcp_span_make(bytes.data + magic.size, out->at - 1 - magic.size);
    return ARCP_OK;
}

arcp__recording_step arcp__recording_next(arcp__recording *trace, arcp_span *record)
{
    const arcp_span rest = arcp_span_from(trace->bytes, trace->at);
    if (rest.size == 0) {
        return ARCP__RECORDING_END;
    }
    if (rest.size < ARCP__RECORDING_HEAD_SIZE) {
        return ARCP__RECORDING_CUT;
    }
    if (arcp__crc32c(0, rest.data, 4) != read_u32(rest.data + 4)) {
        return ARCP__RECORDING_DAMAGED;
    }
    const size_t size = read_u32(rest.data);
    if (size > rest.size - ARCP__RECORDING_HEAD_SIZE) {
        return ARCP__RECORDING_CUT;
    }
    *record = arcp_span_make(rest.data + ARCP__RECORDING_HEAD_SIZE, size);
    if (arcp__crc32c(0, record->data, size) != read_u32(rest.data + 8)) {
        return ARCP__RECORDING_DAMAGED;
    }
    trace->at += ARCP__RECORDING_HEAD_SIZE + size;
    return ARCP__RECORDING_RECORD;
}

uint64_t arcp__recording_number(arcp__recording_fields *fields)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && fields->rest.size != 0; shift += 7) {
        const uint8_t byte = (uint8_t)fields->rest.data[0];
        fields->rest = arcp_span_from(fields->rest, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    fields->is_wrong = true;
    return 0;
}

arcp_span arcp__recording_text(arcp__recording_fields *fields)
{
    const uint64_t size = arcp__recording_number(fields);
    if (size == 0) {
        return arcp_span_make(NULL, 0);
    }
    if (size - 1 > fields->rest.size) {
        fields->is_wrong = true;
        return arcp_span_make(NULL, 0);
    }
    const arcp_span text = arcp_span_first(fields->rest, (size_t)(size - 1));
    fields->rest = arcp_span_from(fields->rest, text.size);
    return text;
}

bool arcp__recording_read_call(arcp_span record, arcp__recording_call *out)
{
    *out = (arcp__recording_call){.more = {.rest = record}};
    arcp__recording_fields *more = &out->more;
    const uint64_t kind = arcp__recording_number(more);
    if (more->is_wrong || kind >= ARCP__CALL_COUNT) {
        return false;
    }
    out->kind = (arcp__call_kind)kind;
    out->now.wall_ns = (int64_t)arcp__recording_number(more);
    out->now.mono_ns = (int64_t)arcp__recording_number(more);
    out->link = arcp__recording_number(more);
    out->job = arcp__recording_number(more);
    for (size_t i = 0; i < ARCP__CALL_NUMBERS; i++) {
        out->numbers[i] = arcp__recording_number(more);
    }
    for (size_t i = 0; i < 4; i++) {
        out->texts[i] = arcp__recording_text(more);
    }
    return !more->is_wrong;
}

/* ---- for people ---- */

static const char *const effect_names[] = {
    [ARCP__EFFECT_SEND] = "SEND",
    [ARCP__EFFECT_CLOSE] = "CLOSE",
    [ARCP__EFFECT_RESUME_LINK] = "RESUME_LINK",
    [ARCP__EFFECT_ADMIT_LINK] = "ADMIT_LINK",
    [ARCP__EFFECT_AUTHENTICATE] = "AUTHENTICATE",
    [ARCP__EFFECT_START_AGENT] = "START_AGENT",
    [ARCP__EFFECT_AGENT_LINE] = "AGENT_LINE",
    [ARCP__EFFECT_CANCEL_AGENT] = "CANCEL_AGENT",
    [ARCP__EFFECT_KILL_AGENT] = "KILL_AGENT",
    [ARCP__EFFECT_PAUSE_AGENT] = "PAUSE_AGENT",
    [ARCP__EFFECT_RESUME_AGENT] = "RESUME_AGENT",
    [ARCP__EFFECT_FORGET_AGENT] = "FORGET_AGENT",
    [ARCP__EFFECT_READ] = "READ",
    [ARCP__EFFECT_PROVISION] = "PROVISION",
    [ARCP__EFFECT_LOG] = "LOG",
    [ARCP__EFFECT_SPAN] = "SPAN",
    [ARCP__EFFECT_REVOKE_AGENT] = "REVOKE_AGENT",
    [ARCP__EFFECT_ASK_OWNER] = "ASK_OWNER",
    [ARCP__EFFECT_HOLD_STORED] = "HOLD_STORED",
};

#define SHOWN_BYTES_MAX 400u

static void show_text(arcp_span text, arcp_buf *out)
{
    const arcp_span shown = arcp_span_first(text, SHOWN_BYTES_MAX);
    if (text.data == NULL) {
        return;
    }
    arcp_buf_append_cstr(out, " \"");
    for (size_t i = 0; i < shown.size; i++) {
        const unsigned char byte = (unsigned char)shown.data[i];
        if (byte >= 0x20 && byte < 0x7f) {
            arcp_buf_append_byte(out, (char)byte);
        } else {
            arcp_buf_append_format(out, "\\x%02x", byte);
        }
    }
    arcp_buf_append_cstr(out, shown.size < text.size ? "\"..." : "\"");
}

static void show_number(const char *name, uint64_t value, arcp_buf *out)
{
    if (value != 0) {
        arcp_buf_append_format(out, " %s%llu", name, (unsigned long long)value);
    }
}

/* As the recorder writes it. */
static void show_effect(arcp__recording_fields fields, arcp_buf *out)
{
    const bool is_there = arcp__recording_number(&fields) != 0;
    const uint64_t kind = arcp__recording_number(&fields);
    if (!is_there || kind >= sizeof effect_names / sizeof effect_names[0]) {
        arcp_buf_append_cstr(out, is_there ? " of no kind" : ": none");
        return;
    }
    arcp_buf_append_format(out, " %s", effect_names[kind]);
    show_number("link ", arcp__recording_number(&fields), out);
    show_number("job ", arcp__recording_number(&fields), out);
    show_number("bytes ", arcp__recording_number(&fields), out);
    (void)arcp__recording_number(&fields); /* their hash */
    show_text(arcp__recording_text(&fields), out);
    static const char *const names[] = {"id ", "from ", "count ", "bytes ", "code ", "level "};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        show_number(names[i], arcp__recording_number(&fields), out);
    }
    show_text(fields.rest, out);
}

void arcp__recording_describe(arcp_span record, arcp_buf *out)
{
    arcp__recording_call call;
    if (!arcp__recording_read_call(record, &call)) {
        arcp_buf_append_cstr(out, "a record that cannot be read");
        return;
    }
    arcp_buf_append_cstr(out, kind_names[call.kind]);
    show_number("link ", call.link, out);
    show_number("job ", call.job, out);
    for (size_t i = 0; i < ARCP__CALL_NUMBERS; i++) {
        show_number("", call.numbers[i], out);
    }
    for (size_t i = 0; i < 4; i++) {
        show_text(call.texts[i], out);
    }
    if (call.kind == ARCP__CALL_EFFECT) {
        show_effect(call.more, out);
    } else if (call.more.rest.size != 0) {
        show_text(call.more.rest, out);
    }
}
