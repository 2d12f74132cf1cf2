/* Streams of TLS, with OpenSSL 3 and memory BIOs. */
#include <assert.h>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/alloc.h"
#include "stream/tls_parts.h"

#define TLS_RECORD_BYTES ((size_t)16 * 1024)
/* Bytes encrypted at a time, so that `written` reports progress. */
#define TLS_PIECE_BYTES ((size_t)64 * 1024)

typedef struct tls_stream {
    arcp__stream base;
    arcp__loop_share *share;
    arcp__stream *lower;
    SSL *ssl;
    arcp__tls_sessions *sessions; /* where those of the host are kept; NULL: nowhere */
    uint64_t checked_ms; /* when the certificate was checked of the session it went on with */
    arcp__task task;
    arcp_buf plain;        /* the buffer that write has taken over */
    size_t plain_done;     /* bytes of `plain` that are encrypted */
    size_t plain_in_lower; /* plain bytes whose records are not written yet */
    size_t lower_busy;     /* encrypted bytes that the lower stream has not written yet */
    bool is_reading;       /* between start and stop */
    bool secured;          /* the handshake is complete */
    bool ended;            /* `ended` was called */
    bool broken;           /* `ended` was called with an error */
    bool unwritable;       /* a write has failed; later bytes must not follow the lost ones */
    bool finish_due;       /* finish the lower stream when it has written everything */
    bool closed;
} tls_stream;

static void report_end(tls_stream *stream, const arcp_error *why)
{
    if (stream->broken || (stream->ended && why == NULL)) {
        return;
    }
    stream->ended = true;
    stream->broken = why != NULL;
    stream->lower->ops->stop(stream->lower); /* further input is of no use */
    stream->base.events.ended(stream->base.events.user, why);
}

/* Passes what OpenSSL has written to the lower stream. */
static bool push(tls_stream *stream)
{
    char *data = NULL;
    const long size = BIO_get_mem_data(SSL_get_wbio(stream->ssl), &data);
    if (stream->lower_busy > 0 || size <= 0) {
        return true;
    }
    arcp_buf bytes = arcp_buf_init();
    arcp__loop_share_take_buffer(stream->share, &bytes);
    arcp_buf_append(&bytes, arcp_span_make(data, (size_t)size));
    if (bytes.failed) {
        arcp_buf_fini(&bytes);
        return false;
    }
    (void)BIO_reset(SSL_get_wbio(stream->ssl));
    size_t written = 0;
    const bool writable = stream->lower->ops->write(stream->lower, &bytes, &written);
    stream->lower_busy = (size_t)size - written;
    return writable;
}

/* Encrypts waiting bytes while the lower stream accepts them; adds those that were written to
 * *written. */
static bool encrypt(tls_stream *stream, size_t *written)
{
    while (stream->secured && stream->lower_busy == 0 && stream->plain_done < stream->plain.size) {
        const size_t size = stream->plain.size - stream->plain_done;
        const size_t piece = size < TLS_PIECE_BYTES ? size : TLS_PIECE_BYTES;
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
            *written += done;
        }
    }
    /* Plaintext is not needed once it is encrypted, even if it is not written yet. */
    if (stream->plain.size > 0 && stream->plain_done == stream->plain.size) {
        stream->plain_done = 0;
        arcp__loop_share_give_buffer(stream->share, &stream->plain);
    }
    return true;
}

static void fail(tls_stream *stream, const char *fallback)
{
    arcp_error err = {0};
    const long verified = SSL_get_verify_result(stream->ssl);
    if (!stream->secured && verified != X509_V_OK) {
        arcp_error_set(&err, ARCP_E_IO, "TLS: the certificate was refused: %s",
                       X509_verify_cert_error_string(verified));
        ERR_clear_error();
    } else {
        arcp_error_set(&err, ARCP_E_IO, "TLS: %s", arcp__tls_error_text(fallback));
    }
    report_end(stream, &err);
}

