#include "arcp/command_table.h"

const arcp__command_row arcp__commands[ARCP__COMMAND_COUNT] = {
    [ARCP__COMMAND_ANY] = {"", "", 0, 0, true, ""},
#define ARCP_COMMAND(id, name, arguments, least, most, connects, text)                             \
    [ARCP__COMMAND_##id] = {name, arguments, least, most, connects, text},
#include "arcp/command.def"
#undef ARCP_COMMAND
};

const arcp__option_row arcp__options[ARCP__OPTION_COUNT] = {
#define ARCP_OPTION(id, command, name, argument, repeats, completes, text)                         \
    [ARCP__OPTION_##id] = {ARCP__COMMAND_##command, name, argument, repeats, completes, text},
#include "arcp/option.def"
#undef ARCP_OPTION
};
