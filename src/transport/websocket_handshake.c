#include "transport/websocket_handshake.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include "base/base64.h"
#include "base/random.h"

void arcp__websocket_accept(const char key[ARCP__WEBSOCKET_KEY_SIZE],
                            char out[ARCP__WEBSOCKET_ACCEPT_SIZE])
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455 §1.3 */
    unsigned char text[ARCP__WEBSOCKET_KEY_SIZE + sizeof guid - 1];
    unsigned char digest[SHA_DIGEST_LENGTH];
    memcpy(text, key, ARCP__WEBSOCKET_KEY_SIZE);
    memcpy(text + ARCP__WEBSOCKET_KEY_SIZE, guid, sizeof guid - 1);
    SHA1(text, sizeof text, digest);
    unsigned char encoded[ARCP__WEBSOCKET_ACCEPT_SIZE + 1]; /* OpenSSL ends it with a NUL */
    EVP_EncodeBlock(encoded, digest, sizeof digest);
    memcpy(out, encoded, ARCP__WEBSOCKET_ACCEPT_SIZE);
}

/* Behind a header without its line break. */
static void append_subprotocol(const char *subprotocol, arcp_buf *out)
{
    if (subprotocol != NULL) {
        arcp_buf_append_format(out, "\r\nSec-WebSocket-Protocol: %s", subprotocol);
    }
}

/* ---- server ---- */

static arcp__web_response refuse(int status, const char *why)
{
    return (arcp__web_response){
        .status = status,
        .why = why,
        .headers = status == 426 ? "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" : NULL,
        .ends = true,
    };
}

arcp__web_response arcp__upgrade_check(const arcp__web_head *head,
                                       char accept[ARCP__WEBSOCKET_ACCEPT_SIZE])
{
    if (head->major != 1 || head->minor != 1) {
        return refuse(400, "expected HTTP/1.1");
    }
    if (!arcp__web_head_has_token(head, "Upgrade", "websocket")) {
        return refuse(426, "expected a WebSocket upgrade");
    }
    if (!arcp__web_head_has_token(head, "Connection", "Upgrade")) {
        return refuse(400, "expected Connection: Upgrade");
    }
    arcp_span version = {NULL, 0};
    if (arcp__web_head_find(head, "Sec-WebSocket-Version", &version) != 1 ||
        !arcp_span_equal_cstr(version, "13")) {
        return refuse(426, "expected Sec-WebSocket-Version: 13");
    }
    arcp_span key = {NULL, 0};
    size_t size = 0;
    if (arcp__web_head_find(head, "Sec-WebSocket-Key", &key) != 1 ||
        arcp__base64_decoded_size(key, ARCP__BASE64_STANDARD, &size, NULL) != ARCP_OK ||
        size != 16) {
        return refuse(400, "expected one Sec-WebSocket-Key of 16 bytes in base 64");
    }
    arcp__websocket_accept(key.data, accept);
    return (arcp__web_response){0};
}

void arcp__upgrade_accept(const char accept[ARCP__WEBSOCKET_ACCEPT_SIZE], const char *subprotocol,
                          arcp_buf *out)
{
    arcp_buf_append_cstr(out, "HTTP/1.1 101 Switching Protocols\r\n"
                              "Upgrade: websocket\r\n"
                              "Connection: Upgrade\r\n"
                              "Sec-WebSocket-Accept: ");
    arcp_buf_append(out, arcp_span_make(accept, ARCP__WEBSOCKET_ACCEPT_SIZE));
    append_subprotocol(subprotocol, out);
    arcp_buf_append_cstr(out, "\r\n\r\n");
}

/* ---- client ---- */

void arcp__websocket_key_new(char out[ARCP__WEBSOCKET_KEY_SIZE])
{
    unsigned char bytes[16];
    arcp__random(bytes, sizeof bytes);
    unsigned char encoded[ARCP__WEBSOCKET_KEY_SIZE + 1];
    EVP_EncodeBlock(encoded, bytes, sizeof bytes);
    memcpy(out, encoded, ARCP__WEBSOCKET_KEY_SIZE);
}

