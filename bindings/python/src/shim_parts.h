/* What the two files of the shim share. */
#ifndef ARCP_PYTHON_SHIM_PARTS_H
#define ARCP_PYTHON_SHIM_PARTS_H

#include <arcp/buf.h>
#include <arcp/error.h>

#include "shim.h"

static inline arcp_span py__span(py_text text)
{
    return arcp_span_make(text.data, text.size);
}

static inline py_text py__text(arcp_span bytes)
{
    return (py_text){bytes.data, bytes.size};
}

/* Hands the bytes of the buffer over; PY_FAILED when there is no memory. The buffer is released. */
int py__take(arcp_buf *buf, py_owned *out);

/* Copies a text of at most room - 1 bytes, and a NUL. */
void py__text_copy(char *out, size_t room, const char *text);

/* Fills `out` from an error, whose buffer for details is released; what the shim's function
 * returns. */
int py__fail(py_error *out, const arcp_error *err);
int py__no_memory(py_error *out);

#endif
