#include "arcp/completion.h"

#include <string.h>

#include "arcp/command.h"

void arcp__completion_runtime_options(arcp_buf *out, const char *between)
{
    static const arcp__option options[] = {ARCP__OPTION_URL, ARCP__OPTION_TOKEN,
                                           ARCP__OPTION_CA_FILE, ARCP__OPTION_CONTEXT,
                                           ARCP__OPTION_CONFIG};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        arcp_buf_append_format(out, "%s--%s", i == 0 ? "" : between,
                               arcp__options[options[i]].name);
    }
}

const char *arcp__completion_lister(const char *kind)
{
    return strcmp(kind, "job") == 0            ? "jobs -o name --limit 50"
           : strcmp(kind, "agent") == 0        ? "agents -o name"
           : strcmp(kind, "session") == 0      ? "sessions -o name"
           : strcmp(kind, "notification") == 0 ? "hooks -o name"
           : strcmp(kind, "worker") == 0       ? "workers -o name"
           : strcmp(kind, "context") == 0      ? "context list -o name"
                                               : NULL;
}

const char *arcp__completion_arguments_lister(arcp__command command)
{
    const char *arguments = arcp__commands[command].arguments;
    return strncmp(arguments, "JOB", 3) == 0           ? arcp__completion_lister("job")
           : strcmp(arguments, "AGENT") == 0           ? arcp__completion_lister("agent")
           : strstr(arguments, "SESSION") != NULL      ? arcp__completion_lister("session")
           : strstr(arguments, "NOTIFICATION") != NULL ? arcp__completion_lister("notification")
           : strstr(arguments, "WORKER") != NULL       ? arcp__completion_lister("worker")
           : strstr(arguments, "CONTEXT") != NULL      ? arcp__completion_lister("context")
                                                       : NULL;
}

void arcp__completion_words(arcp_buf *out, const char *alternatives)
{
    alternatives += *alternatives == '[' ? 1 : 0;
    for (; *alternatives != '\0' && *alternatives != ' ' && *alternatives != ']'; alternatives++) {
        arcp_buf_append_byte(out, *alternatives == '|' ? ' ' : *alternatives);
    }
}

const char *arcp__completion_subcommands(arcp__command command)
{
    const char *arguments = arcp__commands[command].arguments;
    const char first = arguments[arguments[0] == '[' ? 1 : 0];
    return first >= 'a' && first <= 'z' ? arguments : NULL; /* other arguments are capitals */
}

void arcp__completion_commands(arcp_buf *out)
{
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        arcp_buf_append_format(out, "%s ", arcp__commands[command].name);
    }
    arcp_buf_append_cstr(out, "help");
}

bool arcp__completion_takes_files(arcp__command command)
{
    return command == ARCP__COMMAND_AUDIT || command == ARCP__COMMAND_STORE ||
           command == ARCP__COMMAND_REPLAY;
}

