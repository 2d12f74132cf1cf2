/* A regular expression matcher beside ours: the patterns of one list as one alternation. */
#ifndef ARCP_BENCH_LEASE_BENCH_PEER_H
#define ARCP_BENCH_LEASE_BENCH_PEER_H

#include <arcp/span.h>

typedef struct peer peer;

/* What the peer is called, or NULL when there is none. */
const char *peer_name(void);
/* NULL when the peer cannot compile them. `separators` is what a single star stops at. */
peer *peer_new(const arcp_span *patterns, size_t count, const char *separators);
bool peer_matches(peer *compiled, arcp_span target);
void peer_free(peer *compiled);

#endif
