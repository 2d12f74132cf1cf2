/* Processes that are started and wait for a job: an interpreter takes its 10-80 ms before
 * anybody asks for it. A process serves one job, so one that is taken is replaced. */
#ifndef ARCP_RUNTIME_AGENT_POOL_H
#define ARCP_RUNTIME_AGENT_POOL_H

#include "runtime/agent_process.h"

typedef struct arcp__agent_pool arcp__agent_pool;

typedef struct arcp__agent_pool_options {
    arcp__process_table *table;
    uv_loop_t *loop;
    size_t size; /* how many wait */
    /* What to start; borrowed, with everything in it, as long as the pool lives. When
     * spec->makes_cwd, spec->cwd is the directory above: each process has its own in it. */
    const arcp__agent_spec *spec;
    uint32_t pause_min_ms; /* after a process that died waiting, doubled ... 0: 100 */
    uint32_t pause_max_ms; /* ... up to this. 0: 10 000 */
    /* Something for the operator; never from inside a call on the pool. */
    void (*say)(void *user, bool is_error, const char *text);
    /* A line of a waiting process's standard error. */
    void (*log)(void *user, arcp_span line);
    void *user;
} arcp__agent_pool_options;

/* Begins to start processes, one per turn of the loop. The pool itself does not keep the
 * loop alive, its processes do. */
ARCP_MUST_CHECK arcp_status arcp__agent_pool_new(const arcp__agent_pool_options *options,
                                                 arcp__agent_pool **out, arcp_error *err);

/* One that waits, now the caller's: not read until its callbacks are set. What it wrote to
 * standard output meanwhile is still in the pipe. NULL when there is none. */
arcp__agent_process *arcp__agent_pool_take(arcp__agent_pool *pool);

size_t arcp__agent_pool_waiting(const arcp__agent_pool *pool);

/* Ends those that wait. NULL is accepted. */
void arcp__agent_pool_free(arcp__agent_pool *pool);

#endif
