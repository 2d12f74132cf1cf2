#include "context/context.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "json/json_put.h"

bool arcp__context_init(arcp__context *context, const arcp_settings *settings, arcp_time now,
                        arcp__random_fn random, void *random_user)
{
    context->settings = *settings;
    context->now = now;
    context->ids.random = random;
    context->ids.user = random_user;
    context->scratch.secret = true;
    /* Fetched once: looking an algorithm up costs more than hashing a key with it. */
    context->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    context->digest = EVP_MD_CTX_new();
    return context->sha256 != NULL && context->digest != NULL &&
           EVP_DigestInit_ex2(context->digest, context->sha256, NULL) == 1;
}

void arcp__context_fini(arcp__context *context)
{
    arcp__timer_heap_fini(&context->timers);
    EVP_MD_CTX_free(context->digest);
    EVP_MD_free(context->sha256);
    arcp__json_fini(&context->json);
    arcp_buf_fini(&context->scratch);
    while (context->pooled_count != 0) {
        arcp_buf_fini(&context->pooled[--context->pooled_count]);
    }
}

void arcp__context_set_time(arcp__context *context, arcp_time now)
{
    context->now.wall_ns = now.wall_ns;
    if (now.mono_ns > context->now.mono_ns) {
        context->now.mono_ns = now.mono_ns;
    }
}

void arcp__context_format_now(arcp__context *context, char out[ARCP__TIMESTAMP_SIZE])
{
    const int64_t ms = context->now.wall_ns / ARCP_NS_PER_MS;
    if (ms != context->formatted_ms || context->formatted_now[0] == '\0') {
        arcp__timestamp_format(context->now.wall_ns, context->formatted_now);
        context->formatted_ms = ms;
    }
    memcpy(out, context->formatted_now, ARCP__TIMESTAMP_SIZE);
}

static int64_t after(const arcp__context *context, uint64_t amount, int64_t unit_ns)
{
    int64_t deadline = 0;
    if (amount > (uint64_t)INT64_MAX ||
        __builtin_mul_overflow((int64_t)amount, unit_ns, &deadline) ||
        __builtin_add_overflow(deadline, context->now.mono_ns, &deadline)) {
        return ARCP_TIME_NEVER;
    }
    return deadline;
}

int64_t arcp__context_after_sec(const arcp__context *context, uint64_t seconds)
{
    return after(context, seconds, ARCP_NS_PER_SEC);
}

int64_t arcp__context_after_ms(const arcp__context *context, uint64_t milliseconds)
{
    return after(context, milliseconds, ARCP_NS_PER_MS);
}

void arcp__context_arm(arcp__context *context, arcp__timer *timer, int kind, void *owner,
                       int64_t at_ns)
{
    timer->kind = kind;
    timer->owner = owner;
    if (at_ns == ARCP_TIME_NEVER) {
        arcp__timer_disarm(&context->timers, timer);
    } else if (arcp__timer_arm(&context->timers, timer, at_ns) != ARCP_OK) {
        arcp__context_no_memory(context);
    }
}

void arcp__context_disarm(arcp__context *context, arcp__timer *timer)
{
    arcp__timer_disarm(&context->timers, timer);
}

void arcp__context_no_memory(arcp__context *context)
{
    context->failed = true;
}

void arcp__context_check_text(arcp__context *context, const arcp_buf *text)
{
    context->failed = context->failed || text->failed;
}

void arcp__context_make_id(arcp__context *context, const char *prefix, char out[ARCP__ID_SIZE])
{
    const size_t size = strlen(prefix);
    memcpy(out, prefix, size);
    arcp__ulid_next(&context->ids, context->now.wall_ns / ARCP_NS_PER_MS, out + size);
    out[size + ARCP__ULID_SIZE] = '\0';
}

void arcp__context_random(arcp__context *context, void *out, size_t size)
{
    context->ids.random(context->ids.user, out, size);
}

void arcp__context_sha256(arcp__context *context, arcp_span bytes, uint8_t out[32])
{
    if (EVP_DigestInit_ex2(context->digest, context->sha256, NULL) != 1 ||
        EVP_DigestUpdate(context->digest, bytes.data, bytes.size) != 1 ||
        EVP_DigestFinal_ex(context->digest, out, NULL) != 1) {
        abort(); /* every comparison by hash would report equality */
    }
}

