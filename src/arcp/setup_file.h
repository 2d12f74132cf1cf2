/* The gateways that the configuration file of `arcp` names: the groups `gateways`, `models` and
 * `tools`, as in arcpd.yaml. */
#ifndef ARCP_ARCP_SETUP_FILE_H
#define ARCP_ARCP_SETUP_FILE_H

#include "cli/cli.h"
#include "setup/setup.h"

typedef struct arcp__setup_file {
    arcp__setup setup;         /* must be first */
    arcp_buf path;             /* with a NUL behind it */
    arcp__text_list files;     /* absolute paths: the file itself, and those of {file:PATH} */
    arcp__text_list variables; /* names: those of {env:NAME} */
} arcp__setup_file;

/* A file that does not exist has no providers and no servers, unless --config names it. `~/` at the
 * beginning of a path is the home directory; other paths must be absolute. ARCP_E_USAGE names file,
 * line and key. The caller calls _fini, in any case. */
ARCP_MUST_CHECK arcp_status arcp__setup_file_read(const arcp__arguments *arguments,
                                                  arcp__setup_file *out, arcp_error *err);
void arcp__setup_file_fini(arcp__setup_file *file);

#endif