/* Whether an unsuccessful OpenSSL call is only waiting for bytes. */
static bool only_waits(const tls_stream *stream, int result)
{
    const int reason = SSL_get_error(stream->ssl, result);
    return reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE;
}

/* ---- progress ---- */

static void decrypt(tls_stream *stream)
{
    char record[TLS_RECORD_BYTES];
    while (stream->is_reading && !stream->closed && !stream->ended) {
        size_t size = 0;
        ERR_clear_error();
        const int result = SSL_read_ex(stream->ssl, record, sizeof record, &size);
        if (result == 1) {
            stream->base.events.bytes(stream->base.events.user, arcp_span_make(record, size));
        } else if (SSL_get_error(stream->ssl, result) == SSL_ERROR_ZERO_RETURN) {
            report_end(stream, NULL); /* close_notify */
        } else if (only_waits(stream, result)) {
            return;
        } else {
            (void)push(stream); /* the alert */
            fail(stream, "the connection is broken");
        }
    }
}

/* Writes waiting bytes, and reports how many were written, including `written` earlier ones. */
static void continue_writing(tls_stream *stream, size_t written)
{
    if (!push(stream) || !encrypt(stream, &written)) {
        fail(stream, "cannot write");
        return;
    }
    if (stream->finish_due && stream->lower_busy == 0) {
        stream->finish_due = false;
        stream->lower->ops->finish(stream->lower);
    }
    if (written > 0) {
        stream->base.events.written(stream->base.events.user, written);
    }
}

/* Advances the handshake, reading and writing as far as possible. Called from the loop. */
static void advance(tls_stream *stream)
{
    if (!stream->secured && !stream->ended) {
        ERR_clear_error();
        const int result = SSL_do_handshake(stream->ssl);
        if (result != 1 && !only_waits(stream, result)) {
            (void)push(stream); /* the alert with the reason */
            fail(stream, "the handshake failed");
            return;
        }
        stream->secured = result == 1;
        if (!push(stream)) {
            fail(stream, "cannot write");
            return;
        }
        if (stream->secured && !stream->is_reading) {
            stream->lower->ops->stop(stream->lower);
        }
    }
    if (stream->ended || !stream->secured) {
        return;
    }
    decrypt(stream);
    if (!stream->closed) {
        continue_writing(stream, 0);
    }
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
    /* OpenSSL responds to some records by itself: a peer that sends those and does not read would
     * make it buffer responses without limit. */
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
        /* An end without close_notify is accepted: the layer above has its own close. */
        report_end(stream, why);
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
    const size_t written = stream->plain_in_lower;
    stream->plain_in_lower = 0;
    continue_writing(stream, written);
}

/* ---- the stream ---- */

