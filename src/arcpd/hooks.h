/* The delivery of notifications to hooks (src/hook): one POST, or one run of a command, for each
 * attempt. The engine decides what is attempted and when. */
#ifndef ARCP_ARCPD_HOOKS_H
#define ARCP_ARCPD_HOOKS_H

#include <uv.h>

#include <arcp/buf.h>

#include "arcpd/config.h"
#include "process/process.h"
#include "runtime/runtime_hook.h"
#include "web/client.h"

/* Where the notifications of a hook go. Owned. */
typedef struct arcp__hook_target {
    char *name;
    char *shown;     /* for people: without secrets */
    arcp_buf url;    /* a secret; empty: argv */
    arcp_buf secret; /* empty: requests are not signed */
    char *ca_file;   /* PEM; NULL: the system's authorities */
    char **argv;     /* NULL-terminated; NULL: url */
    uint64_t timeout_ms;
} arcp__hook_target;

/* All hooks of a configuration. */
typedef struct arcp__hook_set {
    arcp__hook_target *targets;
    arcp__hook_options
        *options; /* for the runtime; borrow from the targets and the configuration */
    size_t count;
} arcp__hook_set;

/* Reads the secrets. ARCP_E_USAGE and ARCP_E_IO name the key. */
ARCP_MUST_CHECK arcp_status arcp__hook_set_make(const arcp__config *config, arcp__hook_set *out,
                                                arcp_error *err);
void arcp__hook_set_fini(arcp__hook_set *set);

typedef struct arcp__hook_delivery arcp__hook_delivery;

/* Zero-initialised is closed: nothing is delivered. */
typedef struct arcp__hook_sender {
    uv_loop_t *loop;
    const arcp__web_client_ops *ops; /* NULL: no hook has had a url */
    arcp__web_client *client;
    arcp__process_table *processes; /* NULL: no hook has had a command */
    arcp__hook_set set;
    arcp__hook_delivery *under_way;
} arcp__hook_sender;

/* Takes the set over, with what it needs: the module with the HTTP client, a table for processes.
 * Deliveries that are under way go on. ARCP_E_USAGE, ARCP_E_IO, ARCP_E_NO_MEMORY: nothing has
 * changed. */
ARCP_MUST_CHECK arcp_status arcp__hook_sender_set(arcp__hook_sender *sender, uv_loop_t *loop,
                                                  arcp__hook_set *set, arcp_error *err);
/* An arcp__deliver_fn; `user` is the sender. */
void arcp__hook_sender_deliver(void *user, arcp_runtime *runtime, uint64_t id, arcp_span hook,
                               arcp_span body);
/* Ends what is under way, which the next start attempts again. Before the runtime is freed; the
 * loop has to run once more. */
void arcp__hook_sender_close(arcp__hook_sender *sender);

/* ---- hook_signature.c ---- */

/* Appends "t=UNIX,v1=HEX": the HMAC-SHA256, with the secret, of UNIX, a full stop and the body.
 * False: out of memory. */
bool arcp__hook_sign(arcp_span secret, int64_t unix_sec, arcp_span body, arcp_buf *out);

#endif
