/* Code shared by the commands: their tables, command line, configuration file, output, and the
 * connection to the runtime. */
#ifndef ARCP_CLI_CLI_H
#define ARCP_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include <arcp/buf.h>
#include <arcp/client.h>
#include <arcp/error.h>
#include <arcp/secret.h>
#include <arcp/span.h>

#include "base/timestamp.h"
#include "config/config.h"
#include "json/json.h"

/* ---- arguments.c: commands and options as tables (command.def, option.def) ---- */

typedef enum arcp__command {
    ARCP__COMMAND_ANY, /* no command given; in the option table: every command */
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

/* Whether the arguments of the command are a program and its own arguments, so that options come
 * before them. */
static inline bool arcp__command_starts_program(arcp__command command)
{
    return command == ARCP__COMMAND_RUN || command == ARCP__COMMAND_MCP;
}

/* Whether `completes` of an option is the words that it accepts, not what kind of thing. */
bool arcp__option_has_words(const arcp__option_row *row);

/* The letter of the short form of an option with this name; '\0': it has none. */
char arcp__option_letter(const char *name);

/* `arcp lease learn` is ARCP__COMMAND_RUN without a sandbox (is_lease_learn). */
extern const char arcp__learn_name[];

/* Whether an option of `run` may be given when a lease is learnt, by `arcp lease learn` or --learn:
 * not one that makes a lease, or says how it is enforced. */
bool arcp__option_is_for_learning(arcp__option option);

/* Replaces `best` by the name if that is more similar to the word. The similarity of two names is
 * the length of their common prefix plus that of their common suffix, or none when the longer one
 * has more than two letters besides. That is enough to find `--imput`. */
void arcp__keep_most_similar(const char *word, const char *name, const char **best, size_t *most);

/* ARCP__COMMAND_ANY when no command has this name. */
arcp__command arcp__command_of(const char *name);

/* ---- values.c: values of options and arguments ---- */

/* Parses 250ms, 90s, 10m, 2h or 1d (a number without unit: seconds) into nanoseconds.
 * ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__duration_parse(const char *text, int64_t *out_ns,
                                                 arcp_error *err);

/* An instant for the wire: an RFC 3339 time in UTC is checked and returned unchanged; a duration is
 * taken as that long before (sign -1) or after (sign 1) now, and formatted into `room`.
 * ARCP_E_USAGE names the option. */
ARCP_MUST_CHECK arcp_status arcp__instant_text(const char *option, const char *text, int sign,
                                               int64_t now_wall_ns, char room[ARCP__TIMESTAMP_SIZE],
                                               arcp_span *out, arcp_error *err);

/* Nanoseconds since 1970 by the system clock. */
int64_t arcp__now_wall_ns(void);

/* Arguments that are JSON, @FILE, or - for standard input. */

/* Reads the descriptor to its end. Returns 0, EFBIG for more than bytes_max, ENOMEM, or the errno
 * of read(). */
int arcp__read_all(int fd, size_t bytes_max, arcp_buf *out);

/* Appends the text that the argument denotes; `may_be_stdin`: - reads standard input. ARCP_E_USAGE
 * names the file. */
ARCP_MUST_CHECK arcp_status arcp__file_text(const char *argument, bool may_be_stdin, arcp_buf *out,
                                            arcp_error *err);

/* The same, scanned as JSON; `json` borrows from `text`. When the argument is not JSON but the name
 * of an existing file, the error mentions the form @FILE. */
ARCP_MUST_CHECK arcp_status arcp__json_argument(const char *argument, bool may_be_stdin,
                                                const arcp_json_limits *limits, arcp_buf *text,
                                                arcp_json *json, arcp_error *err);

/* The same for the value of an option; only checks that it is JSON. Does nothing when `argument` is
 * NULL. ARCP_E_USAGE begins with the option's name (`option`, given without dashes). */
ARCP_MUST_CHECK arcp_status arcp__json_text(const char *option, const char *argument,
                                            bool may_be_stdin, arcp_buf *out, arcp_error *err);

/* ---- usage.c: help and the options of the manual, generated from the tables ---- */

/* The help of one command, or the overview (ARCP__COMMAND_ANY). */
void arcp__usage_help(arcp__command command, arcp_buf *out);

/* The help of `arcp lease learn`. */
void arcp__usage_learn(arcp_buf *out);

/* The command with its arguments and options. */
void arcp__usage_synopsis(arcp__command command, arcp_buf *out);

/* The options and their texts in scdoc format, for man/arcp.1.scd. */
void arcp__usage_manual(arcp_buf *out);

/* ---- screen.c ---- */

/* Output to standard error: permanent lines and, on a terminal, a status area below them that is
 * redrawn (progress bars, a spinner). In a pipe there are only lines. */

typedef struct arcp__screen {
    int fd;
    bool is_terminal;
    bool has_color;
    bool is_utf8;
    size_t columns;      /* of the terminal */
    size_t status_lines; /* lines of the status area on the screen now */
    bool status_off;     /* the area must not be drawn: the result is written to the terminal */
    arcp_buf out;        /* scratch */
} arcp__screen;

typedef enum arcp__when { ARCP__WHEN_AUTO, ARCP__WHEN_ALWAYS, ARCP__WHEN_NEVER } arcp__when;

/* Depends on the descriptor, the locale, TERM and NO_COLOR. */
void arcp__screen_init(arcp__screen *screen, int fd, arcp__when color);
void arcp__screen_fini(arcp__screen *screen);
/* Reads the terminal's width again. */
void arcp__screen_measure(arcp__screen *screen);

/* Prints a line above the status area, and adds a newline. */
void arcp__screen_line(arcp__screen *screen, arcp_span text);
void arcp__screen_format(arcp__screen *screen, const char *format, ...) ARCP_PRINTF(2, 3);

/* Redraws the status area: lines separated by '\n', each cut at the terminal's width. An empty text
 * clears it. Does nothing in a pipe. */
void arcp__screen_status(arcp__screen *screen, arcp_span text);

/* Erases the "^C" that the terminal has echoed at the cursor. */
void arcp__screen_erase_echo(arcp__screen *screen);

/* Appends untrusted text as one line: control characters are escaped, so that no event can move the
 * cursor or set the window's title. At most `bytes_max` bytes of it, then "...". */
void arcp__append_safe(arcp_buf *out, arcp_span text, size_t bytes_max);

/* Appends untrusted text as one line, 80 bytes of it at most, then spaces up to the width of a
 * column and one more. */
void arcp__append_column(arcp_buf *out, arcp_span text, size_t columns);

/* Appends a piece of an untrusted text of several lines for a terminal: line ends and tabs are
 * kept, other control characters and invalid UTF-8 are escaped. If a character is cut at the end of
 * the piece, `held` keeps its beginning for the next call. */
void arcp__append_shown(arcp_buf *out, arcp_span piece, arcp_buf *held, bool is_last);

/* ---- interrupt.c: signals while a client waits ---- */

/* From now on Ctrl-C (SIGINT) interrupts the client's waits (ARCP_E_INTERRUPTED) instead of ending
 * the program. NULL: it ends the program again. */
void arcp__interrupt_watch(arcp_client *client);
/* The same for Ctrl-C, SIGTERM and SIGHUP, except that a second SIGTERM or SIGHUP ends the program
 * at once, and that a signal stays ignored that the program was started with ignored (nohup). */
void arcp__end_watch(arcp_client *client);
/* Whether SIGTERM or SIGHUP was received. */
bool arcp__end_is_requested(void);
/* Ends the program by the signal that was received, if there was one; not while it is watched. */
void arcp__end_repeat(void);
/* How many of these signals were received while they were watched. */
unsigned arcp__interrupt_count(void);
/* Waits; false: one was received, now or before. */
ARCP_MUST_CHECK bool arcp__interrupt_pause(int64_t ms);

/* From now on a new size of the terminal interrupts the client's waits, too. NULL: no longer. */
void arcp__resize_watch(arcp_client *client);
/* Whether the terminal has got a new size since the last call. */
bool arcp__resize_take(void);

/* ---- wrap.c: what fits a terminal ---- */

/* The size of the character that the text (not empty) begins with, and how many columns it takes on
 * a terminal: none for an escape sequence of a colour, two for a wide character. */
size_t arcp__character_size(arcp_span text, size_t *columns);
size_t arcp__text_columns(arcp_span text);

/* Appends lines for a terminal of `columns` columns (0: as they are). A wider line is broken at
 * blanks, and goes on below its text: behind its label, which two blanks end, or behind a first
 * word with a colon. A word that is wider than a line stays whole, so that it can be copied. */
void arcp__append_wrapped(arcp_buf *out, arcp_span text, size_t columns);

/* ---- record.c: how a list or an object is printed ---- */

typedef enum arcp__format {
    ARCP__FORMAT_TABLE, /* for people */
    ARCP__FORMAT_JSON,  /* an object a line */
    ARCP__FORMAT_YAML,
    ARCP__FORMAT_NAME /* an id or a name a line */
} arcp__format;

struct arcp__program;

/* Reads --output (or --json) of a command that lists; `option` is that command's --output. Sets
 * program->is_json. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__format_read(struct arcp__program *program,
                                              enum arcp__option option, arcp__format *out,
                                              arcp_error *err);

/* The columns of the terminal that standard output is; 0: it is none. */
size_t arcp__output_columns(void);

/* Appends the object as YAML; `is_item`: as an item of a list. Scalars are written as in JSON. */
void arcp__append_yaml(const arcp_json *json, bool is_item, arcp_buf *out);

/* Appends untrusted text as the cell of a table: cut at `columns` columns of a terminal (0: not
 * cut, 1 KiB at most), where "…" or "~" then stands for the rest, and unless it is the last one of
 * its line, with blanks up to that width and one more. */
void arcp__append_cell(arcp_buf *out, arcp_span text, size_t columns, bool is_last);

/* ---- table.c: the rows of a table ---- */

typedef struct arcp__column {
    const char *title;
    size_t width; /* of the last one: 0, because it has the rest of the line */
    size_t from;  /* shown on terminals of at least this width, and where the output is none */
} arcp__column;

typedef struct arcp__table {
    const arcp__column *columns;
    size_t count;
    /* On terminals of fewer columns the end of an id stands for it in the first cell. */
    size_t short_below, short_size;
} arcp__table;

/* Appends a line without its end, for a terminal of so many columns (0: the output is none).
 * `cells` has untrusted texts, one for each column, empty ones are shown as "-"; NULL: the titles.
 */
void arcp__append_row(const arcp__table *table, size_t width, const arcp_span *cells,
                      arcp_buf *out);
/* Prints it. False when it could not be written, which has been reported. */
bool arcp__print_table_row(struct arcp__program *program, const arcp__table *table, size_t width,
                           const arcp_span *cells);

/* ---- arguments.c: parsing the command line ---- */

/* Texts are borrowed from argv, except the token, which is copied so that argv can be wiped. */
typedef struct arcp__arguments {
    arcp__command command; /* ARCP__COMMAND_ANY: none was given */
    /* The values of each option in the order given; "" for a switch. */
    const char **values[ARCP__OPTION_COUNT]; /* owned arrays */
    size_t counts[ARCP__OPTION_COUNT];
    /* Owned array: the positional arguments, without the command; NULL-terminated unless it is
     * empty (NULL). */
    const char **words;
    size_t word_count;
    char *token;         /* owned; NULL when --token was not given */
    bool is_lease_learn; /* RUN: it was given as `lease learn` */
} arcp__arguments;

/* Parses argv[1] and on as the arguments of `command`; with ARCP__COMMAND_ANY the first positional
 * argument names the command. The caller frees `out` in any case. ARCP_E_USAGE. A --token in argv
 * is overwritten. */
ARCP_MUST_CHECK arcp_status arcp__arguments_parse(arcp__arguments *out, arcp__command command,
                                                  int argc, char **argv, arcp_error *err);
void arcp__arguments_fini(arcp__arguments *arguments);

/* The index in argv of the word that names the command, known or not; 0 when there is none, when it
 * is `help`, or when an option before it is not valid. Does not change argv. */
int arcp__arguments_command_at(int argc, char *const *argv);

static inline bool arcp__has(const arcp__arguments *arguments, arcp__option option)
{
    return arguments->counts[option] != 0;
}

/* The last value of an option, or NULL when it was not given. */
static inline const char *arcp__value(const arcp__arguments *arguments, arcp__option option)
{
    size_t count = arguments->counts[option];
    return count == 0 ? NULL : arguments->values[option][count - 1];
}

/* Parses the option's duration; leaves *out_ns unchanged when the option was not given.
 * ARCP_E_USAGE names the option. */
ARCP_MUST_CHECK arcp_status arcp__duration_option(const arcp__arguments *arguments,
                                                  arcp__option option, int64_t *out_ns,
                                                  arcp_error *err);
/* The same for a duration that the wire has in whole seconds, at least 1. */
ARCP_MUST_CHECK arcp_status arcp__seconds_option(const arcp__arguments *arguments,
                                                 arcp__option option, uint64_t *out,
                                                 arcp_error *err);

/* ---- config.c ---- */

/* Finds the URL of the runtime and the token: from options, environment, configuration file, and
 * the token file that the local arcpd wrote for its user. */

#define ARCP__DEFAULT_URL "ws://127.0.0.1:7777/arcp"

/* What the configuration file, or a context, says of a runtime. NULL: not set. Owned. */
typedef struct arcp__config_level {
    char *url;
    char *token; /* wiped when freed */
    char *token_file;
    arcp__text_list token_command; /* words */
    char *ca_file;
} arcp__config_level;

/* Reads the configuration file. With `may_be_missing`, a file that does not exist counts as empty.
 * ARCP_E_USAGE names file, line and key. The caller calls _fini, in any case. */
ARCP_MUST_CHECK arcp_status arcp__config_file_read(const char *path, bool may_be_missing,
                                                   arcp__config_level *out, arcp_error *err);
/* The same for the file of a context, which must exist. */
ARCP_MUST_CHECK arcp_status arcp__context_file_read(const char *path, arcp__config_level *out,
                                                    arcp_error *err);
void arcp__config_level_fini(arcp__config_level *level);

/* Appends the path of the configuration file, with a NUL that is not counted: --config, which must
 * exist, or the one in the user's directory. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__config_path(const arcp__arguments *arguments, arcp_buf *out,
                                              bool *may_be_missing, arcp_error *err);

/* The runtime to connect to. */
typedef struct arcp__target {
    char *url;          /* owned */
    char *ca_file;      /* owned; may be NULL */
    arcp_secret *token; /* owned; NULL: none was found */
    char *no_token;     /* owned; without a token: where it was searched, and why none was sent */
} arcp__target;

/* Precedence: --url, --token and --ca-file; the context of --context; ARCP_URL, ARCP_TOKEN and
 * ARCP_CA_FILE; the context of ARCP_CONTEXT or the current one; the configuration file; the local
 * arcpd, whose token is used only for loopback URLs. A token of a file is sent only to the
 * runtime whose URL is in the same file. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__target_find(const arcp__arguments *arguments, arcp__target *out,
                                              arcp_error *err);
void arcp__target_fini(arcp__target *target);

/* ---- contexts.c ---- */

/* A runtime with a name. This one is the configuration file itself. */
#define ARCP__CONTEXT_DEFAULT  "default"
#define ARCP__CONTEXT_NAME_MAX 64

bool arcp__context_is_default(const char *name);
/* ARCP_E_USAGE: it cannot be the name of a context. */
ARCP_MUST_CHECK arcp_status arcp__context_check_name(const char *name, arcp_error *err);
/* Appends the path of a file in the directory of contexts ("": of that directory itself), with a
 * NUL that is not counted. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__contexts_path(const arcp__arguments *arguments, const char *file,
                                                arcp_buf *out, arcp_error *err);
/* The same for the file of a context, which need not exist. ARCP_E_USAGE: it is no name. */
ARCP_MUST_CHECK arcp_status arcp__context_path(const arcp__arguments *arguments, const char *name,
                                               arcp_buf *out, arcp_error *err);
/* Adds the names of all contexts but the default, sorted. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__context_names(const arcp__arguments *arguments,
                                                arcp__text_list *out, arcp_error *err);
/* Appends the name of the context that `arcp context use` named, with a NUL that is not counted. */
ARCP_MUST_CHECK arcp_status arcp__context_current(const arcp__arguments *arguments, arcp_buf *out,
                                                  arcp_error *err);
/* The same for the one in effect: of --context, of ARCP_CONTEXT, or the current one. */
ARCP_MUST_CHECK arcp_status arcp__context_selected(const arcp__arguments *arguments, arcp_buf *out,
                                                   arcp_error *err);
/* Reads a context that is not the default one. ARCP_E_USAGE when there is none with this name, and
 * as for files. The caller calls arcp__config_level_fini, in any case. */
ARCP_MUST_CHECK arcp_status arcp__context_read(const arcp__arguments *arguments, const char *name,
                                               arcp__config_level *out, arcp_error *err);

/* ---- config.c ---- */

/* Whether two URLs lead to the same runtime: scheme, host and port are equal; stdio: URLs must be
 * equal as a whole. */
bool arcp__url_is_same_runtime(const char *a, const char *b);

/* Whether a URL cannot lead to another machine: its host is loopback, or it is a command. */
bool arcp__url_is_local(arcp_span text);

/* Appends the state directory: $STATE_DIRECTORY (only if `of_daemon`), $XDG_STATE_HOME/arcp or
 * ~/.local/state/arcp. False when none is known. */
bool arcp__state_directory(bool of_daemon, arcp_buf *out);

/* ---- program.c ---- */

/* The main program of `arcp`, arcp-bench and arcp-conformance: arguments, output, the connection to
 * the runtime, exit statuses. */

typedef struct arcp__program {
    arcp__arguments arguments;
    arcp__target target;
    arcp__screen screen; /* standard error */
    bool is_json;
    bool is_quiet;
    arcp_buf state_directory; /* NUL-terminated; empty when there is none */
    arcp_buf error_details;   /* for an error that may be given to arcp__program_fail */
} arcp__program;

/* Does everything that main() does: parses the arguments of `command` (ARCP__COMMAND_ANY: the first
 * word names it), handles --help and --version, and calls `run` otherwise. Returns the exit status.
 * May change argv (a token in it is overwritten). */
int arcp__program_main(arcp__command command, int (*run)(arcp__program *program), int argc,
                       char **argv);

/* Prints the error and, on a terminal, a hint; with --json also prints it on standard output.
 * Returns the exit status for it. */
int arcp__program_fail(arcp__program *program, const arcp_error *err);

/* Prints why no token was sent; false when one was sent. */
bool arcp__program_explain_no_token(arcp__program *program);

/* Like arcp__program_fail, for commands that use no runtime: ARCP_E_IO then concerns a file, not
 * the connection, and the exit status is 1. */
int arcp__program_fail_file(arcp__program *program, const arcp_error *err);

/* With --json, prints the error on standard output; for a command that words its own error
 * message. */
void arcp__program_print_error(arcp__program *program, const arcp_error *err);

/* Prints a line to standard error that begins with the command: "arcp run: TEXT". At most 1 KiB. */
void arcp__program_say(arcp__program *program, const char *format, ...) ARCP_PRINTF(2, 3);

/* Prints an error in how the program was called. Returns the exit status. */
int arcp__program_usage(arcp__program *program, const arcp_error *err);

/* Opens /dev/null for each standard descriptor that is closed, so that no file that is opened later
 * gets its number. False when that fails. */
bool arcp__program_open_descriptors(void);

/* These write to standard output. On failure they print an error and return false. */
bool arcp__program_print(arcp__program *program, arcp_span text);
/* Adds a line feed; on a terminal, escapes control characters. */
bool arcp__program_print_line(arcp__program *program, arcp_span text);
/* Free the text; a text that ran out of memory is an error. */
bool arcp__program_print_buf(arcp__program *program, arcp_buf *text);
bool arcp__program_print_buf_line(arcp__program *program, arcp_buf *text);
/* The same for text that people read: on a terminal, lines are broken at its width. Not with
 * --json. */
bool arcp__program_print_text(arcp__program *program, arcp_buf *text);
bool arcp__program_print_text_line(arcp__program *program, arcp_buf *text);

/* The client options for the runtime that the arguments select; they borrow from the program. */
ARCP_MUST_CHECK arcp_status arcp__program_options(arcp__program *program, arcp_client_options *out,
                                                  arcp_error *err);

/* Connects. On failure prints the error, sets *exit_status and returns NULL. */
ARCP_MUST_CHECK arcp_client *
arcp__program_connect(arcp__program *program, const arcp_client_options *options, int *exit_status);

/* Connects with arcp__program_options, calls `request` and closes. Returns the exit status. */
typedef int (*arcp__program_request_fn)(arcp__program *program, arcp_client *client, void *user);
int arcp__program_request(arcp__program *program, arcp__program_request_fn request, void *user);
/* The same with a client that also has events of its session (observe_all). */
int arcp__program_live(arcp__program *program, arcp__program_request_fn request, void *user);

/* Appends "NAME VERSION" of the runtime from its welcome, with control characters escaped. */
void arcp__runtime_name(arcp_client *client, arcp_buf *out);

/* Exit statuses. */

enum {
#define ARCP__EXIT_CODE(id, code, text) ARCP__EXIT_##id = (code),
#include "cli/exit_code.def"
#undef ARCP__EXIT_CODE
};

int arcp__exit_of_status(arcp_status status);

/* For an ended job: from its error, else from its final status. A job that succeeded but whose
 * result is incomplete is an error. */
int arcp__exit_of_outcome(const arcp_outcome *outcome);

/* For a job of which only the final status is known. */
int arcp__exit_of_job_status(arcp_job_status status);

#endif
