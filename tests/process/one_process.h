/* For tests of one program at a time: each has a rig, and an owner of the process. */
#ifndef ARCP_TESTS_PROCESS_ONE_PROCESS_H
#define ARCP_TESTS_PROCESS_ONE_PROCESS_H

#include "process/process_rig.h"

extern process_rig rig;
extern process_owner owner;

/* Before and after each test. */
int set_up(void **state);
int tear_down(void **state);

void run_to_end(const char *script);
void check_text(const arcp_buf *text, const char *want);

#endif
