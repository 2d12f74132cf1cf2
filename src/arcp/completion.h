/* What the scripts for the three shells have in common: all are made from the tables of commands
 * and options. Private to completion*.c. */
#ifndef ARCP_ARCP_COMPLETION_H
#define ARCP_ARCP_COMPLETION_H

#include <stdbool.h>

#include <arcp/buf.h>

#include "cli/cli.h"

/* The options of the line that select a runtime, separated by `between`: the listers get them, too.
 */
void arcp__completion_runtime_options(arcp_buf *out, const char *between);

/* The arguments of `arcp` with which it prints what there is of a kind ("job", "agent", "session",
 * "context"), a name a line; NULL: the kind is none of these. */
const char *arcp__completion_lister(const char *kind);

/* The same for the arguments of a command, or of its subcommand. */
const char *arcp__completion_arguments_lister(arcp__command command);

/* Appends the words of "a|b REST" or "[a|b REST]", separated by blanks. */
void arcp__completion_words(arcp_buf *out, const char *alternatives);

/* The subcommands of a command, for arcp__completion_words; NULL: it has none. */
const char *arcp__completion_subcommands(arcp__command command);

/* Appends the names of the commands, separated by blanks. */
void arcp__completion_commands(arcp_buf *out);

/* Whether arguments of the command are plain file names, not @FILE. */
bool arcp__completion_takes_files(arcp__command command);

/* Whether the command has an option of its own with the name of one that all commands have. */
bool arcp__completion_is_hidden(arcp__command command, const arcp__option_row *row);

void arcp__completion_zsh(arcp_buf *out);
void arcp__completion_fish(arcp_buf *out);

#endif
