#include <string.h>

#include "arcp/completion.h"

static void append_text(arcp_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            arcp_buf_append_byte(out, '\\');
        }
        arcp_buf_append_byte(out, *text);
    }
}

static void append_option(arcp_buf *out, const arcp__option_row *row)
{
    const char letter = arcp__option_letter(row->name);
    const char *lister = arcp__completion_lister(row->completes);
    arcp_buf_append_cstr(out, "complete -c arcp");
    if (row->command != ARCP__COMMAND_ANY) {
        arcp_buf_append_format(out, " -n '__arcp_is %s'", arcp__commands[row->command].name);
    }
    arcp_buf_append_format(out, " -l %s", row->name);
    if (letter != '\0') {
        arcp_buf_append_format(out, " -s %c", letter);
    }
    if (strcmp(row->completes, "file") == 0) {
        arcp_buf_append_cstr(out, " -r -F");
    } else if (lister != NULL) {
        arcp_buf_append_format(out, " -x -a '(__arcp_ask %s)'", lister);
    } else if (row->completes[0] != '\0') {
        arcp_buf_append_cstr(out, " -x -a '");
        arcp__completion_words(out, row->completes);
        arcp_buf_append_byte(out, '\'');
    } else if (row->argument[0] != '\0') {
        arcp_buf_append_cstr(out, " -x");
    }
    arcp_buf_append_cstr(out, " -d '");
    append_text(out, row->text);
    arcp_buf_append_cstr(out, "'\n");
}

static void append_arguments(arcp_buf *out, arcp__command command)
{
    const char *name = arcp__commands[command].name;
    const char *subcommands = arcp__completion_subcommands(command);
    const char *lister = arcp__completion_arguments_lister(command);
    if (subcommands != NULL) {
        arcp_buf_append_format(out,
                               "complete -c arcp -n '__arcp_is %s; and not "
                               "__fish_seen_subcommand_from ",
                               name);
        arcp__completion_words(out, subcommands);
        arcp_buf_append_cstr(out, "' -a '");
        arcp__completion_words(out, subcommands);
        arcp_buf_append_cstr(out, "'\n");
    }
    if (lister != NULL) {
        arcp_buf_append_format(out, "complete -c arcp -n '__arcp_is %s", name);
        if (subcommands != NULL) {
            arcp_buf_append_cstr(out, "; and __fish_seen_subcommand_from ");
            arcp__completion_words(out, subcommands);
        }
        arcp_buf_append_format(out, "' -a '(__arcp_ask %s)'\n", lister);
    }
    if (arcp__completion_takes_files(command)) {
        arcp_buf_append_format(out, "complete -c arcp -n '__arcp_is %s' -F\n", name);
    }
    if (arcp__command_starts_program(command)) {
        arcp_buf_append_format(out,
                               "complete -c arcp -n '__arcp_is %s' -x -a "
                               "'(__fish_complete_subcommand --fcs-skip=2)'\n",
                               name);
    }
}

static const char begin[] =
    "# fish completion for arcp: put it into\n"
    "# ~/.config/fish/completions/arcp.fish\n"
    "\n"
    "# What the runtime of this command line has, a name a line; nothing if it does not answer.\n"
    "function __arcp_ask\n"
    "    set -l words (commandline -opc)\n"
    "    set -l runtime\n"
    "    for i in (seq 2 (count $words))\n"
    "        switch $words[$i]\n"
    "            case ";

static const char middle[] = "                set -a runtime $words[$i]\n"
                             "        end\n"
                             "    end\n"
                             "    timeout 3 arcp $runtime $argv 2>/dev/null\n"
                             "end\n"
                             "\n"
                             "# Whether the command of the line is this one; without an argument: "
                             "whether there is none yet.\n"
                             "function __arcp_is\n"
                             "    set -l skip 0\n"
                             "    for word in (commandline -opc)[2..-1]\n"
                             "        if test $skip = 1\n"
                             "            set skip 0\n"
                             "            continue\n"
                             "        end\n"
                             "        switch $word\n"
                             "            case ";

static const char end[] = " --color\n"
                          "                set skip 1\n"
                          "            case '-*'\n"
                          "            case '*'\n"
                          "                test \"$word\" = \"$argv\"\n"
                          "                return\n"
                          "        end\n"
                          "    end\n"
                          "    test -z \"$argv\"\n"
                          "end\n"
                          "\n"
                          "complete -c arcp -f\n";

void arcp__completion_fish(arcp_buf *out)
{
    arcp_buf_append_cstr(out, begin);
    arcp__completion_runtime_options(out, " ");
    arcp_buf_append_cstr(out, "\n"
                              "                test $i = (count $words)\n"
                              "                or set -a runtime $words[$i] $words[(math $i + 1)]\n"
                              "            case '");
    arcp__completion_runtime_options(out, "=*' '");
    arcp_buf_append_cstr(out, "=*'\n");
    arcp_buf_append_cstr(out, middle);
    arcp__completion_runtime_options(out, " ");
    arcp_buf_append_cstr(out, end);
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        arcp_buf_append_format(out, "complete -c arcp -n __arcp_is -a %s -d '",
                               arcp__commands[command].name);
        append_text(out, arcp__commands[command].text);
        arcp_buf_append_cstr(out, "'\n");
    }
    arcp_buf_append_cstr(out, "complete -c arcp -n __arcp_is -a help -d 'print the help of a "
                              "command'\n"
                              "complete -c arcp -n '__arcp_is help' -a '");
    arcp__completion_commands(out);
    arcp_buf_append_cstr(out, "'\n");
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        append_option(out, &arcp__options[option]);
    }
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        append_arguments(out, (arcp__command)command);
    }
}
