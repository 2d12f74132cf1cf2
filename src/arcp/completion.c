#include "arcp/command.h"

#include <string.h>

#include "cli/cli.h"

/* Appends "a|b REST" as a list separated by blanks: a b. */
static void append_words(arcp_buf *out, const char *alternatives)
{
    for (; *alternatives != '\0' && *alternatives != ' '; alternatives++) {
        arcp_buf_append_byte(out, *alternatives == '|' ? ' ' : *alternatives);
    }
}

/* The subcommands of a command, as "a|b ...", or NULL. */
static const char *subcommands_of(int command)
{
    const char *arguments = arcp__commands[command].arguments;
    return strchr(arguments, '|') != NULL || command == ARCP__COMMAND_DEBUG ? arguments : NULL;
}

/* A command that prints what the runtime has of a kind ("job", "agent"), a name a line; NULL:
 * another kind. A runtime that cannot be reached has nothing to offer. */
static const char *lister_of(const char *kind)
{
    return strcmp(kind, "job") == 0     ? "arcp jobs -o name --limit 50 --quiet 2>/dev/null"
           : strcmp(kind, "agent") == 0 ? "arcp agents -o name --quiet 2>/dev/null"
                                        : NULL;
}

/* The same for the arguments of a command. */
static const char *lister_of_arguments(int command)
{
    const char *arguments = arcp__commands[command].arguments;
    return strncmp(arguments, "JOB", 3) == 0 ? lister_of("job")
           : strcmp(arguments, "AGENT") == 0 ? lister_of("agent")
                                             : NULL;
}

/* Whether the command's arguments are plain file names, not @FILE. */
static bool takes_files(int command)
{
    return command == ARCP__COMMAND_AUDIT || command == ARCP__COMMAND_STORE;
}

static void append_commands(arcp_buf *out)
{
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        arcp_buf_append_format(out, "%s%s", command == 1 ? "" : " ", arcp__commands[command].name);
    }
}

static void append_option_names(arcp_buf *out, int command, bool first)
{
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        if ((int)arcp__options[option].command == command) {
            arcp_buf_append_format(out, "%s--%s", first ? "" : " ", arcp__options[option].name);
            first = false;
        }
    }
}

/* ---- bash ---- */

static void bash_values(arcp_buf *out)
{
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        const arcp__option_row *row = &arcp__options[option];
        if (row->argument[0] == '\0') {
            continue;
        }
        arcp_buf_append_format(out, "        --%s) ", row->name);
        if (strcmp(row->completes, "file") == 0) {
            arcp_buf_append_cstr(out, "COMPREPLY=($(compgen -f -- \"$current\"))");
        } else if (lister_of(row->completes) != NULL) {
            arcp_buf_append_format(out, "COMPREPLY=($(compgen -W \"$(%s)\" -- \"$current\"))",
                                   lister_of(row->completes));
        } else if (row->completes[0] != '\0') {
            arcp_buf_append_cstr(out, "COMPREPLY=($(compgen -W \"");
            append_words(out, row->completes);
            arcp_buf_append_cstr(out, "\" -- \"$current\"))");
        } else {
            arcp_buf_append_cstr(out, "COMPREPLY=()");
        }
        arcp_buf_append_cstr(out, "; return ;;\n");
    }
}

static void bash_options(arcp_buf *out)
{
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        arcp_buf_append_format(out, "        %s) words=\"", arcp__commands[command].name);
        const char *subcommands = subcommands_of(command);
        append_words(out, subcommands == NULL ? "" : subcommands);
        append_option_names(out, command, subcommands == NULL);
        if (lister_of_arguments(command) != NULL) {
            /* Not while an option is being typed: a runtime is asked. */
            arcp_buf_append_format(out, "\"; [[ $current == -* ]] || words+=\" $(%s)",
                                   lister_of_arguments(command));
        }
        arcp_buf_append_cstr(out, takes_files(command) ? "\"; files=\"yes"
                                  : arcp__command_starts_program((arcp__command)command)
                                      ? "\"; files=\"yes\"; programs=\"yes"
                                      : "");
        arcp_buf_append_cstr(out, "\" ;;\n");
    }
}

