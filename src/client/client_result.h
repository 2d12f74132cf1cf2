/* Putting a streamed result together (§8.4): order, encoding and size are checked, the
 * bytes go to a sink as they come. */
#ifndef ARCP_CLIENT_CLIENT_RESULT_H
#define ARCP_CLIENT_CLIENT_RESULT_H

#include <arcp/client.h>

/* Zero-initialised expects a first chunk for a sink in memory. */
typedef struct arcp__client_result_stream {
    arcp_result_sink sink;
    char *result_id; /* owned; NULL before the first chunk */
    uint64_t next_seq;
    uint64_t bytes; /* decoded, all chunks */
    bool complete;  /* the chunk with more:false was there */
    arcp_buf memory;
    arcp_buf decoded; /* scratch */
    arcp_error error; /* the first thing that went wrong; nothing is taken afterwards */
} arcp__client_result_stream;

void arcp__client_result_stream_fini(arcp__client_result_stream *stream);

/* Takes the body of a result_chunk event. What is wrong is kept in stream->error:
 * ARCP_E_CORRUPT for chunks that do not fit together, ARCP_E_LIMIT, or the sink's. */
void arcp__client_result_stream_take(arcp__client_result_stream *stream, const arcp_json *json,
                                     arcp_json_ref body);

/* The job succeeded with this result_id (empty: an inline result) and result_size
 * (UINT64_MAX: not told): checks that they belong to what was streamed. */
void arcp__client_result_stream_finish(arcp__client_result_stream *stream, arcp_span result_id,
                                       uint64_t result_size);

#endif
