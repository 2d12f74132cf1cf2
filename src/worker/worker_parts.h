/* What the messages and the rows of their bodies share. Private to src/worker. */
#ifndef ARCP_WORKER_WORKER_PARTS_H
#define ARCP_WORKER_WORKER_PARTS_H

#include "core/decode.h"
#include "worker/worker_frame.h"

/* A member that is one of several words. */
typedef struct arcp__worker_words {
    const char *member; /* NULL: there is none */
    const char *const *names;
    size_t count;
    size_t at; /* offset of its enum in the struct */
} arcp__worker_words;

void arcp__worker_word_write(arcp_json_writer *writer, const arcp__worker_words *of,
                             const void *from);
ARCP_MUST_CHECK arcp_status arcp__worker_word_read(const arcp_json *json, arcp_json_ref object,
                                                   const arcp__worker_words *of, const char *where,
                                                   void *out, arcp_error *err);

/* Scans a head, or a row. */
ARCP_MUST_CHECK arcp_status arcp__worker_scan(arcp_json *json, arcp_span text, arcp_error *err);
/* ARCP_E_INVALID_REQUEST: "items: it has a body". */
ARCP_MUST_CHECK arcp_status arcp__worker_invalid(arcp_error *err, const char *type,
                                                 const char *why);

#endif
