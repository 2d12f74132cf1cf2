#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#define LINE_WIDTH 92

/* Appends ` [--name ARGUMENT]`, breaking the line before it gets too long. */
static void append_piece(arcp_buf *out, size_t *column, size_t indent, const char *piece)
{
    const size_t size = strlen(piece);
    if (*column + 1 + size > LINE_WIDTH) {
        arcp_buf_append_byte(out, '\n');
        arcp_buf_append_format(out, "%*s", (int)indent, "");
        *column = indent;
    } else {
        arcp_buf_append_byte(out, ' ');
        *column += 1;
    }
    arcp_buf_append_cstr(out, piece);
    *column += size;
}

/* The options that a help shows: of a command, or of `arcp lease learn`. */
typedef struct shown {
    const char *name;
    arcp__command command;
    bool is_learn;
} shown;

static const shown learn = {arcp__learn_name, ARCP__COMMAND_RUN, true};

static shown shown_of(arcp__command command)
{
    return (shown){arcp__commands[command].name, command, false};
}

/* Whether the option is one of the command's own. */
static bool is_own(const shown *which, arcp__option option)
{
    return arcp__options[option].command == which->command &&
           (!which->is_learn ||
            (arcp__option_is_for_learning(option) && option != ARCP__OPTION_RUN_LEARN));
}

static void append_synopsis(arcp_buf *out, const shown *which)
{
    const arcp__command command = which->command;
    const arcp__command_row *row = &arcp__commands[command];
    const size_t start = out->size;
    arcp_buf_append_format(out, "arcp %s", which->name);
    size_t column = out->size - start;
    const size_t indent = column + 1;
    /* What follows the program of `run` and `mcp` is the program's own. */
    const bool are_last = arcp__command_starts_program(command);
    if (row->arguments[0] != '\0' && !are_last) {
        append_piece(out, &column, indent, row->arguments);
    }
    for (arcp__option i = 0; i < ARCP__OPTION_COUNT; i++) {
        const arcp__option_row *option = &arcp__options[i];
        char piece[160];
        if (is_own(which, i)) {
            (void)snprintf(piece, sizeof piece, "[--%s%s%s]%s", option->name,
                           option->argument[0] == '\0' ? "" : " ", option->argument,
                           option->repeats ? "..." : "");
            append_piece(out, &column, indent, piece);
        }
    }
    if (are_last) {
        append_piece(out, &column, indent, "--");
        append_piece(out, &column, indent, row->arguments);
    }
    arcp_buf_append_byte(out, '\n');
}

void arcp__usage_synopsis(arcp__command command, arcp_buf *out)
{
    const shown which = shown_of(command);
    append_synopsis(out, &which);
}

/* Options that select the runtime or the output of events: accepted by every command, but without
 * effect, and not shown in the help, for a command that uses no runtime. */
static bool is_about_runtime(arcp__option option)
{
    return option == ARCP__OPTION_URL || option == ARCP__OPTION_TOKEN ||
           option == ARCP__OPTION_CONTEXT || option == ARCP__OPTION_CONFIG ||
           option == ARCP__OPTION_TIMESTAMPS || option == ARCP__OPTION_QUIET ||
           option == ARCP__OPTION_CA_FILE;
}

/* The text of an option; where its values are words, these follow: "; WHEN is a, b or c". */
static void append_text_of(arcp_buf *out, const arcp__option_row *row)
{
    arcp_buf_append_cstr(out, row->text);
    if (arcp__option_has_words(row)) {
        arcp_buf_append_format(out, "; %s is ", row->argument);
        for (const char *at = row->completes; *at != '\0';) {
            const size_t size = strcspn(at, "|");
            const char *next = at + size + (at[size] == '|' ? 1 : 0);
            const char *after = *next == '\0' ? "" : strchr(next, '|') != NULL ? ", " : " or ";
            arcp_buf_append_format(out, "%.*s%s", (int)size, at, after);
            at = next;
        }
    }
    arcp_buf_append_cstr(out, row->repeats ? " (may be repeated)" : "");
}

