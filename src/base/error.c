#include <arcp/error.h>

#include <stdarg.h>
#include <stdio.h>

#include <arcp/buf.h>

#include "base/utf8.h"

typedef struct status_row {
    const char *name;
    const char *wire;
    const char *text;
    bool retryable;
} status_row;

static const status_row rows[ARCP_STATUS_COUNT] = {
    [ARCP_OK] = {"OK", NULL, "no error", false},
#define ARCP_STATUS(name, number, wire, text, default_retryable)                                   \
    [ARCP_E_##name] = {#name, wire, text, default_retryable},
#include <arcp/status.def>
#undef ARCP_STATUS
};

static const status_row *row_of(arcp_status status)
{
    const size_t index = (size_t)status;
    return index < ARCP_STATUS_COUNT ? &rows[index] : &rows[ARCP_E_INTERNAL_ERROR];
}

/* Makes the message one line of printable UTF-8: control bytes, line feeds among them, would let a
 * peer forge log lines. */
static void clean_message(char *message, size_t size)
{
    size_t keep = arcp__utf8_valid_prefix(arcp_span_make(message, size));
    while (keep < size) {
        message[keep] = '?';
        keep += 1;
        keep += arcp__utf8_valid_prefix(arcp_span_make(message + keep, size - keep));
    }
    for (size_t i = 0; i < size; i++) {
        uint32_t ignored = 0;
        const size_t control = arcp__control_size(arcp_span_make(message + i, size - i), &ignored);
        memset(message + i, '?', control);
        i += control > 1 ? control - 1 : 0;
    }
}

ARCP_PRINTF(4, 0)
static arcp_status set_v(arcp_error *err, arcp_status status, size_t offset, const char *format,
                         va_list arguments)
{
    if (err == NULL) {
        return status;
    }
    char text[ARCP_ERROR_MESSAGE_MAX + 8];
    const int written = vsnprintf(text, sizeof text, format, arguments);
    size_t size = written < 0 ? 0 : (size_t)written;
    if (size > sizeof text - 1) {
        size = sizeof text - 1;
    }
    if (size > ARCP_ERROR_MESSAGE_MAX - 1) {
        size = arcp__utf8_cut(arcp_span_make(text, size), ARCP_ERROR_MESSAGE_MAX - 1);
    }
    clean_message(text, size);
    memcpy(err->message, text, size);
    err->message[size] = '\0';
    err->status = status;
    err->retryable = arcp_status_is_retryable_by_default(status);
    err->offset = offset;
    err->code[0] = '\0';
    if (err->details != NULL) {
        arcp_buf_clear(err->details);
    }
    return status;
}

arcp_status arcp_error_set(arcp_error *err, arcp_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)set_v(err, status, ARCP_NO_OFFSET, format, arguments);
    va_end(arguments);
    return status;
}

arcp_status arcp_error_set_at(arcp_error *err, arcp_status status, size_t offset,
                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)set_v(err, status, offset, format, arguments);
    va_end(arguments);
    return status;
}

void arcp_error_set_details(arcp_error *err, arcp_span json)
{
    if (err != NULL && err->details != NULL && json.size != 0 &&
        arcp_buf_reserve(err->details, json.size + 1)) {
        arcp_buf_append(err->details, json);
        err->details->data[err->details->size] = '\0';
    }
}

const char *arcp_error_details(const arcp_error *err)
{
    return err->details == NULL || err->details->size == 0 ? "" : err->details->data;
}

arcp_status arcp_error_copy(arcp_error *err, const arcp_error *from)
{
    if (err != NULL && err != from) {
        arcp_buf *details = err->details;
        *err = *from;
        err->details = details;
        if (details != NULL && details != from->details) {
            arcp_buf_clear(details);
            if (from->details != NULL) {
                arcp_error_set_details(err, arcp_buf_span(from->details));
            }
        }
    }
    return from->status;
}

const char *arcp_status_name(arcp_status status)
{
    return row_of(status)->name;
}

const char *arcp_status_text(arcp_status status)
{
    return row_of(status)->text;
}

const char *arcp_status_wire_code(arcp_status status)
{
    if (status == ARCP_OK) {
        return NULL;
    }
    const char *wire = row_of(status)->wire;
    return wire != NULL ? wire : rows[ARCP_E_INTERNAL_ERROR].wire;
}

static size_t wire_row(arcp_span code)
{
    for (size_t i = 1; i < ARCP_STATUS_COUNT; i++) {
        if (rows[i].wire != NULL && arcp_span_equal_cstr(code, rows[i].wire)) {
            return i;
        }
    }
    return 0;
}

arcp_status arcp_status_from_wire(arcp_span code)
{
    const size_t index = wire_row(code);
    return index == 0 ? ARCP_E_INTERNAL_ERROR : (arcp_status)index;
}

bool arcp_status_is_wire_code(arcp_span code)
{
    return wire_row(code) != 0;
}

/* [arcp:EG-2] */
bool arcp_status_is_retryable_by_default(arcp_status status)
{
    return row_of(status)->retryable;
}

/* [arcp:12-3] [arcp:12-4] [arcp:EG-3] */
bool arcp_status_retryable(arcp_status status, bool wanted)
{
    if (status == ARCP_E_LEASE_EXPIRED || status == ARCP_E_BUDGET_EXHAUSTED) {
        return false;
    }
    if (status == ARCP_E_INTERNAL_ERROR || row_of(status)->wire == NULL) {
        return true; /* local conditions are sent as INTERNAL_ERROR */
    }
    return wanted;
}