static void append_bash(arcp_buf *out)
{
    arcp_buf_append_cstr(out, "# bash completion for arcp: source it, or put it into\n"
                              "# ~/.local/share/bash-completion/completions/arcp\n"
                              "_arcp()\n{\n"
                              "    local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"\" "
                              "command=\"\" words=\"\" files=\"\" programs=\"\" word\n"
                              "    [ \"$COMP_CWORD\" -gt 0 ] && "
                              "previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
                              "    case \"$previous\" in\n"
                              /* bash breaks words at @ and completes the part after it. */
                              "        @) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n");
    bash_values(out);
    arcp_buf_append_cstr(out, "    esac\n    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                              "        case \" ");
    append_commands(out);
    arcp_buf_append_cstr(out, " \" in *\" $word \"*) command=\"$word\"; break ;; esac\n    done\n"
                              "    case \"$command\" in\n");
    bash_options(out);
    arcp_buf_append_cstr(out, "        *) words=\"");
    append_commands(out);
    arcp_buf_append_cstr(out, "\" ;;\n    esac\n    COMPREPLY=($(compgen -W \"$words ");
    append_option_names(out, ARCP__COMMAND_ANY, true);
    arcp_buf_append_cstr(out, "\" -- \"$current\"))\n"
                              "    [ -z \"$files\" ] || "
                              "COMPREPLY+=($(compgen -f -- \"$current\"))\n"
                              "    [ -z \"$programs\" ] || "
                              "COMPREPLY+=($(compgen -c -- \"$current\"))\n"
                              "}\ncomplete -F _arcp arcp\n");
}

/* ---- zsh ---- */

/* The text is inside single quotes and brackets, where a colon is a separator. */
static void append_zsh_text(arcp_buf *out, const char *text)
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

/* Whether the command has an option of its own with the name of one that all commands have. */
static bool has_own(arcp__command command, const char *name)
{
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        if (arcp__options[option].command == command &&
            strcmp(arcp__options[option].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The options of `command` (ANY: those of all commands) in the list for the command `shown`. */
static void zsh_options(arcp_buf *out, arcp__command command, arcp__command shown,
                        const char *indent)
{
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        const arcp__option_row *row = &arcp__options[option];
        if (row->command != command || (command != shown && has_own(shown, row->name))) {
            continue;
        }
        arcp_buf_append_format(out, " \\\n%s'%s--%s[", indent, row->repeats ? "*" : "", row->name);
        append_zsh_text(out, row->text);
        arcp_buf_append_byte(out, ']');
        if (row->argument[0] != '\0') {
            arcp_buf_append_byte(out, ':');
            append_zsh_text(out, row->argument);
            arcp_buf_append_byte(out, ':');
            if (strcmp(row->completes, "file") == 0) {
                arcp_buf_append_cstr(out, "_files");
            } else if (lister_of(row->completes) != NULL) {
                arcp_buf_append_format(out, "($(%s))", lister_of(row->completes));
            } else if (row->completes[0] != '\0') {
                arcp_buf_append_byte(out, '(');
                append_words(out, row->completes);
                arcp_buf_append_byte(out, ')');
            }
        }
        arcp_buf_append_byte(out, '\'');
    }
}

static void append_zsh(arcp_buf *out)
{
    arcp_buf_append_cstr(out, "#compdef arcp\n"
                              "# zsh completion for arcp: put it into a folder of $fpath as _arcp\n"
                              "_arcp() {\n  local context state line\n  typeset -A opt_args\n"
                              "  _arguments -C");
    zsh_options(out, ARCP__COMMAND_ANY, ARCP__COMMAND_ANY, "    ");
    arcp_buf_append_cstr(out, " \\\n    '1:command:->command' '*::argument:->argument'\n"
                              "  case $state in\n  command)\n    local -a commands\n"
                              "    commands=(\n");
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        arcp_buf_append_format(out, "      '%s:", arcp__commands[command].name);
        append_zsh_text(out, arcp__commands[command].text);
        arcp_buf_append_cstr(out, "'\n");
    }
    arcp_buf_append_cstr(out, "    )\n    _describe command commands ;;\n  argument)\n"
                              "    case $line[1] in\n");
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        arcp_buf_append_format(out, "    %s) _arguments", arcp__commands[command].name);
        zsh_options(out, (arcp__command)command, (arcp__command)command, "      ");
        zsh_options(out, ARCP__COMMAND_ANY, (arcp__command)command, "      ");
        if (subcommands_of(command) != NULL) {
            arcp_buf_append_format(out, " '1:%s:(",
                                   command == ARCP__COMMAND_COMPLETION ? "shell" : "subcommand");
            append_words(out, subcommands_of(command));
            arcp_buf_append_cstr(out, ")'");
        }
        if (lister_of_arguments(command) != NULL) {
            arcp_buf_append_format(out, " '*:%s:($(%s))'", arcp__commands[command].arguments,
                                   lister_of_arguments(command));
        }
        arcp_buf_append_cstr(out, command == ARCP__COMMAND_LEASE   ? " '*:lease:_files'"
                                  : command == ARCP__COMMAND_AUDIT ? " '*:log:_files'"
                                  : command == ARCP__COMMAND_STORE ? " '2:file:_files'"
                                  : arcp__command_starts_program((arcp__command)command)
                                      ? " '(-)1:command:_command_names -e' '*::arguments: _normal'"
                                      : "");
        arcp_buf_append_cstr(out, " ;;\n");
    }
    arcp_buf_append_cstr(out, "    esac ;;\n  esac\n}\n_arcp \"$@\"\n");
}