/* The options of a command; ARCP__COMMAND_ANY: those of every command. */
static void append_option_texts(arcp_buf *out, const shown *which, bool connects)
{
    for (arcp__option option = 0; option < ARCP__OPTION_COUNT; option++) {
        const arcp__option_row *row = &arcp__options[option];
        if (is_own(which, option) && (connects || !is_about_runtime(option))) {
            const size_t start = out->size;
            arcp_buf_append_format(out, "  --%s%s%s", row->name,
                                   row->argument[0] == '\0' ? "" : " ", row->argument);
            const size_t columns = out->size - start;
            arcp_buf_append_format(out, "%*s  ", columns < 26 ? (int)(26 - columns) : 0, "");
            append_text_of(out, row);
            arcp_buf_append_byte(out, '\n');
        }
    }
}

static void append_overview(arcp_buf *out)
{
    arcp_buf_append_cstr(out, "usage: arcp [--url URL] [--token TOKEN] [--json] COMMAND ...\n\n"
                              "commands:\n");
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        const arcp__command_row *row = &arcp__commands[command];
        arcp_buf_append_format(out, "  %-11s  %s\n", row->name, row->text);
    }
    arcp_buf_append_cstr(out, "\noptions of every command:\n");
    const shown every = shown_of(ARCP__COMMAND_ANY);
    append_option_texts(out, &every, true);
    arcp_buf_append_cstr(
        out,
        "\nURL and token are taken from the options, else from ARCP_URL and ARCP_TOKEN, else "
        "from\n~/.config/arcp/config.yaml, else from the local arcpd: ws://127.0.0.1:7777/arcp "
        "and the token\nthat it wrote for its user.\n"
        "See `arcp COMMAND --help` and arcp(1) for details.\n"
        "\nexit status: 0 success; 1 error; 2 usage; 3 not connected or not authenticated; "
        "4 denied by the\nlease or its budget; 5 cancelled; 6 timed out; 130 detached by "
        "Ctrl-C. `arcp run` ends with the\nstatus of its command, or 125 when it could not be "
        "confined.\n");
}

static const char lease_subcommands[] =
    "\n"
    "  check LEASE CAPABILITY TARGET    check whether the lease allows the operation\n"
    "  explain LEASE CAPABILITY TARGET  the same, with the reasons\n"
    "  explain LEASE --enforce          show how a sandbox would enforce each line\n"
    "  subset CHILD PARENT              check whether CHILD allows nothing that PARENT does not\n"
    "  diff A B                         show what each lease allows that the other does not\n"
    "  lint LEASE                       report probable mistakes\n"
    "  learn [--exact] -- CMD [ARG]...  run CMD without a sandbox, and print the lease that it "
    "needs\n"
    "\n"
    "A LEASE is JSON, @FILE or - for standard input: a map of capabilities, or an object with the\n"
    "members lease and lease_constraints.\n";

static const char run_text[] =
    "\n"
    "CMD reads the current directory (unless it is /, or HOME, or holds HOME) and what programs\n"
    "need of the system; it writes only to a private /tmp and HOME, and fetches nothing from a\n"
    "network. What it tries beyond that is denied and printed, at the end with the options that\n"
    "would allow it:\n"
    "\n"
    "  arcp run -- make -n\n"
    "  arcp run --write . -- make\n"
    "  arcp run --write . --fetch github.com -- git clone https://github.com/OWNER/NAME\n"
    "  arcp run --fetch http://localhost:8080 -- curl http://localhost:8080/health\n"
    "\n"
    "docs/sandbox.md says what holds, and what does not.\n";

static const char learn_text[] =
    "\n"
    "run CMD without a sandbox, and print the lease that it needs\n"
    "\n"
    "Nothing is confined: CMD does what it does, and what it reads, writes and fetches is written\n"
    "down. At its end the lease with which `arcp run` would let it do the same is printed on\n"
    "standard output; what CMD prints there goes to standard error. Read the lease before you use\n"
    "it:\n"
    "\n"
    "  arcp lease learn -- make >lease.json\n"
    "  arcp run --lease @lease.json -- make\n"
    "\n"
    "A connection is seen at ports 80, 443, 22 and 9418, and at those that --fetch names. With\n"
    "--json the lease is on one line. docs/sandbox.md says what is learnt, and what is not.\n";

