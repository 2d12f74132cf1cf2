#include "lease_bench_peer.h"

const char *peer_name(void)
{
    return NULL;
}

peer *peer_new(const arcp_span *patterns, size_t count, const char *separators)
{
    return NULL;
}

bool peer_matches(peer *compiled, arcp_span target)
{
    return false;
}

void peer_free(peer *compiled)
{
}
