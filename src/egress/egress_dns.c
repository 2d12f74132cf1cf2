#include "egress/egress_dns.h"

void arcp__egress_dns_respond(arcp__egress_names *names, arcp_span query,
                              arcp__egress_dns_answer *out)
{
    (void)names;
    (void)query;
    memset(out, 0, sizeof *out);
}
