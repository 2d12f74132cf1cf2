#include "engine/parts.h"

#define SPARE_BYTES_MAX 4096u /* of one that is kept: long texts are rare */

arcp_buf arcp__spare_take(arcp__engine *engine)
{
    return engine->spare_count == 0 ? (arcp_buf)ARCP_BUF_INIT
                                    : engine->spare[--engine->spare_count];
}

void arcp__spare_give(arcp__engine *engine, arcp_buf *buf)
{
    if (buf->data == NULL || buf->secret || buf->capacity > SPARE_BYTES_MAX ||
        engine->spare_count == ARCP__SPARE_MAX) {
        arcp_buf_fini(buf);
        return;
    }
    arcp_buf_clear(buf);
    engine->spare[engine->spare_count++] = *buf;
    *buf = (arcp_buf)ARCP_BUF_INIT;
}

void arcp__spare_free_all(arcp__engine *engine)
{
    while (engine->spare_count != 0) {
        arcp_buf_fini(&engine->spare[--engine->spare_count]);
    }
}
