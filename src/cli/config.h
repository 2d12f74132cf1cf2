/* Where the runtime is and who one is: options, environment, configuration file, and what a
 * daemon of this machine left for its user. */
#ifndef ARCP_CLI_CONFIG_H
#define ARCP_CLI_CONFIG_H

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/secret.h>

#include "cli/arguments.h"
#include "config/text_list.h"

#define ARCP__DEFAULT_URL "ws://127.0.0.1:7777/arcp"

/* One level of the configuration file: its own, or a profile's. NULL: not there. Owned. */
typedef struct arcp__config_level {
    char *url;
    char *token; /* wiped when freed */
    char *token_file;
    arcp__text_list token_command; /* words */
    char *ca_file;
} arcp__config_level;

typedef struct arcp__config_file {
    arcp__config_level top;
    arcp__config_level profile; /* the chosen one */
    char *default_profile;
} arcp__config_file;

/* Reads the file and the profile `profile` in it (NULL: the file's `profile:`, if any). A file
 * that is not there is an empty one when `may_be_missing`. ARCP_E_USAGE names file, line and
 * key. */
ARCP_MUST_CHECK arcp_status arcp__config_file_read(const char *path, bool may_be_missing,
                                                   const char *profile, arcp__config_file *out,
                                                   arcp_error *err);
void arcp__config_file_fini(arcp__config_file *file);

/* What is used in the end. */
typedef struct arcp__target {
    char *url;          /* owned */
    char *ca_file;      /* owned; may be NULL */
    arcp_secret *token; /* owned; NULL: none was found */
    char *no_token;     /* owned; then: where it was looked for, and what was not sent */
} arcp__target;

/* Options, then ARCP_URL, ARCP_TOKEN, ARCP_PROFILE, then the file, then the daemon of this
 * machine, whose token is used for loopback URLs only. A token of the file is used for the URL
 * that stands beside it, also when another one is named. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__target_find(const arcp__arguments *arguments, arcp__target *out,
                                              arcp_error *err);
void arcp__target_fini(arcp__target *target);

/* Whether two URLs lead to one runtime: scheme, host and port are the same; of a command, all of
 * it. */
bool arcp__url_is_same_runtime(const char *a, const char *b);

/* Whether a URL leads to this machine and nowhere else: its loopback, or a command. */
bool arcp__url_is_local(arcp_span text);

/* Appends the state directory of the user's daemon or of the user: $STATE_DIRECTORY (the daemon's
 * only), $XDG_STATE_HOME/arcp, ~/.local/state/arcp. False when none is known. */
bool arcp__state_directory(bool of_daemon, arcp_buf *out);

#endif
