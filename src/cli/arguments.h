/* The command line, read by the tables. */
#ifndef ARCP_CLI_ARGUMENTS_H
#define ARCP_CLI_ARGUMENTS_H

#include <arcp/error.h>

#include "cli/command_table.h"

/* Texts are borrowed from argv, but for the token, which is copied so that argv can be wiped. */
typedef struct arcp__arguments {
    arcp__command command; /* ARCP__COMMAND_ANY: none was given */
    /* The values of each option in their order; switches have "". */
    const char **values[ARCP__OPTION_COUNT]; /* owned arrays */
    size_t counts[ARCP__OPTION_COUNT];
    const char **words; /* owned array: what is no option, without the command */
    size_t word_count;
    char *token; /* owned; NULL when --token was not given */
} arcp__arguments;

/* Reads argv[1] and on, as the arguments of `command`; with ARCP__COMMAND_ANY the first word names
 * it. ARCP_E_USAGE with a message for people; `out` is to be freed either way. A --token in argv is
 * overwritten. */
ARCP_MUST_CHECK arcp_status arcp__arguments_parse(arcp__arguments *out, arcp__command command,
                                                  int argc, char **argv, arcp_error *err);
void arcp__arguments_fini(arcp__arguments *arguments);

/* Where in argv the word stands that names the command, which may be unknown; 0 when there is none,
 * when it is `help`, or when an option before it is wrong. argv stays as it is. */
int arcp__arguments_command_at(int argc, char *const *argv);

static inline bool arcp__has(const arcp__arguments *arguments, arcp__option option)
{
    return arguments->counts[option] != 0;
}

/* The last value of an option, NULL when it was not given. */
static inline const char *arcp__value(const arcp__arguments *arguments, arcp__option option)
{
    size_t count = arguments->counts[option];
    return count == 0 ? NULL : arguments->values[option][count - 1];
}

#endif
