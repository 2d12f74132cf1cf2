#include <string.h>

#include "arcp/completion.h"

/* The text is inside single quotes and brackets, where a colon is a separator. */
static void append_text(arcp_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            arcp_buf_append_cstr(out, "'\\''");
            continue;
        }
        if (strchr("[]:\\", *text) != NULL) {
            arcp_buf_append_byte(out, '\\');
        }
        arcp_buf_append_byte(out, *text);
    }
}

/* One argument of _arguments about an option: both names of one that has a letter. */
static void append_option(arcp_buf *out, const arcp__option_row *row)
{
    const char letter = arcp__option_letter(row->name);
    const char *lister = arcp__completion_lister(row->completes);
    arcp_buf_append_cstr(out, " \\\n      ");
    if (letter == '\0') {
        arcp_buf_append_format(out, "'%s--%s[", row->repeats ? "*" : "", row->name);
    } else {
        arcp_buf_append_format(out, "'(-%c --%s)'{-%c,--%s}'[", letter, row->name, letter,
                               row->name);
    }
    append_text(out, row->text);
    arcp_buf_append_byte(out, ']');
    if (row->argument[0] != '\0') {
        arcp_buf_append_byte(out, ':');
        append_text(out, row->argument);
        arcp_buf_append_byte(out, ':');
        if (strcmp(row->completes, "file") == 0) {
            arcp_buf_append_cstr(out, "_files");
        } else if (lister != NULL) {
            arcp_buf_append_format(out, "($(_arcp_ask %s))", lister);
        } else if (row->completes[0] != '\0') {
            arcp_buf_append_byte(out, '(');
            arcp__completion_words(out, row->completes);
            arcp_buf_append_byte(out, ')');
        }
    }
    arcp_buf_append_byte(out, '\'');
}

/* The options of `command` (ANY: those of all commands) in the list for the command `shown`. */
static void append_options(arcp_buf *out, arcp__command command, arcp__command shown)
{
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        const arcp__option_row *row = &arcp__options[option];
        if (row->command == command && !arcp__completion_is_hidden(shown, row)) {
            append_option(out, row);
        }
    }
}

static void append_command(arcp_buf *out, arcp__command command)
{
    const char *subcommands = arcp__completion_subcommands(command);
    const char *lister = arcp__completion_arguments_lister(command);
    arcp_buf_append_format(out, "    %s) _arguments", arcp__commands[command].name);
    append_options(out, command, command);
    append_options(out, ARCP__COMMAND_ANY, command);
    if (subcommands != NULL) {
        arcp_buf_append_format(out, " '1:%s:(",
                               command == ARCP__COMMAND_COMPLETION ? "shell" : "subcommand");
        arcp__completion_words(out, subcommands);
        arcp_buf_append_cstr(out, ")'");
    }
    if (lister != NULL) {
        arcp_buf_append_cstr(out, " '*:");
        append_text(out, arcp__commands[command].arguments);
        arcp_buf_append_format(out, ":($(_arcp_ask %s))'", lister);
    }
    if (arcp__command_starts_program(command)) {
        arcp_buf_append_cstr(out, " '(-)1:command:_command_names -e' '*::arguments: _normal'");
    } else if (command == ARCP__COMMAND_LEASE || arcp__completion_takes_files(command)) {
        arcp_buf_append_cstr(out, " '*:file:_files'");
    }
    arcp_buf_append_cstr(out, " ;;\n");
}

/* `words` is the whole line only before _arguments. */
static const char begin[] =
    "#compdef arcp\n"
    "# zsh completion for arcp: put it into a folder of $fpath as _arcp, or source it after "
    "compinit\n"
    "\n"
    "# What the runtime of this command line has, a name a line; nothing if it does not answer.\n"
    "_arcp_ask() {\n"
    "  timeout 3 arcp $runtime \"$@\" 2>/dev/null\n"
    "}\n"
    "\n"
    "_arcp() {\n"
    "  local context state line\n"
    "  local -a runtime\n"
    "  local -i i\n"
    "  typeset -A opt_args\n"
    "  for ((i = 2; i < CURRENT; i++)); do\n"
    "    case $words[i] in\n";

void arcp__completion_zsh(arcp_buf *out)
{
    arcp_buf_append_cstr(out, begin);
    arcp_buf_append_cstr(out, "    ");
    arcp__completion_runtime_options(out, "|");
    arcp_buf_append_cstr(out,
                         ") ((i + 1 == CURRENT)) || "
                         "runtime+=(\"$words[i]\" \"${(Q)words[++i]/#\\~\\//$HOME/}\") ;;\n    ");
    arcp__completion_runtime_options(out, "=*|");
    arcp_buf_append_cstr(out, "=*) runtime+=(\"${(Q)words[i]}\") ;;\n"
                              "    esac\n  done\n  _arguments -C");
    append_options(out, ARCP__COMMAND_ANY, ARCP__COMMAND_ANY);
    arcp_buf_append_cstr(out, " \\\n      '1:command:->command' '*::argument:->argument'\n"
                              "  case $state in\n  command)\n    local -a commands\n"
                              "    commands=(\n");
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        arcp_buf_append_format(out, "      '%s:", arcp__commands[command].name);
        append_text(out, arcp__commands[command].text);
        arcp_buf_append_cstr(out, "'\n");
    }
    arcp_buf_append_cstr(out, "      'help:print the help of a command'\n    )\n"
                              "    _describe command commands ;;\n  argument)\n"
                              "    case $line[1] in\n    help) _arguments '1:command:(");
    arcp__completion_commands(out);
    arcp_buf_append_cstr(out, ")' ;;\n");
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        append_command(out, (arcp__command)command);
    }
    arcp_buf_append_cstr(out, "    esac ;;\n  esac\n}\n\n"
                              "if [[ $funcstack[1] == _arcp ]]; then\n  _arcp \"$@\"\n"
                              "else\n  compdef _arcp arcp\nfi\n");
}
