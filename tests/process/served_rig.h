/* Served processes of a shell script on a process rig, and their jobs. */
#ifndef ARCP_TESTS_PROCESS_SERVED_RIG_H
#define ARCP_TESTS_PROCESS_SERVED_RIG_H

#include "process/process_rig.h"

typedef struct served_rig {
    process_rig rig;
    arcp__served *served;
    arcp__served_options options; /* may be changed until served_open */
    arcp_buf logged;              /* lines, each as "PID LINE\n" */
    arcp_buf reports;             /* a line each */
} served_rig;

typedef struct served_job {
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

/* What the functions below work on. Each test has its own. */
extern served_rig rig;
extern served_job jobs[8];

/* One process, with 100 jobs at the same time; the options may be changed. */
int served_set_up(void **state);
/* Frees the jobs that were begun, and fails the test as process_rig_stop does. */
int served_tear_down(void **state);
#define SERVED_TEST(name) cmocka_unit_test_setup_teardown(name, served_set_up, served_tear_down)

void served_open(void);

/* Makes the job, if that is possible: rig.rig.error. */
arcp_status served_try(served_job *job, const char *id);
/* Makes the job and sends it a line. */
void served_begin(served_job *job, const char *id, const char *line);
/* The same, and waits for the pid that `hold` writes. */
void served_hold(served_job *job, const char *id);
void served_write(served_job *job, const char *line);
/* Has the process end the job, and waits for that. */
void served_end(served_job *job);
void served_job_fini(served_job *job);
bool served_job_has(const served_job *job, const char *text);
bool served_has(const arcp_buf *text, const char *part);

#define served_until(condition) run_until(&rig.rig, condition)

#endif
