/* Byte streams in both directions: the common interface of TCP, local sockets, pipes, terminals,
 * files and TLS. Streams can be stacked: a TLS stream is a stream over another one.
 *
 * Events are called only from the loop, never from inside a call on the same stream. The owner of a
 * stream is the one that calls close. */
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
    /* Received bytes; valid during the call. Only between start and stop. */
    void (*bytes)(void *user, arcp_span bytes);
    /* No more bytes follow. `why` is NULL at an orderly end; then the stream can still be written,
     * and if it breaks later, this is called once more, with `why`. With `why`, the stream is
     * broken in both directions. */
    void (*ended)(void *user, const arcp_error *why);
    /* `size` more bytes of the buffer that write has taken over were written. */
    void (*written)(void *user, size_t size);
    void *user;
} arcp__stream_events;

typedef struct arcp__stream_ops {
    void (*start)(arcp__stream *stream);
    void (*stop)(arcp__stream *stream);
    /* Writes what the system accepts now; *written is how much that was. If something remains, the
     * stream takes over the buffer (*bytes is then empty) and calls `written` until it is written;
     * write and finish must not be called before that. False when the stream cannot be written;
     * then *bytes is lost. */
    bool (*write)(arcp__stream *stream, arcp_buf *bytes, size_t *written);
    /* Tells the peer that nothing more follows. May be called once. */
    void (*finish)(arcp__stream *stream);
    /* Closes the stream; no event follows. It frees itself later, from the loop. */
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

/* ---- resources shared by the streams of one loop ----------------------------------------- */

#define ARCP__READ_BUFFER_BYTES ((size_t)64 * 1024)
/* Large batches are written in pieces of this size, so that `written` reports progress. Larger
 * buffers are not kept for reuse. */
#define ARCP__WRITE_PIECE_BYTES ((size_t)256 * 1024)

/* Resources that the connections of one listener (or of one client) share on their loop: tasks for
 * the next turn of the loop, a read buffer, and a free list of write buffers. */
typedef struct arcp__loop_share arcp__loop_share;

/* A function to be called once, in the next turn of the loop. Part of its owner, which must cancel
 * it before freeing it. Zero-initialise, then set run. */
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
/* The last reference closes the handle; the memory is freed later, from the loop. */
void arcp__loop_share_unref(arcp__loop_share *share);

uv_loop_t *arcp__loop_share_loop(const arcp__loop_share *share);

/* Runs the task before the loop blocks again. A task that is already queued keeps its place; one
 * posted by a running task runs in the turn after. */
void arcp__task_post(arcp__loop_share *share, arcp__task *task);
void arcp__task_cancel(arcp__loop_share *share, arcp__task *task);

/* The common buffer of ARCP__READ_BUFFER_BYTES; NULL when out of memory. Its contents are valid
 * until the loop reads again: libuv passes it to the read callback immediately. */
char *arcp__loop_share_read_buffer(arcp__loop_share *share);

/* Gives an empty *buf memory from the free list, if there is any. */
void arcp__loop_share_take_buffer(arcp__loop_share *share, arcp_buf *buf);
/* Moves the memory of *buf to the free list, or frees it. */
void arcp__loop_share_give_buffer(arcp__loop_share *share, arcp_buf *buf);

/* ---- TCP and descriptors ------------------------------------------------------------------ */

/* Both return 0 or a libuv error. UV_ENOMEM: no memory for a stream. */

/* Accepts the connection waiting at `listener` (from its connection callback). With UV_ENOMEM it is
 * still waiting. */
ARCP_MUST_CHECK int arcp__tcp_stream_accept(arcp__loop_share *share, uv_stream_t *listener,
                                            struct sockaddr_storage *peer, arcp__stream **out);

/* The address of our end of a stream of the two functions here: for an accepted connection the one
 * that its peer has connected to. 0 or a libuv error. */
ARCP_MUST_CHECK int arcp__tcp_stream_local(const arcp__stream *stream,
                                           struct sockaddr_storage *out);

/* Connects; `done` is called later with 0 or a libuv error, unless the stream is closed first. */
ARCP_MUST_CHECK int arcp__tcp_stream_connect(arcp__loop_share *share,
                                             const struct sockaddr *address,
                                             void (*done)(void *user, int result), void *user,
                                             arcp__stream **out);

/* A stream over a pipe, local socket, TCP socket, terminal or file. On success the stream owns the
 * descriptor; 0, 1 and 2 stay open. Its file status flags are restored when the stream is closed,
 * because other processes may share them. ARCP_E_IO for any other kind of descriptor. */
ARCP_MUST_CHECK arcp_status arcp__fd_stream_new(arcp__loop_share *share, int fd, arcp__stream **out,
                                                arcp_error *err);

/* ---- memory ------------------------------------------------------------------------------- */

/* Two connected streams: bytes written to one are read from the other in the next turn of the loop.
 */
ARCP_MUST_CHECK arcp_status arcp__memory_streams_new(arcp__loop_share *share, arcp__stream *out[2],
                                                     arcp_error *err);

/* The other stream; NULL when it is closed. */
arcp__stream *arcp__memory_stream_peer(const arcp__stream *stream);

/* ---- TLS ---------------------------------------------------------------------------------- */

/* Certificates and trusted authorities for TLS connections. OpenSSL 3, TLS 1.2 and later. */
typedef struct arcp__tls_context arcp__tls_context;

/* For a server: PEM files with the certificate chain (its own first) and the private key
 * (without a passphrase). ARCP_E_USAGE names the file and what is wrong with it. */
ARCP_MUST_CHECK arcp_status arcp__tls_context_new_server(const char *certificate_file,
                                                         const char *key_file,
                                                         arcp__tls_context **out, arcp_error *err);

/* For clients: trusts the authorities in the PEM file, or the system's when it is NULL. */
ARCP_MUST_CHECK arcp_status arcp__tls_context_new_client(const char *ca_file,
                                                         arcp__tls_context **out, arcp_error *err);

/* Reads a server's files again, for new connections. On failure the old ones stay in use. */
ARCP_MUST_CHECK arcp_status arcp__tls_context_reload(arcp__tls_context *context, arcp_error *err);

void arcp__tls_context_free(arcp__tls_context *context);

/* A TLS stream over `lower`, which it takes over on success; OpenSSL reads and writes memory BIOs.
 * The handshake begins with start (which must be called soon, on both sides); bytes written before
 * it is complete wait for it. A failed handshake is reported by `ended`, with the error of the
 * certificate check or of the peer. `host` (clients only): the DNS name or address that the peer's
 * certificate must have. */
ARCP_MUST_CHECK arcp_status arcp__tls_stream_new(arcp__loop_share *share,
                                                 const arcp__tls_context *context, const char *host,
                                                 arcp__stream *lower, arcp__stream **out,
                                                 arcp_error *err);

/* Sessions that clients of one owner go on with: a second connection to a host then takes no check
 * of its certificate. NULL when out of memory. */
typedef struct arcp__tls_sessions arcp__tls_sessions;
arcp__tls_sessions *arcp__tls_sessions_new(void);
void arcp__tls_sessions_free(arcp__tls_sessions *sessions); /* NULL is accepted */

/* Lets a client's new stream go on with a session of its host, which must be a name, and keeps
 * those that it gets. In the turn of the loop in which it was made; `sessions` must live until it
 * is closed. */
void arcp__tls_stream_resume(arcp__stream *stream, arcp__tls_sessions *sessions);

/* Gives a new TLS stream bytes that were received from `lower` before it was made. Before start.
 * False when out of memory. */
ARCP_MUST_CHECK bool arcp__tls_stream_feed(arcp__stream *stream, arcp_span bytes);

#endif
