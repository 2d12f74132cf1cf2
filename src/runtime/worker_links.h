/* The runtime's ends of all links to workers (worker/worker_core.h), of this machine and of others.
 * Private to src/runtime.
 *
 *     GREETING ── its hello is taken ──> JOINED ── the link ends ──> its worker is away
 *         └── it is refused, or sends no hello in 10 s: the link is closed
 *
 * A runtime that stops and leaves jobs to their workers says bye, and they close the links.
 *
 * A worker is known by its name, a life of it by its instance. Of one life the newest link counts;
 * of several lives of a name all but one drain. A link over a local socket brings the worker of
 * this machine, which is named ARCP__LOCAL_WORKER; all others show a token. */
#ifndef ARCP_RUNTIME_WORKER_LINKS_H
#define ARCP_RUNTIME_WORKER_LINKS_H

#include "base/hash.h"
#include "runtime/runtime_state.h"
#include "runtime/runtime_worker.h"
#include "worker/worker_core.h"
#include "worker/worker_link.h"
#include "worker/worker_peer.h"

#define ARCP__LOCAL_WORKER "local"
static const arcp_span arcp__local_worker_name = {ARCP__LOCAL_WORKER,
                                                  sizeof ARCP__LOCAL_WORKER - 1};

/* Of other machines, joined at the same time. */
#define ARCP__REMOTE_WORKERS_MAX 256u
/* Agents that remote workers have offered, by worker, name and version, in the life of a runtime.
 */
#define ARCP__OFFERED_AGENTS_MAX 4096u

/* One link, and the worker that has joined by it. */
typedef struct arcp__joined_worker {
    struct arcp__joined_worker *prev, *next;
    struct arcp__worker_links *links;
    arcp__worker_link *link;
    arcp__worker_peer *peer; /* NULL: the runtime leaves */
    bool is_local;
    pid_t peer_pid;                          /* of one on this machine */
    bool is_foreign;                         /* and speaks no version of ours */
    char peer_name[ARCP__WORKER_ID_MAX + 1]; /* the address of another machine */
    /* From hello on. */
    bool has_joined;
    UT_hash_handle hh; /* by instance */
    char name[ARCP__WORKER_ID_MAX + 1], instance[ARCP__WORKER_ID_MAX + 1];
    uint64_t pid;
    bool is_draining;                      /* another life of its name may take its place */
    char program[ARCP__WORKER_ID_MAX + 1]; /* its file; "": unknown */
    uint8_t token_hash[32];
} arcp__joined_worker;

typedef struct arcp__worker_links {
    arcp_runtime *runtime;
    uv_timer_t timer;
    bool is_leaving;
    arcp__joined_worker *open;   /* all links */
    arcp__joined_worker *joined; /* by instance */
    size_t remote_count;         /* of the joined ones */
    arcp__worker_tokens *tokens; /* owned; NULL: no remote worker is taken */
    arcp__job_kept kept;         /* of one job */
} arcp__worker_links;

static inline arcp__worker_life arcp__joined_life(const arcp__joined_worker *worker)
{
    return (arcp__worker_life){arcp_span_cstr(worker->name), arcp_span_cstr(worker->instance)};
}

/* ---- worker_links.c ---- */
/* The links of the runtime, which are made when they are needed; NULL when out of memory. */
arcp__worker_links *arcp__worker_links_get(arcp_runtime *runtime);
/* Begins a link; takes over the descriptor, also on failure, which is logged. */
void arcp__worker_links_serve(arcp__worker_links *links, int fd);
/* A life of the worker with this name that has joined, the one that takes jobs if it is among them;
 * NULL: it is away. */
static inline arcp__joined_worker *arcp__worker_links_named(const arcp__worker_links *links,
                                                            arcp_span name)
{
    arcp__joined_worker *found = NULL;
    for (arcp__joined_worker *worker = links->joined; worker != NULL; worker = worker->hh.next) {
        if (arcp_span_equal_cstr(name, worker->name) && (found == NULL || found->is_draining)) {
            found = worker;
        }
    }
    return found;
}
/* It gets no new jobs, and receives a message that says so. */
void arcp__worker_links_drain(arcp__joined_worker *worker);

/* ---- worker_offers.c ---- */
/* For jobs of the agents that it offers: its capacity, within what its token allows. */
uint64_t arcp__worker_places(const arcp__worker_hello *hello, const arcp__worker_token *token);
/* What the hello of a remote worker offers, for the engine, as an array that the caller frees.
 * ARCP_E_NO_MEMORY; ARCP_E_INVALID_REQUEST past ARCP__OFFERED_AGENTS_MAX. */
arcp_status arcp__worker_write_offers(const arcp__joined_worker *worker,
                                      const arcp__worker_hello *hello, arcp__worker_agent **out,
                                      arcp_error *err);
/* An agent of a worker (empty: of any), known to the runtime, and not registered with the engine.
 * NULL when out of memory. */
arcp__agent_entry *arcp__worker_entry_new(arcp_runtime *runtime, const char *worker,
                                          const char *name, const char *version);

/* ---- worker_jobs.c ---- */
extern const arcp__agent_host_ops arcp__worker_jobs_host;
/* What the peer of a link calls about jobs; `user` is an arcp__joined_worker. */
void arcp__worker_jobs_fill_owner(arcp__worker_peer_owner *owner);

/* ---- local_worker.c ---- */
/* Whether this life may join: it holds its lock. */
bool arcp__local_worker_lives(const struct arcp__local_worker *worker, arcp_span instance);
/* Whether another program is to take its place. */
bool arcp__local_worker_is_outdated(const struct arcp__local_worker *worker,
                                    const arcp__worker_hello *hello);
/* A life of the worker of this machine has joined, drains, or its link has ended. */
void arcp__local_worker_joined(struct arcp__local_worker *worker, const arcp__worker_hello *hello);
void arcp__local_worker_changed(struct arcp__local_worker *worker);
/* A life speaks no version of the protocol that we do. False: it is none. */
bool arcp__local_worker_take_foreign(struct arcp__local_worker *worker,
                                     const arcp__worker_hello *hello, pid_t pid);
/* The runtime leaves: no worker can connect, and none is started. NULL is accepted. */
void arcp__local_worker_leave(struct arcp__local_worker *worker);
/* Closes its socket; NULL is accepted. */
void arcp__local_worker_free(struct arcp__local_worker *worker);

#endif
