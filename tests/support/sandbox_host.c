#include "support/sandbox_host.h"

#include "support/check.h"

#include "launch/launch.h"

void sandbox_probe(arcp__sandbox_abilities *abilities)
{
    arcp_buf text = arcp_buf_init();
    arcp_error error = {0};
    check_ok(arcp__launch_probe(SANDBOX, &text, &error), &error);
    check_ok(arcp__sandbox_abilities_decode(arcp_buf_span(&text), abilities, &error), &error);
    arcp_buf_fini(&text);
}
