#include "cli/cli.h"

#include <string.h>

const arcp__command_row arcp__commands[ARCP__COMMAND_COUNT] = {
    [ARCP__COMMAND_ANY] = {"", "", 0, 0, true, ""},
#define ARCP_COMMAND(id, name, arguments, least, most, connects, text)                             \
    [ARCP__COMMAND_##id] = {name, arguments, least, most, connects, text},
#include "cli/command.def"
#undef ARCP_COMMAND
};

const arcp__option_row arcp__options[ARCP__OPTION_COUNT] = {
#define ARCP_OPTION(id, command, name, argument, repeats, completes, text)                         \
    [ARCP__OPTION_##id] = {ARCP__COMMAND_##command, name, argument, repeats, completes, text},
#include "cli/option.def"
#undef ARCP_OPTION
};

arcp__command arcp__command_of(const char *name)
{
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        if (strcmp(arcp__commands[command].name, name) == 0) {
            return (arcp__command)command;
        }
    }
    return ARCP__COMMAND_ANY;
}
