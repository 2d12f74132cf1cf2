#include "transport/websocket_frames.h"

static const unsigned char mask[4] = {0x37, 0xfa, 0x21, 0x3d};

void put_header(arcp_buf *out, unsigned first, bool masked, uint64_t size)
{
    const unsigned bit = masked ? 0x80 : 0;
    arcp_buf_append_byte(out, (char)first);
    const unsigned bytes = size < 126 ? 0 : size < 65536 ? 2 : 8;
    arcp_buf_append_byte(out, (char)(bit | (bytes == 0   ? (unsigned)size
                                            : bytes == 2 ? 126U
                                                         : 127U)));
    for (unsigned i = bytes; i > 0; i--) {
        arcp_buf_append_byte(out, (char)(size >> (8 * (i - 1))));
    }
    if (masked) {
        arcp_buf_append(out, arcp_span_make((const char *)mask, 4));
    }
}

void put_frame(arcp_buf *out, unsigned first, bool masked, arcp_span payload)
{
    put_header(out, first, masked, payload.size);
    for (size_t i = 0; i < payload.size; i++) {
        const unsigned char byte = (unsigned char)payload.data[i];
        arcp_buf_append_byte(out, (char)(masked ? byte ^ mask[i % 4] : byte));
    }
}

void put_text(arcp_buf *out, unsigned first, bool masked, const char *payload)
{
    put_frame(out, first, masked, arcp_span_cstr(payload));
}

void put_close(arcp_buf *out, bool masked, unsigned code, const char *reason)
{
    char payload[256];
    payload[0] = (char)(code >> 8);
    payload[1] = (char)(code & 0xff);
    const size_t size = strlen(reason);
    assert_true(size <= sizeof payload - 2);
    memcpy(payload + 2, reason, size);
    put_frame(out, FIN | CLOSE, masked, arcp_span_make(payload, size + 2));
}
