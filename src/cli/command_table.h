/* Commands and options as tables (command.def, option.def). */
#ifndef ARCP_CLI_COMMAND_TABLE_H
#define ARCP_CLI_COMMAND_TABLE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum arcp__command {
    ARCP__COMMAND_ANY, /* none yet; of options: every command */
#define ARCP_COMMAND(id, name, arguments, least, most, connects, text) ARCP__COMMAND_##id,
#include "cli/command.def"
#undef ARCP_COMMAND
    ARCP__COMMAND_COUNT
} arcp__command;

typedef enum arcp__option {
#define ARCP_OPTION(id, command, name, argument, repeats, completes, text) ARCP__OPTION_##id,
#include "cli/option.def"
#undef ARCP_OPTION
    ARCP__OPTION_COUNT
} arcp__option;

typedef struct arcp__command_row {
    const char *name;
    const char *arguments;
    size_t least, most;
    bool connects;
    const char *text;
} arcp__command_row;

typedef struct arcp__option_row {
    arcp__command command;
    const char *name; /* without the dashes */
    const char *argument;
    bool repeats;
    const char *completes;
    const char *text;
} arcp__option_row;

/* Indexed by the enums; row 0 of the commands is empty. */
extern const arcp__command_row arcp__commands[ARCP__COMMAND_COUNT];
extern const arcp__option_row arcp__options[ARCP__OPTION_COUNT];

/* ARCP__COMMAND_ANY when there is no command of this name. */
arcp__command arcp__command_of(const char *name);

static inline bool arcp__option_belongs(arcp__option option, arcp__command command)
{
    return arcp__options[option].command == ARCP__COMMAND_ANY ||
           arcp__options[option].command == command;
}

#endif
