/* Traces with any content: each is read to its end, and the reader neither stops advancing nor
 * reads beyond it. The first byte of the input says whether its records get correct checksums, so
 * that what follows the checksums is reached. */
#include <string.h>

#include "base/crc32c.h"
#include "record/record.h"

#define HEAD_SIZE 12u

static void put_u32(char *out, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        out[i] = (char)(uint8_t)(value >> (8 * i));
    }
}

/* Makes the checksums of the records right, as far as their sizes lead. */
static void seal(arcp_buf *bytes, size_t offset)
{
    while (bytes->size - offset >= HEAD_SIZE) {
        char *head = bytes->data + offset;
        const size_t left = bytes->size - offset - HEAD_SIZE;
        const size_t size = (uint8_t)head[0] | (size_t)(uint8_t)head[1] << 8;
        put_u32(head, (uint32_t)size);
        put_u32(head + 4, arcp__crc32c(0, head, 4));
        if (size > left) {
            return;
        }
        put_u32(head + 8, arcp__crc32c(0, head + HEAD_SIZE, size));
        offset += HEAD_SIZE + size;
    }
}

static void read_all(arcp_span bytes)
{
    arcp__recording trace;
    arcp_span identity;
    arcp_span record;
    arcp_buf text = arcp_buf_init();
    if (arcp__recording_open(bytes, &trace, &identity, NULL) != ARCP_OK) {
        return;
    }
    for (size_t before = trace.at; arcp__recording_next(&trace, &record) == ARCP__RECORDING_RECORD;
         before = trace.at) {
        arcp__recording_call call;
        require(trace.at > before && trace.at <= bytes.size);
        require(record.data + record.size == bytes.data + trace.at);
        if (arcp__recording_read_call(record, &call)) {
            require(call.more.rest.size <= record.size);
            for (size_t i = 0; i < 4; i++) {
                require(call.texts[i].size < record.size);
            }
        }
        arcp_buf_clear(&text);
        arcp__recording_describe(record, &text);
        require(text.failed || text.size != 0);
    }
    arcp_buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arcp_buf bytes = arcp_buf_init();
    if (size == 0) {
        return 0;
    }
    const arcp_span rest = arcp_span_make((const char *)data + 1, size - 1);
    if (data[0] % 2 == 0) {
        arcp_buf_append(&bytes, rest);
    } else {
        arcp_buf_append_cstr(&bytes, "ARCPTRACE 1 x\n");
        const size_t begin = bytes.size;
        arcp_buf_append(&bytes, rest);
        seal(&bytes, begin);
    }
    if (!bytes.failed) {
        read_all(arcp_buf_span(&bytes));
    }
    arcp_buf_fini(&bytes);
    return 0;
}
