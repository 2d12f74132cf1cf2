/* Enforcement: agents that are programs run in sandboxes, which are made from their leases. What a
 * lease does not grant cannot be done, whether the program asks or not. docs/sandbox.md. */
#ifndef ARCP_ENFORCE_H
#define ARCP_ENFORCE_H

#include <stddef.h>
#include <string.h>

#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How exactly every line of a lease must be enforced for a job to be accepted. EXACT: the line
 * admits precisely the operations that it grants. UNDER: it may admit fewer. ADVISORY: it may be
 * that only the gate decides, when a program asks. docs/sandbox.md has the verdicts. */
typedef enum arcp_enforce_min {
    ARCP_ENFORCE_MIN_DEFAULT = 0, /* the setting enforce.min */
    ARCP_ENFORCE_MIN_EXACT = 1,
    ARCP_ENFORCE_MIN_UNDER = 2,
    ARCP_ENFORCE_MIN_ADVISORY = 3
} arcp_enforce_min;

/* What becomes of TLS to a host of which a lease grants some URLs only. */
typedef enum arcp_enforce_tls {
    ARCP_ENFORCE_TLS_DEFAULT = 0, /* the setting enforce.tls */
    ARCP_ENFORCE_TLS_TUNNEL = 1,
    ARCP_ENFORCE_TLS_TERMINATE = 2
} arcp_enforce_tls;

/* The protection of a `.git` at the root of a directory that a lease allows to write. */
typedef enum arcp_protect {
    ARCP_PROTECT_COMMITS = 0, /* hooks and configuration are read-only; commits work */
    ARCP_PROTECT_STRICT = 1,  /* all of it is read-only */
    ARCP_PROTECT_NONE = 2
} arcp_protect;

/* What a runtime needs to confine its agents, beside the settings enforce.* (arcp/settings.h).
 * Lists are NULL-terminated, and may be NULL. */
typedef struct arcp_enforce_options {
    size_t struct_size;
    /* Absolute paths that every agent may read and execute, whatever its lease says. */
    const char *const *base;
    /* Absolute paths of the program's own files and directories, such as its configuration, tokens
     * and store: no agent may read or write them, whatever its lease says. What is absent counts as
     * a file, unless the path ends with '/'. Names that are made of a file's name and a suffix that
     * begins with '.', '-' or '~' count as that file. The runtime adds its work directory. */
    const char *const *own;
    /* Capabilities that enforce.min does not apply to; one that ends with '.' is a prefix. At most
     * 32. NULL: tool.call, model.use, cost.budget and x-vendor. */
    const char *const *may_be_advisory;
    /* The program arcp-sandbox. NULL: it is searched beside the running program, in
     * ../libexec/arcp relative to it, and where it was installed. A launcher of the program's own
     * must start confined programs (arcp_launch_spec.confinement). */
    const char *sandbox;
    /* Host names that may lead to private addresses. A name in a lease that leads to this machine,
     * or to an address that is not on the public internet, is refused otherwise. */
    const char *const *private_hosts;
    /* URLs of model providers that a gateway calls for agents: no lease's net.fetch reaches their
     * hosts, or on this machine their ports. */
    const char *const *model_urls;
} arcp_enforce_options;

/* Options without lists; nothing needs to be freed. Any thread. */
static inline arcp_enforce_options arcp_enforce_options_init(void)
{
    arcp_enforce_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

#ifdef __cplusplus
}
#endif
#endif
