/* The records that arcp-sandbox sends to the process that started it (arcp/sys/launcher.h). */
#ifndef ARCP_LAUNCH_SANDBOX_RECORD_H
#define ARCP_LAUNCH_SANDBOX_RECORD_H

#include <arcp/buf.h>

typedef enum arcp__sandbox_record {
    ARCP__SANDBOX_RECORD_RUNNING, /* the program is about to be executed */
    ARCP__SANDBOX_RECORD_DENIED,  /* an operation was denied */
    ARCP__SANDBOX_RECORD_PLANTED, /* files that a later git of others would use */
    ARCP__SANDBOX_RECORD_LEASED,  /* the lease of a plan that is late has come */
    ARCP__SANDBOX_RECORD_FAILED,  /* a step of the set-up failed: the program does not run */
    ARCP__SANDBOX_RECORD_OTHER    /* none of these, or no JSON object */
} arcp__sandbox_record;

arcp__sandbox_record arcp__sandbox_record_type(arcp_span record);

/* The steps of the set-up, in their order (launch_stage.def). */
enum {
#define ARCP_LAUNCH_STAGE(id, name, text) ARCP__SANDBOX_STEP_##id,
#include "launch/launch_stage.def"
#undef ARCP_LAUNCH_STAGE
    ARCP__SANDBOX_STEP_COUNT
};
/* The number of a step by its name; ARCP__SANDBOX_STEP_COUNT: there is none. */
unsigned arcp__sandbox_step_find(arcp_span name);
const char *arcp__sandbox_step_name(unsigned step); /* static */

/* Of a record of type FAILED: appends "mount /srv/x: Operation not permitted", and returns the name
 * of the step (launch_stage.def), which is static, or "" when the record names an unknown one. The
 * path is as the plan has it: escape it before it is shown on a terminal. */
const char *arcp__sandbox_record_failure(arcp_span record, arcp_buf *message);

#endif