static const char mcp_text[] =
    "\n"
    "CMD is any MCP server that uses standard input and output. In the configuration of a client,\n"
    "put `arcp mcp ... --` before the server's command. The client sees and calls only the tools\n"
    "that the lease grants; each call is decided when it is made, and a denied one never reaches "
    "the\n"
    "server. Resources, prompts, and requests of the server to the client are not passed on.\n"
    "\n"
    "  arcp mcp --tool 'read_*' --tool list_directory -- npx -y SERVER DIRECTORY\n"
    "  arcp mcp --name files --lease @lease.json --log mcp.jsonl -- npx -y SERVER DIRECTORY\n"
    "  arcp mcp --tool 'read_*' -- arcp run --read . -- node SERVER.js .\n"
    "\n"
    "The lease is about calls: what the server itself does is confined by `arcp run`, as in the "
    "last\n"
    "line. docs/gateways.md says what holds, and what does not.\n";

static const char models_text[] =
    "\n"
    "Without --prices the models are those of models.providers in the configuration file, as\n"
    "`arcp run --model` has them. The price file is LiteLLM's "
    "model_prices_and_context_window.json;\n"
    "it is not part of arcp.\n"
    "\n"
    "  arcp models --lease '{\"model.use\": [\"gpt-*\"]}'\n"
    "  arcp models --prices prices.json\n"
    "  arcp models --prices prices.json --request call.json --route chat\n"
    "\n"
    "docs/models.md says what the columns mean, and how the cost of a call is bounded.\n";

static const char tools_text[] =
    "\n"
    "The servers are those of tools.servers in the configuration file. Each is started as\n"
    "`arcp run --tool` starts it, asked for its tools, and ended.\n"
    "\n"
    "  arcp tools --lease '{\"tool.call\": [\"files.read_*\"]}'\n";

static const char *text_of(arcp__command command)
{
    return command == ARCP__COMMAND_LEASE    ? lease_subcommands
           : command == ARCP__COMMAND_RUN    ? run_text
           : command == ARCP__COMMAND_MCP    ? mcp_text
           : command == ARCP__COMMAND_MODELS ? models_text
           : command == ARCP__COMMAND_TOOLS  ? tools_text
                                             : "";
}

void arcp__usage_help(arcp__command command, arcp_buf *out)
{
    if (command == ARCP__COMMAND_ANY) {
        append_overview(out);
        return;
    }
    const arcp__command_row *row = &arcp__commands[command];
    const shown which = shown_of(command);
    const shown every = shown_of(ARCP__COMMAND_ANY);
    arcp_buf_append_cstr(out, "usage: ");
    append_synopsis(out, &which);
    arcp_buf_append_format(out, "\n%s\n%s\noptions:\n", row->text, text_of(command));
    append_option_texts(out, &which, row->connects);
    append_option_texts(out, &every, row->connects);
}

void arcp__usage_learn(arcp_buf *out)
{
    const shown every = shown_of(ARCP__COMMAND_ANY);
    arcp_buf_append_cstr(out, "usage: ");
    append_synopsis(out, &learn);
    arcp_buf_append_format(out, "%s\noptions:\n", learn_text);
    append_option_texts(out, &learn, false);
    append_option_texts(out, &every, false);
}

/* ---- the manual ---- */

/* Escapes the characters that have a meaning in scdoc: * _ \ [ ] < and #. */
static void append_escaped(arcp_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("*_\\[]<#", *text) != NULL) {
            arcp_buf_append_byte(out, '\\');
        }
        arcp_buf_append_byte(out, *text);
    }
}

static void append_manual_options(arcp_buf *out, arcp__command command)
{
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        const arcp__option_row *row = &arcp__options[option];
        if (row->command != command) {
            continue;
        }
        arcp_buf_append_format(out, "*--%s*", row->name);
        if (row->argument[0] != '\0') {
            arcp_buf_append_cstr(out, " _");
            append_escaped(out, row->argument);
            arcp_buf_append_byte(out, '_');
        }
        arcp_buf text = arcp_buf_init();
        append_text_of(&text, row);
        arcp_buf_append_cstr(out, "\n\t");
        append_escaped(out, text.failed ? row->text : arcp_buf_cstr(&text));
        arcp_buf_append_cstr(out, ".\n\n");
        arcp_buf_fini(&text);
    }
}

void arcp__usage_manual(arcp_buf *out)
{
    arcp_buf_append_cstr(out, "# OPTIONS\n\n");
    append_manual_options(out, ARCP__COMMAND_ANY);
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        bool has_options = false;
        for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
            has_options = has_options || arcp__options[option].command == (arcp__command)command;
        }
        if (has_options) {
            arcp_buf_append_format(out, "## %s\n\n", arcp__commands[command].name);
            append_manual_options(out, (arcp__command)command);
        }
    }
}
