#include <assert.h>

#include <openssl/err.h>

#include "base/alloc.h"
#include "stream/parts.h"

#define TLS_RECORD_BYTES ((size_t)16 * 1024)
/* Encrypted at a time, so that `written` progresses. */
#define TLS_PIECE_BYTES ((size_t)64 * 1024)

typedef struct tls_stream {
    arcp__stream base;
    arcp__loop_share *share;
    arcp__stream *lower;
    SSL *ssl;
    arcp__task task;
    arcp_buf plain;        /* what write took */
    size_t plain_done;     /* of it, encrypted */
    size_t plain_in_lower; /* of that, not yet taken by the system */
    size_t lower_busy;     /* bytes that the lower stream has not written yet */
    bool wanted;           /* between start and stop */
    bool secured;          /* the handshake is done */
    bool ended;            /* was told */
    bool broken;           /* was told */
    bool unwritable;       /* a write has failed: what was lost is missing before all others */
    bool finish_due;       /* when the lower stream has written everything */
    bool closed;
} tls_stream;

static void tell_ended(tls_stream *stream, const arcp_error *why)
{
    if (stream->broken || (stream->ended && why == NULL)) {
        return;
    }
    stream->ended = true;
    stream->broken = why != NULL;
    stream->lower->ops->stop(stream->lower); /* nobody takes what still comes */
    stream->base.events.ended(stream->base.events.user, why);
}

/* Gives the lower stream what OpenSSL has written. */
static bool push(tls_stream *stream)
{
    char *data = NULL;
    long size = BIO_get_mem_data(SSL_get_wbio(stream->ssl), &data);
    if (stream->lower_busy > 0 || size <= 0) {
        return true;
    }
    arcp_buf bytes = ARCP_BUF_INIT;
    arcp__loop_share_take_buffer(stream->share, &bytes);
    arcp_buf_append(&bytes, arcp_span_make(data, (size_t)size));
    if (bytes.failed) {
        arcp_buf_fini(&bytes);
        return false;
    }
    (void)BIO_reset(SSL_get_wbio(stream->ssl));
    size_t written = 0;
    bool writable = stream->lower->ops->write(stream->lower, &bytes, &written);
    stream->lower_busy = (size_t)size - written;
    return writable;
}

/* Encrypts what waits, as far as the lower stream takes it; adds what has left. */
static bool encrypt(tls_stream *stream, size_t *left)
{
    while (stream->secured && stream->lower_busy == 0 && stream->plain_done < stream->plain.size) {
        size_t size = stream->plain.size - stream->plain_done;
        size_t piece = size < TLS_PIECE_BYTES ? size : TLS_PIECE_BYTES;
        size_t done = 0;
        ERR_clear_error();
        if (SSL_write_ex(stream->ssl, stream->plain.data + stream->plain_done, piece, &done) != 1) {
            return false;
        }
        stream->plain_done += done;
        if (!push(stream)) {
            return false;
        }
        if (stream->lower_busy > 0) {
            stream->plain_in_lower = done;
        } else {
            *left += done;
        }
    }
    /* What is encrypted is not needed any more, wherever it waits. */
    if (stream->plain.size > 0 && stream->plain_done == stream->plain.size) {
        stream->plain_done = 0;
        arcp__loop_share_give_buffer(stream->share, &stream->plain);
    }
    return true;
}

/* ---- failing ---- */

static void fail(tls_stream *stream, const char *fallback)
{
    arcp_error err = {0};
    long verified = SSL_get_verify_result(stream->ssl);
    if (!stream->secured && verified != X509_V_OK) {
        arcp_error_set(&err, ARCP_E_IO, "TLS: the certificate is refused: %s",
                       X509_verify_cert_error_string(verified));
        ERR_clear_error();
    } else {
        arcp_error_set(&err, ARCP_E_IO, "TLS: %s", arcp__tls_error_text(fallback));
    }
    tell_ended(stream, &err);
}

/* Whether an OpenSSL call that did not succeed only waits for bytes. */
static bool only_waits(const tls_stream *stream, int result)
{
    int reason = SSL_get_error(stream->ssl, result);
    return reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE;
}

/* ---- going on ---- */

static void shake_hands(tls_stream *stream)
{
    ERR_clear_error();
    int result = SSL_do_handshake(stream->ssl);
    if (result == 1) {
        stream->secured = true;
    } else if (!only_waits(stream, result)) {
        (void)push(stream); /* the alert that tells the peer why */
        fail(stream, "the handshake failed");
        return;
    }
    if (!push(stream)) {
        fail(stream, "cannot write");
    } else if (stream->secured && !stream->wanted) {
        stream->lower->ops->stop(stream->lower);
    }
}

static void decrypt(tls_stream *stream)
{
    char record[TLS_RECORD_BYTES];
    while (stream->wanted && !stream->closed && !stream->ended) {
        size_t size = 0;
        ERR_clear_error();
        int result = SSL_read_ex(stream->ssl, record, sizeof(record), &size);
        if (result == 1) {
            stream->base.events.bytes(stream->base.events.user, arcp_span_make(record, size));
        } else if (SSL_get_error(stream->ssl, result) == SSL_ERROR_ZERO_RETURN) {
            tell_ended(stream, NULL); /* close_notify */
        } else if (only_waits(stream, result)) {
            return;
        } else {
            (void)push(stream); /* the alert */
            fail(stream, "the connection is broken");
        }
    }
}

static void tell_written(tls_stream *stream, size_t left)
{
    if (left > 0 && !stream->closed) {
        stream->base.events.written(stream->base.events.user, left);
    }
}

