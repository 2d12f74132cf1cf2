/* From the configuration's part `credentials:` to a provisioner. */
#ifndef ARCP_ARCPD_CREDENTIALS_H
#define ARCP_ARCPD_CREDENTIALS_H

#include "arcpd/config_credentials.h"

/* What a provisioner borrows. It must live longer than the provisioner. */
typedef struct arcp__credentials {
    arcp__config_credentials config; /* as at start: a reload replaces the rest only */
    char key_file[4096];
    char used_file[4096];
    void *module; /* of dlopen */
} arcp__credentials;

/* Takes what `config` has. *out is NULL for `none`. `directory` is the state directory. Errors as
 * the provisioners have them, and ARCP_E_USAGE for a file that cannot be read or a module that is
 * not there. */
ARCP_MUST_CHECK arcp_status arcp__credentials_open(arcp__credentials *self,
                                                   arcp__config_credentials *config,
                                                   struct uv_loop_s *loop, const char *directory,
                                                   arcp_provisioner **out, arcp_error *err);
/* After the provisioner was freed and the loop ran. */
void arcp__credentials_close(arcp__credentials *self);

#endif