void arcp__upgrade_request(const arcp__url *url, const char key[ARCP__WEBSOCKET_KEY_SIZE],
                           const char *const *headers, size_t header_count, const char *subprotocol,
                           arcp_buf *out)
{
    arcp__authority host = url->authority;
    char text[ARCP__HOST_MAX + 16];
    host.has_port = host.port != (url->scheme == ARCP__URL_WSS ? 443 : 80);
    arcp__authority_format(&host, text, sizeof text);
    arcp_buf_append_format(out,
                           "GET %s HTTP/1.1\r\nHost: %s\r\n"
                           "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %.*s",
                           url->path, text, ARCP__WEBSOCKET_KEY_SIZE, key);
    append_subprotocol(subprotocol, out);
    arcp_buf_append_cstr(out, "\r\n");
    for (size_t i = 0; i < header_count; i++) {
        arcp_buf_append_cstr(out, headers[i]);
        arcp_buf_append_cstr(out, "\r\n");
    }
    arcp_buf_append_cstr(out, "\r\n");
}

/* How many bytes at the beginning are a token (RFC 9110 section 5.6.2). */
static size_t token_size(const char *text)
{
    return strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                        "!#$%&'*+-.^_`|~");
}

bool arcp__upgrade_subprotocol_is_valid(const char *subprotocol)
{
    return subprotocol[0] != '\0' && subprotocol[token_size(subprotocol)] == '\0';
}

bool arcp__upgrade_header_is_valid(const char *header)
{
    static const char *const reserved[] = {"Host", "Upgrade", "Connection", "Content-Length",
                                           "Transfer-Encoding"};
    const size_t size = token_size(header);
    if (size == 0 || header[size] != ':') {
        return false;
    }
    const arcp_span name = arcp_span_make(header, size);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (arcp__web_equal(name, arcp_span_cstr(reserved[i]))) {
            return false;
        }
    }
    const arcp_span prefix = ARCP_SPAN_LITERAL("Sec-WebSocket-");
    if (arcp__web_equal(arcp_span_first(name, prefix.size), prefix)) {
        return false;
    }
    for (const char *byte = header + size; *byte != '\0'; byte++) {
        if (((unsigned char)*byte < ' ' && *byte != '\t') || *byte == 0x7f) {
            return false;
        }
    }
    return true;
}

arcp_status arcp__upgrade_check_response(const arcp__web_head *head,
                                         const char key[ARCP__WEBSOCKET_KEY_SIZE],
                                         const char *subprotocol, arcp_error *err)
{
    if (head->status != 101) {
        const arcp_span text = arcp_span_first(arcp__web_head_line(head), 80);
        return arcp_error_set(err, ARCP_E_IO, "the server answered \"HTTP/%u.%u %u %.*s\"",
                              head->major, head->minor, head->status, (int)text.size,
                              text.size == 0 ? "" : text.data);
    }
    char expected[ARCP__WEBSOCKET_ACCEPT_SIZE];
    arcp__websocket_accept(key, expected);
    arcp_span accept = {NULL, 0};
    if (!arcp__web_head_has_token(head, "Upgrade", "websocket") ||
        !arcp__web_head_has_token(head, "Connection", "Upgrade") ||
        arcp__web_head_find(head, "Sec-WebSocket-Accept", &accept) != 1 ||
        !arcp_span_equal(accept, arcp_span_make(expected, sizeof expected))) {
        return arcp_error_set(err, ARCP_E_IO, "the server's upgrade to WebSocket is not valid");
    }
    arcp_span value = {NULL, 0};
    const size_t chosen = arcp__web_head_find(head, "Sec-WebSocket-Protocol", &value);
    if (subprotocol != NULL && (chosen != 1 || !arcp_span_equal_cstr(value, subprotocol))) {
        return arcp_error_set(err, ARCP_E_IO, "the server does not speak %s", subprotocol);
    }
    if (arcp__web_head_find(head, "Sec-WebSocket-Extensions", &value) > 0 ||
        (subprotocol == NULL && chosen > 0)) {
        return arcp_error_set(err, ARCP_E_IO,
                              "the server chose an extension or subprotocol that was not offered");
    }
    return ARCP_OK;
}
