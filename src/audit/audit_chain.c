#include "audit/audit_chain.h"

#include <assert.h>
#include <openssl/sha.h>

#include "base/digits.h"
#include "base/hex.h"

#define SEQ_PREFIX  "{\"seq\":"
#define HASH_PREFIX ",\"hash\":\""

/* OpenSSL 3 looks the algorithm up at every call of its one-shot interface, which costs more than
 * hashing a line. The deprecated interface for SHA-256 does not. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void hash_parts(const arcp_span *parts, size_t count, char out[ARCP__AUDIT_HASH_SIZE])
{
    SHA256_CTX context;
    uint8_t hash[SHA256_DIGEST_LENGTH];
    (void)SHA256_Init(&context);
    for (size_t i = 0; i < count; i++) {
        (void)SHA256_Update(&context, parts[i].data, parts[i].size);
    }
    (void)SHA256_Final(hash, &context);
    arcp__hex_format(hash, sizeof hash, out);
}

#pragma GCC diagnostic pop

void arcp__audit_sha256(arcp_span bytes, char out[ARCP__AUDIT_HASH_SIZE])
{
    hash_parts(&bytes, 1, out);
}

void arcp__audit_head_init(arcp__audit_head *head)
{
    head->seq = 0;
    memset(head->hash, '0', sizeof head->hash);
}

void arcp__audit_line_hash(const char previous[ARCP__AUDIT_HASH_SIZE], arcp_span body,
                           char out[ARCP__AUDIT_HASH_SIZE])
{
    const arcp_span parts[] = {arcp_span_make(previous, ARCP__AUDIT_HASH_SIZE), body,
                               ARCP_SPAN_LITERAL("}")};
    hash_parts(parts, sizeof parts / sizeof parts[0], out);
}

void arcp__audit_chain_append(arcp__audit_head *head, arcp_span record, arcp_buf *out)
{
    assert(record.size > 2 && record.data[0] == '{' && record.data[record.size - 1] == '}');
    const size_t start = out->size;
    arcp_buf_append_cstr(out, SEQ_PREFIX);
    arcp_buf_append_u64(out, head->seq + 1);
    arcp_buf_append_byte(out, ',');
    arcp_buf_append(out, arcp_span_make(record.data + 1, record.size - 2));
    if (out->failed) {
        return;
    }
    char hash[ARCP__AUDIT_HASH_SIZE];
    arcp__audit_line_hash(head->hash, arcp_span_from(arcp_buf_span(out), start), hash);
    arcp_buf_append_cstr(out, HASH_PREFIX);
    arcp_buf_append(out, arcp_span_make(hash, sizeof hash));
    arcp_buf_append_cstr(out, "\"}\n");
    if (!out->failed) {
        head->seq++;
        memcpy(head->hash, hash, sizeof hash);
    }
}

/* Reads {"seq":DIGITS, in canonical form (no leading zeros) and not 0. */
static bool read_seq(arcp_span line, uint64_t *seq)
{
    if (!arcp_span_starts_with(line, ARCP_SPAN_LITERAL(SEQ_PREFIX))) {
        return false;
    }
    arcp_span rest = arcp_span_from(line, sizeof SEQ_PREFIX - 1);
    return rest.size != 0 && rest.data[0] != '0' && arcp__digits_take(&rest, seq) &&
           rest.size != 0 && rest.data[0] == ',';
}

bool arcp__audit_line_read(arcp_span line, arcp__audit_line_view *out)
{
    if (line.size < ARCP__AUDIT_TAIL_SIZE || !read_seq(line, &out->seq)) {
        return false;
    }
    const arcp_span tail = arcp_span_from(line, line.size - ARCP__AUDIT_TAIL_SIZE);
    out->body = arcp_span_first(line, line.size - ARCP__AUDIT_TAIL_SIZE);
    out->hash = arcp_span_make(tail.data + sizeof HASH_PREFIX - 1, ARCP__AUDIT_HASH_SIZE);
    for (size_t i = 0; i < out->hash.size; i++) {
        const char digit = out->hash.data[i];
        if (!((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f'))) {
            return false;
        }
    }
    return arcp_span_starts_with(tail, ARCP_SPAN_LITERAL(HASH_PREFIX)) &&
           arcp_span_ends_with(tail, ARCP_SPAN_LITERAL("\"}"));
}