/* Everything that can go on now, from the loop. */
static void advance(tls_stream *stream)
{
    if (!stream->secured && !stream->ended) {
        shake_hands(stream);
    }
    if (stream->closed || stream->ended || !stream->secured) {
        return;
    }
    decrypt(stream);
    if (stream->closed) {
        return;
    }
    size_t left = 0;
    if (!push(stream) || !encrypt(stream, &left)) {
        fail(stream, "cannot write");
        return;
    }
    tell_written(stream, left);
}

static void on_lower_bytes(void *user, arcp_span bytes)
{
    tls_stream *stream = user;
    size_t taken = 0;
    if (BIO_write_ex(SSL_get_rbio(stream->ssl), bytes.data, bytes.size, &taken) != 1) {
        fail(stream, "out of memory");
        return;
    }
    assert(taken == bytes.size);
    advance(stream);
    /* OpenSSL answers some records by itself: a peer that sends those and does not read would make
     * it keep any number of answers. */
    if (!stream->closed && stream->lower_busy > 0 &&
        BIO_ctrl_pending(SSL_get_wbio(stream->ssl)) > TLS_PIECE_BYTES) {
        fail(stream, "the peer does not read");
    }
}

static void on_lower_ended(void *user, const arcp_error *why)
{
    tls_stream *stream = user;
    if (why == NULL && !stream->secured) {
        fail(stream, "the peer ended the connection during the handshake");
    } else {
        /* Without close_notify too: the layer above has an end of its own. */
        tell_ended(stream, why);
    }
}

static void on_lower_written(void *user, size_t size)
{
    tls_stream *stream = user;
    assert(size <= stream->lower_busy);
    stream->lower_busy -= size;
    if (stream->lower_busy > 0) {
        return;
    }
    size_t left = stream->plain_in_lower;
    stream->plain_in_lower = 0;
    if (!push(stream) || !encrypt(stream, &left)) {
        fail(stream, "cannot write");
        return;
    }
    if (stream->finish_due && stream->lower_busy == 0) {
        stream->finish_due = false;
        stream->lower->ops->finish(stream->lower);
    }
    tell_written(stream, left);
}

/* ---- the stream ---- */

static void tls_free(tls_stream *stream)
{
    SSL_free(stream->ssl);
    arcp_buf_fini(&stream->plain);
    arcp__loop_share_unref(stream->share);
    arcp__free(stream);
}

static void run_task(arcp__task *task)
{
    tls_stream *stream = (tls_stream *)((char *)task - offsetof(tls_stream, task));
    if (stream->closed) {
        tls_free(stream);
        return;
    }
    advance(stream);
    /* Not before what has been read is taken: records may be much smaller than what is read at a
     * time, and an owner that stops at each would let them pile up. */
    if (!stream->closed && !stream->ended && (stream->wanted || !stream->secured)) {
        stream->lower->ops->start(stream->lower);
    }
}

static void tls_start(arcp__stream *base)
{
    tls_stream *stream = (tls_stream *)base;
    stream->wanted = true;
    arcp__task_post(stream->share, &stream->task);
}

static void tls_stop(arcp__stream *base)
{
    tls_stream *stream = (tls_stream *)base;
    stream->wanted = false;
    if (stream->secured) {
        stream->lower->ops->stop(stream->lower);
    }
}

static bool tls_write(arcp__stream *base, arcp_buf *bytes, size_t *written)
{
    tls_stream *stream = (tls_stream *)base;
    *written = 0;
    if (stream->unwritable) {
        arcp__loop_share_give_buffer(stream->share, bytes);
        return false;
    }
    assert(stream->plain.size == 0 && bytes->size > 0);
    stream->plain = *bytes;
    stream->plain_done = 0;
    *bytes = (arcp_buf)ARCP_BUF_INIT;
    stream->unwritable = !encrypt(stream, written);
    return !stream->unwritable;
}

static void tls_finish(arcp__stream *base)
{
    tls_stream *stream = (tls_stream *)base;
    if (stream->secured) {
        ERR_clear_error();
        SSL_shutdown(stream->ssl); /* writes close_notify */
        ERR_clear_error();
        if (!push(stream)) {
            return; /* the peer is gone; reading tells */
        }
    }
    if (stream->lower_busy > 0) {
        stream->finish_due = true;
    } else {
        stream->lower->ops->finish(stream->lower);
    }
}

static void tls_close(arcp__stream *base)
{
    tls_stream *stream = (tls_stream *)base;
    assert(!stream->closed);
    stream->closed = true;
    arcp__stream_close(&stream->lower);
    arcp__task_post(stream->share, &stream->task); /* frees it: we may be in its events */
}

static const arcp__stream_ops tls_stream_ops = {
    .start = tls_start,
    .stop = tls_stop,
    .write = tls_write,
    .finish = tls_finish,
    .close = tls_close,
};

arcp_status arcp__tls_stream_new(arcp__loop_share *share, const arcp__tls_context *context,
                                 const char *host, arcp__stream *lower, arcp__stream **out,
                                 arcp_error *err)
{
    tls_stream *stream = arcp__alloc(sizeof(*stream));
    SSL *ssl = stream == NULL ? NULL : arcp__tls_context_start(context, host);
    if (ssl == NULL) {
        arcp__free(stream);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for TLS");
    }
    stream->base.ops = &tls_stream_ops;
    stream->share = arcp__loop_share_ref(share);
    stream->lower = lower;
    stream->ssl = ssl;
    stream->task.run = run_task;
    lower->events = (arcp__stream_events){on_lower_bytes, on_lower_ended, on_lower_written, stream};
    *out = &stream->base;
    return ARCP_OK;
}