static void run_task(arcp__task *task)
{
    tls_stream *stream = (tls_stream *)((char *)task - offsetof(tls_stream, task));
    if (stream->closed) {
        if (stream->secured && !stream->broken) {
            /* Else OpenSSL takes the session for one that was attacked, and does not go on with it.
             */
            SSL_set_shutdown(stream->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        }
        SSL_free(stream->ssl);
        arcp_buf_fini(&stream->plain);
        arcp__loop_share_unref(stream->share);
        arcp__free(stream);
        return;
    }
    advance(stream);
    /* Read on only after all records received so far were delivered: they may be much smaller than
     * a read, and would pile up if the owner stops after each. */
    if (!stream->closed && !stream->ended && (stream->is_reading || !stream->secured)) {
        stream->lower->ops->start(stream->lower);
    }
}

static void tls_start(arcp__stream *base)
{
    tls_stream *stream = (tls_stream *)base;
    stream->is_reading = true;
    arcp__task_post(stream->share, &stream->task);
}

static void tls_stop(arcp__stream *base)
{
    tls_stream *stream = (tls_stream *)base;
    stream->is_reading = false;
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
    *bytes = arcp_buf_init();
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
            return; /* the peer has disconnected; reading reports it */
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
    stream->sessions = NULL;
    arcp__stream_close(&stream->lower);
    arcp__task_post(stream->share,
                    &stream->task); /* frees it later: this may be a call from one of its events */
}

static const arcp__stream_ops tls_stream_ops = {
    .start = tls_start,
    .stop = tls_stop,
    .write = tls_write,
    .finish = tls_finish,
    .close = tls_close,
};

/* A new SSL object over memory BIOs; it keeps its own references to what it needs of the context.
 * NULL when out of memory. */
static SSL *start_tls(const arcp__tls_context *context, const char *host)
{
    ERR_clear_error();
    SSL *ssl = SSL_new(context->ssl);
    BIO *in = BIO_new(BIO_s_mem());
    BIO *out = BIO_new(BIO_s_mem());
    if (ssl == NULL || in == NULL || out == NULL) {
        SSL_free(ssl);
        BIO_free(in);
        BIO_free(out);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_mem_eof_return(in, -1); /* empty means "later", not "the end" */
    BIO_set_mem_eof_return(out, -1);
    SSL_set_bio(ssl, in, out);
    if (context->is_server) {
        SSL_set_accept_state(ssl);
        return ssl;
    }
    SSL_set_connect_state(ssl);
    /* The name that the peer's certificate must carry; SNI is for names only (RFC 6066 §3). */
    unsigned char address[16];
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    const bool is_address =
        inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const bool is_set = is_address ? X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1
                                   : X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
                                         SSL_set_tlsext_host_name(ssl, host) == 1;
    if (!is_set) {
        SSL_free(ssl);
        ERR_clear_error();
        return NULL;
    }
    return ssl;
}

arcp_status arcp__tls_stream_new(arcp__loop_share *share, const arcp__tls_context *context,
                                 const char *host, arcp__stream *lower, arcp__stream **out,
                                 arcp_error *err)
{
    tls_stream *stream = arcp__alloc(sizeof *stream);
    SSL *ssl = stream == NULL ? NULL : start_tls(context, host);
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

static uint64_t now_ms(const tls_stream *stream)
{
    return uv_now(arcp__loop_share_loop(stream->share));
}

void arcp__tls_stream_resume(arcp__stream *stream, arcp__tls_sessions *sessions)
{
    tls_stream *tls = (tls_stream *)stream;
    const char *host = SSL_get_servername(tls->ssl, TLSEXT_NAMETYPE_host_name);
    assert(!tls->secured && tls->base.ops == &tls_stream_ops);
    if (host == NULL || sessions == NULL) {
        return; /* an address has no name that a session could be of */
    }
    SSL_SESSION *session = arcp__tls_sessions_take(sessions, host, now_ms(tls), &tls->checked_ms);
    if (session != NULL) {
        (void)SSL_set_session(tls->ssl, session);
        SSL_SESSION_free(session);
    }
    (void)SSL_set_app_data(tls->ssl, tls);
    tls->sessions = sessions;
}

int arcp__tls_stream_keep(SSL *ssl, SSL_SESSION *session)
{
    const tls_stream *stream = SSL_get_app_data(ssl);
    if (stream == NULL || stream->sessions == NULL) {
        return 0;
    }
    const uint64_t checked_ms = SSL_session_reused(ssl) == 1 ? stream->checked_ms : now_ms(stream);
    return arcp__tls_sessions_keep(stream->sessions,
                                   SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name), session,
                                   checked_ms)
               ? 1
               : 0;
}

bool arcp__tls_stream_feed(arcp__stream *base, arcp_span bytes)
{
    const tls_stream *stream = (const tls_stream *)base;
    size_t taken = 0;
    assert(!stream->secured && stream->base.ops == &tls_stream_ops);
    ERR_clear_error();
    return BIO_write_ex(SSL_get_rbio(stream->ssl), bytes.data, bytes.size, &taken) == 1;
}
