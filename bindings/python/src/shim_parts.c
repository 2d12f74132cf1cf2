/* Texts and errors of the shim. */
#include "shim_parts.h"

#include <string.h>

#include <arcp/secret.h>

void py_owned_free(py_owned *owned)
{
    arcp_wipe(owned->data, owned->size);
    arcp_free(owned->data);
    owned->data = NULL;
    owned->size = 0;
}

int py__take(arcp_buf *buf, py_owned *out)
{
    const size_t size = buf->size;
    const bool failed = arcp_buf_status(buf) != ARCP_OK;
    char *data = failed ? NULL : arcp_buf_take_cstr(buf);
    arcp_buf_fini(buf);
    if (data == NULL) {
        return PY_FAILED;
    }
    out->data = data;
    out->size = size;
    return PY_OK;
}

void py__text_copy(char *out, size_t room, const char *text)
{
    const size_t size = strnlen(text, room - 1);
    memcpy(out, text, size);
    out[size] = '\0';
}

int py__no_memory(py_error *out)
{
    out->status = arcp_status_name(ARCP_E_NO_MEMORY);
    return PY_FAILED;
}

int py__fail(py_error *out, const arcp_error *err)
{
    out->status = arcp_status_name(err->status);
    out->retryable = err->retryable;
    out->offset = err->offset == ARCP_NO_OFFSET ? -1 : (int64_t)err->offset;
    py__text_copy(out->code, sizeof out->code, err->code);
    py__text_copy(out->message, sizeof out->message, err->message);
    if (err->details != NULL && err->details->size == 0) {
        arcp_buf_fini(err->details);
    } else if (err->details != NULL && py__take(err->details, &out->details) != PY_OK) {
        return py__no_memory(out);
    }
    if (err->status == ARCP_E_DEADLINE) {
        return PY_DEADLINE;
    }
    return err->status == ARCP_E_CLOSED ? PY_CLOSED : PY_FAILED;
}