bool arcp__completion_is_hidden(arcp__command command, const arcp__option_row *row)
{
    for (int option = 0; row->command != command && option < ARCP__OPTION_COUNT; option++) {
        if (arcp__options[option].command == command &&
            strcmp(arcp__options[option].name, row->name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- bash ---- */

static void append_option_names(arcp_buf *out, arcp__command command)
{
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        if (arcp__options[option].command == command) {
            arcp_buf_append_format(out, " --%s", arcp__options[option].name);
        }
    }
}

/* The values of the options of a command; of each, the line of a `case` about COMMAND OPTION. */
static void bash_values(arcp_buf *out, arcp__command command)
{
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        const arcp__option_row *row = &arcp__options[option];
        const char *lister = arcp__completion_lister(row->completes);
        if (row->command != command || row->argument[0] == '\0') {
            continue;
        }
        if (command == ARCP__COMMAND_ANY) {
            arcp_buf_append_format(out, "        *' --%s') ", row->name);
        } else {
            const char *name = arcp__commands[command].name;
            const char letter = arcp__option_letter(row->name);
            arcp_buf_append_format(out, "        '%s --%s'", name, row->name);
            if (letter != '\0') {
                arcp_buf_append_format(out, "|'%s -%c'", name, letter);
            }
            arcp_buf_append_cstr(out, ") ");
        }
        if (strcmp(row->completes, "file") == 0) {
            arcp_buf_append_cstr(out, "_arcp_files");
        } else if (lister != NULL) {
            arcp_buf_append_format(out, "_arcp_words \"$(_arcp_ask %s)\"", lister);
        } else if (row->completes[0] != '\0') {
            arcp_buf_append_cstr(out, "_arcp_words \"");
            arcp__completion_words(out, row->completes);
            arcp_buf_append_cstr(out, "\"");
        } else {
            arcp_buf_append_cstr(out, "COMPREPLY=()");
        }
        arcp_buf_append_cstr(out, "; return ;;\n");
    }
}

/* What can stand at the place of an argument: options, subcommands, files, and what a runtime has.
 */
static void bash_arguments(arcp_buf *out, arcp__command command)
{
    const char *subcommands = arcp__completion_subcommands(command);
    const char *lister = arcp__completion_arguments_lister(command);
    arcp_buf_append_format(out, "        %s)\n            words=\"", arcp__commands[command].name);
    append_option_names(out, command);
    arcp_buf_append_cstr(out, "\"\n");
    if (subcommands != NULL) {
        arcp_buf_append_cstr(out, "            subcommands=\"");
        arcp__completion_words(out, subcommands);
        arcp_buf_append_cstr(out, "\"\n");
    }
    if (lister != NULL) {
        arcp_buf_append_format(out, "            lister=\"%s\"\n", lister);
    }
    if (arcp__completion_takes_files(command) || arcp__command_starts_program(command)) {
        arcp_buf_append_cstr(out, "            files=yes\n");
    }
    if (arcp__command_starts_program(command)) {
        arcp_buf_append_cstr(out, "            programs=yes\n");
    }
    arcp_buf_append_cstr(out, "            ;;\n");
}

/* bash makes words of its own of = and @, and completes what is behind them. */
static const char bash_begin[] =
    "# bash completion for arcp: source it, or put it into\n"
    "# ~/.local/share/bash-completion/completions/arcp\n"
    "\n"
    "# What the runtime of this command line has, a name a line; nothing if it does not answer.\n"
    "_arcp_ask()\n"
    "{\n"
    "    local -a line runtime=()\n"
    "    local i\n"
    "    read -ra line <<<\"${COMP_LINE:0:COMP_POINT}\"\n"
    "    for ((i = 1; i < ${#line[@]}; i++)); do\n"
    "        case \"${line[i]}\" in\n";

static const char bash_middle[] =
    "        esac\n"
    "    done\n"
    "    timeout 3 arcp \"${runtime[@]/#\\~\\//$HOME/}\" \"$@\" 2>/dev/null\n"
    "}\n"
    "\n"
    "_arcp_words()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\")\n"
    "}\n"
    "\n"
    "_arcp_files()\n"
    "{\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$current\")\n"
    "}\n"
    "\n"
    "_arcp()\n"
    "{\n"
    "    local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"\" command=\"\" words=\"\" "
    "subcommands=\"\"\n"
    "    local lister=\"\" files=\"\" programs=\"\" skip=\"\" word\n"
    "    COMPREPLY=()\n"
    "    ((COMP_CWORD > 0)) && previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
    "    if [ \"$current\" = = ]; then\n"
    "        current=\"\"\n"
    "    elif [ \"$previous\" = = ] && ((COMP_CWORD > 1)); then\n"
    "        previous=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
    "    fi\n"
    "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
    "        if [ \"$word\" = = ]; then\n"
    "            skip=yes\n"
    "        elif [ -n \"$skip\" ]; then\n"
    "            skip=\"\"\n"
    "        else\n"
    "            case \"$word\" in\n";

static const char bash_end[] =
    "    esac\n"
    "    word=\" ${COMP_WORDS[*]:0:COMP_CWORD} \"\n"
    "    if [ -n \"$subcommands\" ] && ! [[ $word =~ \" \"(${subcommands// /|})\" \" ]]; then\n"
    "        words+=\" $subcommands\"\n"
    "    elif [ -n \"$lister\" ] && [[ $current != -* ]]; then\n"
    "        words+=\" $(_arcp_ask $lister)\"\n"
    "    fi\n"
    "    _arcp_words \"$words\"\n"
    "    [ -z \"$files\" ] || _arcp_files\n"
    "    [ -z \"$programs\" ] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- "
    "\"$current\")\n"
    "}\n"
    "complete -F _arcp arcp\n";

static void append_bash(arcp_buf *out)
{
    arcp_buf_append_cstr(out, bash_begin);
    arcp_buf_append_cstr(out, "            ");
    arcp__completion_runtime_options(out, " | ");
    arcp_buf_append_cstr(out, ")\n                ((i + 1 == ${#line[@]})) || "
                              "runtime+=(\"${line[i]}\" \"${line[++i]}\") ;;\n"
                              "            ");
    arcp__completion_runtime_options(out, "=* | ");
    arcp_buf_append_cstr(out, "=*)\n                runtime+=(\"${line[i]}\") ;;\n");
    arcp_buf_append_cstr(out, bash_middle);
    arcp_buf_append_cstr(out, "                ");
    arcp__completion_runtime_options(out, " | ");
    arcp_buf_append_cstr(out, " | --color) skip=yes ;;\n                *) case \" ");
    arcp__completion_commands(out);
    arcp_buf_append_cstr(out, " \" in *\" $word \"*) command=\"$word\"; break ;; esac ;;\n"
                              "            esac\n"
                              "        fi\n"
                              "    done\n"
                              "    case \"$command $previous\" in\n"
                              "        *' @') _arcp_files; return ;;\n");
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        bash_values(out, (arcp__command)command);
    }
    bash_values(out, ARCP__COMMAND_ANY);
    arcp_buf_append_cstr(out, "    esac\n    case \"$command\" in\n");
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        bash_arguments(out, (arcp__command)command);
    }
    arcp_buf_append_cstr(out, "        *) words=\"");
    arcp__completion_commands(out);
    arcp_buf_append_cstr(out, "\" ;;\n    esac\n    words+=\"");
    append_option_names(out, ARCP__COMMAND_ANY);
    arcp_buf_append_cstr(out, "\"\n    case \"$command\" in\n        help) words=\"");
    arcp__completion_commands(out);
    arcp_buf_append_cstr(out, "\" ;;\n");
    arcp_buf_append_cstr(out, bash_end);
}

bool arcp__completion_script(const char *shell, arcp_buf *out)
{
    static const struct {
        const char *shell;
        void (*append)(arcp_buf *out);
    } shells[] = {
        {"bash", append_bash}, {"zsh", arcp__completion_zsh}, {"fish", arcp__completion_fish}};
    for (size_t row = 0; row < sizeof shells / sizeof shells[0]; row++) {
        if (strcmp(shells[row].shell, shell) == 0) {
            shells[row].append(out);
            return true;
        }
    }
    return false;
}
