/* An arcpd with a given configuration in a folder of its own, and `arcp` that connects to it. */
#ifndef ARCP_TESTS_ARCPD_HOST_H
#define ARCP_TESTS_ARCPD_HOST_H

#include "support/check.h"

#include "arcp/arcpd_run.h"

/* Its folder is also the state directory. */
typedef arcpd_run host;

/* For cmocka: creates the folder and an environment that is independent of the user. */
int host_setup(void **state);
/* Kills arcpd if it still runs, and removes the folder. */
int host_teardown(void **state);

/* Starts arcpd with a YAML text; an agent's script is found as @agents/NAME.sh. Waits until it
 * is ready. */
void host_start(host *place, const char *yaml);
/* Writes the configuration only. */
void host_configure(const host *place, const char *yaml);
/* SIGTERM, and a clean end. */
void host_stop(host *place);
/* kill -9. */
void host_kill(host *place);

/* Runs `arcp` as the principal of `token` (NULL: no token) and checks its exit status; the
 * caller frees *p. */
void host_run(const host *place, const char *token, process *p, int exit_status,
              const char *const *words);
void host_begin_run(const host *place, const char *token, process *p, const char *const *words);

/* No file of the daemon may grow beyond so many bytes; UINT64_MAX: no limit. */
void host_limit_files(const host *place, uint64_t bytes);

/* The text of a file in the folder, NUL-terminated. */
void host_read(const host *place, const char *name, arcp_buf *out);

#endif