bool arcp__context_prepare_scratch(arcp__context *context, arcp_span text)
{
    arcp_buf_clear(&context->scratch);
    /* Only strings with escapes are copied, and each is read at most four times. */
    if (text.size == 0 || memchr(text.data, '\\', text.size) == NULL) {
        return true;
    }
    return arcp_buf_reserve(&context->scratch, text.size * 4);
}

arcp_json_limits arcp__context_json_limits(const arcp__context *context, uint64_t bytes_max)
{
    return (arcp_json_limits){(uint32_t)context->settings.limits_json_depth,
                              (uint32_t)context->settings.limits_json_members, (size_t)bytes_max};
}

/* A text, its index and the copies made of it take a multiple of its size. */
#define COPIES_OF_A_TEXT 8u
#define SMALL_TEXT_BYTES 16384u

bool arcp__context_can_read(arcp__context *context, arcp_span text)
{
    if (!arcp__context_prepare_scratch(context, text)) {
        return false;
    }
    if (text.size <= SMALL_TEXT_BYTES) {
        return true;
    }
    volatile char *block = arcp__realloc(NULL, text.size * COPIES_OF_A_TEXT);
    if (block == NULL) {
        return false;
    }
    *block = 0; /* so that the compiler cannot remove the allocation */
    arcp__free((void *)block);
    return true;
}

arcp_status arcp__context_read_frame(arcp__context *context, arcp_span frame,
                                     const arcp_json_limits *limits, arcp__envelope *envelope,
                                     arcp_error *err)
{
    if (!arcp__context_can_read(context, frame)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const arcp_status status = arcp_json_scan(&context->json, frame, limits, err);
    return status == ARCP_OK
               ? arcp__envelope_parse(&context->json, &context->scratch, envelope, err)
               : status;
}

void arcp__write_timestamp(arcp_json_writer *writer, const char *name, int64_t wall_ns)
{
    char text[ARCP__TIMESTAMP_SIZE];
    arcp__timestamp_format(wall_ns, text);
    arcp__put_string(writer, name, arcp_span_make(text, sizeof text));
}

void arcp__write_formatted(arcp_json_writer *writer, const arcp_buf *text)
{
    arcp_json_write_raw(writer, arcp_buf_span(text));
    writer->out->failed = writer->out->failed || text->failed;
}

/* ---- pooled buffers ---- */

#define POOLED_BYTES_MAX 4096u /* a larger buffer is freed: long texts are rare */

arcp_buf arcp__context_take_buf(arcp__context *context)
{
    return context->pooled_count == 0 ? arcp_buf_init() : context->pooled[--context->pooled_count];
}

void arcp__context_give_buf(arcp__context *context, arcp_buf *buf)
{
    arcp__context_check_text(context, buf);
    if (buf->data == NULL || buf->secret || buf->capacity > POOLED_BYTES_MAX ||
        context->pooled_count == ARCP__POOLED_BUFS_MAX) {
        arcp_buf_fini(buf);
        return;
    }
    arcp_buf_clear(buf);
    context->pooled[context->pooled_count++] = *buf;
    *buf = arcp_buf_init();
}

/* ---- frame sizes ---- */

size_t arcp__frame_payload_max(const arcp__context *context)
{
    return (size_t)context->settings.limits_frame_bytes - ARCP__FRAME_HEAD_MAX;
}

bool arcp__frame_fits_job(const arcp__context *context, size_t accepted_size)
{
    return accepted_size + ARCP__CREDENTIALS_MAX <= arcp__frame_payload_max(context);
}

size_t arcp__frame_text_max(const arcp__context *context)
{
    return (arcp__frame_payload_max(context) - ARCP__REPEATED_MAX) / 6;
}

/* ---- errors of stored rows and streams ---- */

arcp_status arcp__row_damaged(const char *what, arcp_span key, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT, "the stored %s \"%.*s\" is damaged", what,
                          (int)arcp_span_first(key, 64).size, key.data);
}

arcp_status arcp__row_out_of_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

arcp_status arcp__stream_truncated(const char *prefix, const char *id, const char *unit,
                                   uint64_t end, uint64_t expected, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "the stored stream \"%s%s\" is damaged: it ends after %s %llu of %llu",
                          prefix, id, unit, (unsigned long long)end, (unsigned long long)expected);
}
