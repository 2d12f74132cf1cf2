/* Bytes both ways: what TCP, local sockets, pipes, terminals, files and TLS have in common. Layers
 * stack: a TLS stream is a stream over another one.
 *
 * Events are made from the loop only, never from inside a call on the same stream. A
 * stream belongs to whoever may call close. */
#ifndef ARCP_STREAM_STREAM_H
#define ARCP_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/span.h>

typedef struct arcp__stream arcp__stream;

typedef struct arcp__stream_events {
    /* Some bytes; valid during the call. Only between start and stop. */
    void (*bytes)(void *user, arcp_span bytes);
    /* No more bytes will come. `why` is NULL at an orderly end, after which the stream can
     * still be written (and may break: then it comes once more, with `why`); otherwise
     * the stream is broken both ways. */
    void (*ended)(void *user, const arcp_error *why);
    /* `size` more bytes of the buffer that write took have left. */
    void (*written)(void *user, size_t size);
    void *user;
} arcp__stream_events;

typedef struct arcp__stream_ops {
    void (*start)(arcp__stream *stream);
    void (*stop)(arcp__stream *stream);
    /* Writes what the system takes now, and says how much that was. When something
     * remains the stream takes the buffer over (*bytes is then empty) and tells `written`
     * until it has left; there is no other write and no finish before that. False when
     * the stream cannot be written; *bytes is then lost. */
    bool (*write)(arcp__stream *stream, arcp_buf *bytes, size_t *written);
    /* Tells the peer that nothing more comes. Once. */
    void (*finish)(arcp__stream *stream);
    /* Ends everything; no event follows. The stream frees itself when the loop lets it. */
    void (*close)(arcp__stream *stream);
} arcp__stream_ops;

struct arcp__stream {
    const arcp__stream_ops *ops;
    arcp__stream_events events;
};

static inline void arcp__stream_close(arcp__stream **stream)
{
    if (*stream != NULL) {
        (*stream)->ops->close(*stream);
        *stream = NULL;
    }
}

/* ---- what streams of one loop share ------------------------------------------------------ */

#define ARCP__READ_BUFFER_BYTES ((size_t)64 * 1024)
/* Large batches go to the system in pieces of this size, so that `written` reports progress.
 * Larger buffers are not kept for the next writer. */
#define ARCP__WRITE_PIECE_BYTES ((size_t)256 * 1024)

/* What the connections of one listener (or one client) share on their loop: work that is
 * due when the loop comes round, a buffer to read into, and spare buffers to write from. */
typedef struct arcp__loop_share arcp__loop_share;

/* Something to do once, in the next turn of the loop. Lives in its owner, who cancels it
 * before it goes. Zero-initialise, then set run. */
typedef struct arcp__task {
    struct arcp__task *prev;
    struct arcp__task *next;
    void (*run)(struct arcp__task *task);
    uint64_t turn; /* in which it was posted */
    bool queued;
} arcp__task;

/* One reference for the caller; NULL when out of memory. */
ARCP_MUST_CHECK arcp__loop_share *arcp__loop_share_new(uv_loop_t *loop);
arcp__loop_share *arcp__loop_share_ref(arcp__loop_share *share);
/* The last one closes the handle; the memory goes when the loop lets it. */
void arcp__loop_share_unref(arcp__loop_share *share);

uv_loop_t *arcp__loop_share_loop(const arcp__loop_share *share);

/* Runs the task before the loop waits the next time. A task that is queued already stays
 * where it is; one that is posted by a running task waits for the turn after. */
void arcp__task_post(arcp__loop_share *share, arcp__task *task);
void arcp__task_cancel(arcp__loop_share *share, arcp__task *task);

/* The common buffer of ARCP__READ_BUFFER_BYTES; NULL when out of memory. Its contents last
 * until the loop reads the next time: libuv hands it back in the call that follows. */
char *arcp__loop_share_read_buffer(arcp__loop_share *share);

/* Gives an empty *buf memory that somebody has left, if there is any. */
void arcp__loop_share_take_buffer(arcp__loop_share *share, arcp_buf *buf);
/* Takes the memory of *buf back, whose contents are not needed any more. */
void arcp__loop_share_give_buffer(arcp__loop_share *share, arcp_buf *buf);

/* ---- TCP and descriptors ------------------------------------------------------------------ */

/* Both return a libuv error at once, or 0. UV_ENOMEM: there is no memory for a stream. */

/* Accepts the connection that waits at `listener` (from its connection callback). When there is no
 * memory it still waits. */
ARCP_MUST_CHECK int arcp__tcp_stream_accept(arcp__loop_share *share, uv_stream_t *listener,
                                            struct sockaddr_storage *peer, arcp__stream **out);

/* Connects; `done` comes later with 0 or a libuv error, unless the stream is closed first. */
ARCP_MUST_CHECK int arcp__tcp_stream_connect(arcp__loop_share *share,
                                             const struct sockaddr *address,
                                             void (*done)(void *user, int result), void *user,
                                             arcp__stream **out);

/* Over a pipe, local socket, TCP socket, terminal or file. The stream owns the descriptor on
 * success; 0, 1 and 2 stay open. Its file status flags are put back when the stream is closed,
 * because others may share them. ARCP_E_IO for what is none of these. */
ARCP_MUST_CHECK arcp_status arcp__fd_stream_new(arcp__loop_share *share, int fd, arcp__stream **out,
                                                arcp_error *err);

/* ---- memory ------------------------------------------------------------------------------- */

/* Two ends in one process: what one writes the other reads in the next turn of the loop. */
ARCP_MUST_CHECK arcp_status arcp__memory_streams_new(arcp__loop_share *share, arcp__stream *out[2],
                                                     arcp_error *err);

/* The other end; NULL when it is closed. */
arcp__stream *arcp__memory_stream_peer(const arcp__stream *stream);

/* ---- TLS ---------------------------------------------------------------------------------- */

/* Certificates and trust: what TLS connections are made with. OpenSSL 3, TLS 1.2 and up. */
typedef struct arcp__tls_context arcp__tls_context;

/* For a server: PEM files with the certificate chain (its own first) and the private key
 * (without a passphrase). ARCP_E_USAGE names the file and what is wrong with it. */
ARCP_MUST_CHECK arcp_status arcp__tls_context_new_server(const char *certificate_file,
                                                         const char *key_file,
                                                         arcp__tls_context **out, arcp_error *err);

/* For clients: trusts the authorities in the PEM file, or the system's when it is NULL. */
ARCP_MUST_CHECK arcp_status arcp__tls_context_new_client(const char *ca_file,
                                                         arcp__tls_context **out, arcp_error *err);

/* Reads a server's files again, for connections from now on. On failure the old ones
 * stay. */
ARCP_MUST_CHECK arcp_status arcp__tls_context_reload(arcp__tls_context *context, arcp_error *err);

void arcp__tls_context_free(arcp__tls_context *context);

/* OpenSSL between two memory BIOs over `lower`, which is taken over on success. The handshake
 * begins with start (which must be called once soon, on either side); what is written before it is
 * done waits for it. A handshake that fails comes as `ended`, with what the certificate check or
 * the peer said. `host` (clients only) is who the peer must prove to be: a DNS name or an
 * address. */
ARCP_MUST_CHECK arcp_status arcp__tls_stream_new(arcp__loop_share *share,
                                                 const arcp__tls_context *context, const char *host,
                                                 arcp__stream *lower, arcp__stream **out,
                                                 arcp_error *err);

#endif
