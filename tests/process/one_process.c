#include "process/one_process.h"

process_rig rig;
process_owner owner;

int set_up(void **state)
{
    (void)state;
    process_rig_start(&rig, 100, 100);
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    process_owner_fini(&owner);
    process_rig_stop(&rig);
    return 0;
}

void run_to_end(const char *script)
{
    process_rig_run_shell(&rig, &owner, script);
    run_until(&rig, owner.exits != 0);
}

void check_text(const arcp_buf *text, const char *want)
{
    check_span(arcp_buf_span(text), want);
}
