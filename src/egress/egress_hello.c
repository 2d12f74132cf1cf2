#include "egress/egress_hello.h"

arcp__egress_hello_result arcp__egress_hello_read(arcp_span bytes, arcp__egress_hello *out)
{
    (void)bytes;
    out->name[0] = '\0';
    return ARCP__EGRESS_HELLO_INVALID;
}
