/* A worker without I/O, whose calls about programs are noted. */
#ifndef ARCP_TESTS_WORKER_RIG_H
#define ARCP_TESTS_WORKER_RIG_H

#include "support/check.h"

#include <arcp/time.h>

#include "worker/worker_core.h"

#define SEC ARCP_NS_PER_SEC

typedef struct worker_rig {
    arcp__worker_core *core;
    int64_t now_ns;
    arcp__worker_job *job; /* of the last start */
    bool cannot_start;
    char done[1000]; /* the calls about programs */
} worker_rig;

#define WELCOME(rows)                                                                              \
    "{\"type\":\"welcome\",\"v\":1,\"store\":\"s\",\"keep_ms\":60000,\"line_bytes\":1000,"         \
    "\"unkept_bytes\":1000,\"unkept_total_bytes\":1500}\n" rows
#define START        "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a\"}\n{}"
#define START_IN(ms) "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a\",\"deadline_ms\":" ms "}\n{}"
#define STARTED      "{\"type\":\"started\",\"job\":\"j\",\"pid\":5}\n"
#define ROW(more)    "{\"job\":\"j\",\"store\":\"s\",\"items_first\":" more "}\n"
#define GO_ON        "{\"job\":\"j\",\"what\":\"go_on\"}\n"

/* A worker without a link. */
void worker_rig_open(worker_rig *r);
/* The same, with agents of its own. */
void worker_rig_open_own(worker_rig *r);
/* A link, and a job whose program runs. */
void worker_rig_open_job(worker_rig *r, const char *order);
/* The same; `use` is that of arcp__worker_programs. */
void worker_rig_open_job_with(worker_rig *r, const char *order,
                              void (*use)(void *user, void *program, arcp__worker_usage_row *out));
void worker_rig_close(worker_rig *r);

/* A new link: compares the rows of hello, and takes the welcome. */
void worker_rig_connect(worker_rig *r, const char *rows, const char *welcome);
/* The runtime sends this. */
arcp_status worker_rig_receive(worker_rig *r, const char *text);
/* The same; the worker must accept it. */
void worker_rig_take(worker_rig *r, const char *text);
/* The program of the last start writes a line, or ends. */
void worker_rig_item(worker_rig *r, const char *text);
void worker_rig_end_program(worker_rig *r);

/* Compares the calls about programs since the last time. */
void worker_rig_check_done(worker_rig *r, const char *done);
/* Takes all messages of the core; compares their heads, and short bodies. */
void worker_rig_check_sent(worker_rig *r, const char *sent);

#endif
