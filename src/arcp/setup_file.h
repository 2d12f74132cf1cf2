/* What the configuration file of `arcp` says of sandboxes: the groups `gateways`, `models` and
 * `tools`, as in arcpd.yaml, and of `enforce` whether models are called past the gateway. */
#ifndef ARCP_ARCP_SETUP_FILE_H
#define ARCP_ARCP_SETUP_FILE_H

#include "base/arena.h"
#include "cli/cli.h"
#include "sandbox/sandbox.h"
#include "setup/setup.h"

typedef struct arcp__setup_file {
    arcp__setup setup;         /* must be first */
    arcp_buf path;             /* with a NUL behind it */
    arcp__text_list files;     /* absolute paths: the file itself, and those of {file:PATH} */
    arcp__text_list variables; /* names: those of {env:NAME} */
    bool allows_direct_models; /* net.fetch reaches the hosts of models.providers */
} arcp__setup_file;

/* A file that does not exist has no providers and no servers, unless --config names it. `~/` at the
 * beginning of a path is the home directory; other paths must be absolute. ARCP_E_USAGE names file,
 * line and key. The caller calls _fini, in any case. */
ARCP_MUST_CHECK arcp_status arcp__setup_file_read(const arcp__arguments *arguments,
                                                  arcp__setup_file *out, arcp_error *err);
void arcp__setup_file_fini(arcp__setup_file *file);

/* Sets the hosts of the request that no lease reaches, as arcpd does: in the arena, none with
 * `allows_direct`. */
ARCP_MUST_CHECK arcp_status arcp__setup_model_hosts(const arcp__setup *setup, bool allows_direct,
                                                    arcp__arena *arena,
                                                    arcp__sandbox_request *request,
                                                    arcp_error *err);

#endif
