/* Bytes both ways: what TCP, pipes, files and TLS have in common. Layers stack: a TLS
 * stream is a stream over another one.
 *
 * Events are made from the loop only, never from inside a call on the same stream. A
 * stream belongs to whoever may call close. */
#ifndef ARCP_TRANSPORT_STREAM_H
#define ARCP_TRANSPORT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
