/* From the configuration's part `credentials:` to a provisioner. */
#ifndef ARCP_ARCPD_CREDENTIALS_H
#define ARCP_ARCPD_CREDENTIALS_H

#include "arcpd/config.h"

/* What a provisioner borrows. It must live longer than the provisioner. */
typedef struct arcp__credentials {
    char key_file[4096];
    char used_file[4096];
    void *module; /* of dlopen */
} arcp__credentials;

/* *out is NULL for `none`. The provisioner borrows what `config` points to: a reload leaves that in
 * effect. `directory` is the state directory. Errors as the provisioners have them, and
 * ARCP_E_USAGE for a file that cannot be read or a module that is not there. */
ARCP_MUST_CHECK arcp_status arcp__credentials_open(arcp__credentials *self,
                                                   const arcp__config_credentials *config,
                                                   struct uv_loop_s *loop, const char *directory,
                                                   arcp_provisioner **out, arcp_error *err);
/* After the provisioner was freed and the loop ran. */
void arcp__credentials_close(arcp__credentials *self);

#endif