/* ---- fish ---- */

static void append_fish_text(arcp_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            arcp_buf_append_byte(out, '\\');
        }
        arcp_buf_append_byte(out, *text);
    }
}

static void append_fish(arcp_buf *out)
{
    arcp_buf_append_cstr(out, "# fish completion for arcp: put it into\n"
                              "# ~/.config/fish/completions/arcp.fish\n"
                              "complete -c arcp -f\nset -l commands ");
    append_commands(out);
    arcp_buf_append_byte(out, '\n');
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        arcp_buf_append_format(
            out, "complete -c arcp -n \"not __fish_seen_subcommand_from $commands\" -a %s -d '",
            arcp__commands[command].name);
        append_fish_text(out, arcp__commands[command].text);
        arcp_buf_append_cstr(out, "'\n");
    }
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        const arcp__option_row *row = &arcp__options[option];
        arcp_buf_append_cstr(out, "complete -c arcp");
        if (row->command != ARCP__COMMAND_ANY) {
            arcp_buf_append_format(out, " -n '__fish_seen_subcommand_from %s'",
                                   arcp__commands[row->command].name);
        }
        arcp_buf_append_format(out, " -l %s", row->name);
        if (strcmp(row->completes, "file") == 0) {
            arcp_buf_append_cstr(out, " -r -F");
        } else if (lister_of(row->completes) != NULL) {
            arcp_buf_append_format(out, " -x -a '(%s)'", lister_of(row->completes));
        } else if (row->completes[0] != '\0') {
            arcp_buf_append_cstr(out, " -x -a '");
            append_words(out, row->completes);
            arcp_buf_append_byte(out, '\'');
        } else if (row->argument[0] != '\0') {
            arcp_buf_append_cstr(out, " -x");
        }
        arcp_buf_append_cstr(out, " -d '");
        append_fish_text(out, row->text);
        arcp_buf_append_cstr(out, "'\n");
    }
    arcp_buf_append_cstr(out, "complete -c arcp -n '__fish_seen_subcommand_from run' -x -a "
                              "'(__fish_complete_subcommand --fcs-skip=2)'\n");
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        if (lister_of_arguments(command) != NULL) {
            arcp_buf_append_format(
                out, "complete -c arcp -n '__fish_seen_subcommand_from %s' -a '(%s)'\n",
                arcp__commands[command].name, lister_of_arguments(command));
        }
        if (subcommands_of(command) != NULL) {
            arcp_buf_append_format(out, "complete -c arcp -n '__fish_seen_subcommand_from %s' -a '",
                                   arcp__commands[command].name);
            append_words(out, subcommands_of(command));
            arcp_buf_append_cstr(out, takes_files(command) ? "' -F\n" : "'\n");
        }
    }
}

bool arcp__completion_script(const char *shell, arcp_buf *out)
{
    static const struct {
        const char *shell;
        void (*append)(arcp_buf *out);
    } shells[] = {{"bash", append_bash}, {"zsh", append_zsh}, {"fish", append_fish}};
    for (size_t row = 0; row < sizeof shells / sizeof shells[0]; row++) {
        if (strcmp(shells[row].shell, shell) == 0) {
            shells[row].append(out);
            return true;
        }
    }
    return false;
}
