#include "egress/egress_address.h"

bool arcp__egress_address_is_public(const arcp__egress_address *address,
                                    const arcp__egress_address *own, size_t own_count)
{
    (void)address;
    (void)own;
    (void)own_count;
    return false;
}

bool arcp__egress_address_parse(arcp_span host, uint16_t port, arcp__egress_address *out)
{
    (void)host;
    (void)port;
    memset(out, 0, sizeof *out);
    return false;
}

void arcp__egress_address_format(const arcp__egress_address *address, char out[64])
{
    (void)address;
    out[0] = '\0';
}
