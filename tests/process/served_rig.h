/* Served processes of a shell script on a process rig, and their jobs. */
#ifndef ARCP_TESTS_PROCESS_SERVED_RIG_H
#define ARCP_TESTS_PROCESS_SERVED_RIG_H

#include "process/process_rig.h"

typedef struct served_rig {
    process_rig rig;
    arcp__served *served;
    arcp__served_options options; /* may be changed until served_rig_open */
    arcp_buf logged;              /* lines, each as "PID LINE\n" */
    arcp_buf reports;             /* a line each */
} served_rig;

typedef struct served_job {
    served_rig *rig;
    arcp__served_job *job;
    size_t starts;
    arcp_status started;
    arcp_buf lines; /* each with a line feed */
    size_t ends;
    arcp__served_end how;
    arcp_process_exit exit;
    char pid[16]; /* of the line that `hold` writes */
} served_job;

/* What the script does with a line that has "do" with this value. */
#define SERVED_HOLD      "{\"do\":\"hold\"}"  /* writes {"job_id":ID,"pid":PID} */
#define SERVED_END       "{\"do\":\"end\"}"   /* writes the last line of the job */
#define SERVED_EXIT      "{\"do\":\"exit\"}"  /* exits with status 3 */
#define SERVED_STOPS     "{\"do\":\"stops\"}" /* reads nothing more */
#define SERVED_RUN(text) "{\"run\":" text "}" /* runs it in the shell */
#define SERVED_SAY(text) "{\"say\":" text "}" /* writes the text as a line */

/* One process, with 100 jobs at the same time. */
void served_rig_start(served_rig *rig);
void served_rig_open(served_rig *rig);
void served_rig_stop(served_rig *rig);

/* Makes the job and sends it a line. */
void served_rig_begin(served_rig *rig, served_job *job, const char *id, const char *line);
/* The same, and waits for the pid that `hold` writes. */
void served_rig_hold(served_rig *rig, served_job *job, const char *id);
void served_job_fini(served_job *job);
bool served_job_has(const served_job *job, const char *text);
bool served_rig_has(const arcp_buf *text, const char *part);

#define served_until(owner, condition) run_until(&(owner)->rig, condition)

#endif
