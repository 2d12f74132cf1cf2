/* What the commands share: their table and options, arguments, the configuration file, what is
 * printed and how, the way to the runtime. */
#ifndef ARCP_CLI_CLI_H
#define ARCP_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include <arcp/buf.h>
#include <arcp/client.h>
#include <arcp/error.h>
#include <arcp/json.h>
#include <arcp/secret.h>
#include <arcp/span.h>

#include "base/timestamp.h"
#include "config/config.h"

/* ---- arguments.c: commands and options as tables (command.def, option.def) ---- */

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

/* ---- values.c: times as people write them ---- */

/* 250ms, 90s, 10m, 2h, 1d; a number alone is seconds. Nanoseconds. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__duration_parse(const char *text, int64_t *out_ns,
                                                 arcp_error *err);

/* A count of seconds from 1 up. ARCP_E_USAGE names the option (without its dashes). */
ARCP_MUST_CHECK arcp_status arcp__seconds_parse(const char *option, const char *text, uint64_t *out,
                                                arcp_error *err);

/* An instant for the wire: RFC 3339 in UTC as it is (checked), or a duration before (sign -1)
 * or after (sign 1) now. `room` is used for the latter. ARCP_E_USAGE names the option. */
ARCP_MUST_CHECK arcp_status arcp__instant_text(const char *option, const char *text, int sign,
                                               int64_t now_wall_ns, char room[ARCP__TIMESTAMP_SIZE],
                                               arcp_span *out, arcp_error *err);

/* Nanoseconds since 1970, by the system's clock. */
int64_t arcp__now_wall_ns(void);

/* Arguments that are JSON, @FILE, or - for standard input. */

/* Reads the descriptor to its end. Zero, EFBIG with more than bytes_max, or what else it was. */
int arcp__read_all(int fd, size_t bytes_max, arcp_buf *out);

/* Appends the text that the argument means; `may_be_stdin`: - reads standard input. ARCP_E_USAGE
 * names the file. */
ARCP_MUST_CHECK arcp_status arcp__file_text(const char *argument, bool may_be_stdin, arcp_buf *out,
                                            arcp_error *err);

/* The same, scanned as JSON: `json` borrows from `text`. What is wrong with a text that is no JSON,
 * and the name of a file, is told with how files are written. */
ARCP_MUST_CHECK arcp_status arcp__json_argument(const char *argument, bool may_be_stdin,
                                                const arcp_json_limits *limits, arcp_buf *text,
                                                arcp_json *json, arcp_error *err);

/* The same for an option, checked to be JSON. Nothing happens without an argument (NULL).
 * ARCP_E_USAGE begins with the option's name (`option`: without its dashes). */
ARCP_MUST_CHECK arcp_status arcp__json_text(const char *option, const char *argument,
                                            bool may_be_stdin, arcp_buf *out, arcp_error *err);

/* ---- usage.c: help, and the manual's synopsis and options: all from the tables ---- */

/* The help of one command, or of all (ARCP__COMMAND_ANY). */
void arcp__usage_help(arcp__command command, arcp_buf *out);

/* One line per command: what can be given. */
void arcp__usage_synopsis(arcp__command command, arcp_buf *out);

/* The options and their texts in scdoc's language, for man/arcp.1.scd. */
void arcp__usage_manual(arcp_buf *out);

/* ---- screen.c ---- */

/* Standard error as people see it: lines that stay, and on a terminal a status area below them
 * that is redrawn (progress bars, a spinner). In a pipe there are only lines. */

typedef struct arcp__screen {
    int fd;
    bool is_terminal;
    bool has_color;
    bool is_utf8;
    size_t columns;      /* of the terminal */
    size_t status_lines; /* drawn below the cursor's home */
    bool status_off;     /* the area may not be drawn: something else writes there */
    arcp_buf out;        /* scratch */
} arcp__screen;

typedef enum arcp__when { ARCP__WHEN_AUTO, ARCP__WHEN_ALWAYS, ARCP__WHEN_NEVER } arcp__when;

/* Looks at the descriptor, the locale, TERM and NO_COLOR. */
void arcp__screen_init(arcp__screen *screen, int fd, arcp__when color);
void arcp__screen_fini(arcp__screen *screen);
/* The terminal may have another width now. */
void arcp__screen_measure(arcp__screen *screen);

/* Prints a line above the status area. A newline is added. */
void arcp__screen_line(arcp__screen *screen, arcp_span text);
void arcp__screen_format(arcp__screen *screen, const char *format, ...) ARCP_PRINTF(2, 3);

/* Redraws the status area: lines with '\n' between them, cut at the terminal's width. Nothing
 * happens in a pipe. An empty text clears it. */
void arcp__screen_status(arcp__screen *screen, arcp_span text);

/* Erases what the terminal itself has written where the cursor is: the ^C of who pressed it. */
void arcp__screen_erase_echo(arcp__screen *screen);

/* Appends text that came from elsewhere, made harmless: control characters are shown as
 * escapes, so that no event can move the cursor or name the window. At most `bytes_max` of it,
 * then "...". */
void arcp__append_safe(arcp_buf *out, arcp_span text, size_t bytes_max);

/* Appends a piece of a text of many lines that came from elsewhere, as a terminal may see it:
 * line ends and tabs as they are, other control characters, and bytes that are no UTF-8, as
 * escapes. A character may be cut at the piece's end; `held` keeps its beginning. */
void arcp__append_shown(arcp_buf *out, arcp_span piece, arcp_buf *held, bool is_last);

/* ---- arguments.c: the command line, read by the tables ---- */

/* Texts are borrowed from argv, but for the token, which is copied so that argv can be wiped. */
typedef struct arcp__arguments {
    arcp__command command; /* ARCP__COMMAND_ANY: none was given */
    /* The values of each option in their order; switches have "". */
    const char **values[ARCP__OPTION_COUNT]; /* owned arrays */
    size_t counts[ARCP__OPTION_COUNT];
    const char **words; /* owned array: what is no option, without the command */
    size_t word_count;
    char *token; /* owned; NULL when --token was not given */
} arcp__arguments;

/* Reads argv[1] and on, as the arguments of `command`; with ARCP__COMMAND_ANY the first word names
 * it. ARCP_E_USAGE with a message for people; `out` is to be freed either way. A --token in argv is
 * overwritten. */
ARCP_MUST_CHECK arcp_status arcp__arguments_parse(arcp__arguments *out, arcp__command command,
                                                  int argc, char **argv, arcp_error *err);
void arcp__arguments_fini(arcp__arguments *arguments);

/* Where in argv the word stands that names the command, which may be unknown; 0 when there is none,
 * when it is `help`, or when an option before it is wrong. argv stays as it is. */
int arcp__arguments_command_at(int argc, char *const *argv);

static inline bool arcp__has(const arcp__arguments *arguments, arcp__option option)
{
    return arguments->counts[option] != 0;
}

/* The last value of an option, NULL when it was not given. */
static inline const char *arcp__value(const arcp__arguments *arguments, arcp__option option)
{
    size_t count = arguments->counts[option];
    return count == 0 ? NULL : arguments->values[option][count - 1];
}

/* The option's duration; unchanged when it was not given. ARCP_E_USAGE names the option. */
ARCP_MUST_CHECK arcp_status arcp__duration_option(const arcp__arguments *arguments,
                                                  arcp__option option, int64_t *out_ns,
                                                  arcp_error *err);

/* ---- config.c ---- */

/* Where the runtime is and who one is: options, environment, configuration file, and what a
 * daemon of this machine left for its user. */

#define ARCP__DEFAULT_URL "ws://127.0.0.1:7777/arcp"

/* One level of the configuration file: its own, or a profile's. NULL: not there. Owned. */
typedef struct arcp__config_level {
    char *url;
    char *token; /* wiped when freed */
    char *token_file;
    arcp__text_list token_command; /* words */
    char *ca_file;
} arcp__config_level;

typedef struct arcp__config_file {
    arcp__config_level top;
    arcp__config_level profile; /* the chosen one */
    char *default_profile;
} arcp__config_file;

/* Reads the file and the profile `profile` in it (NULL: the file's `profile:`, if any). A file
 * that is not there is an empty one when `may_be_missing`. ARCP_E_USAGE names file, line and
 * key. */
ARCP_MUST_CHECK arcp_status arcp__config_file_read(const char *path, bool may_be_missing,
                                                   const char *profile, arcp__config_file *out,
                                                   arcp_error *err);
void arcp__config_file_fini(arcp__config_file *file);

/* What is used in the end. */
typedef struct arcp__target {
    char *url;          /* owned */
    char *ca_file;      /* owned; may be NULL */
    arcp_secret *token; /* owned; NULL: none was found */
    char *no_token;     /* owned; then: where it was looked for, and what was not sent */
} arcp__target;

/* Options, then ARCP_URL, ARCP_TOKEN, ARCP_PROFILE, then the file, then the daemon of this
 * machine, whose token is used for loopback URLs only. A token of the file is used for the URL
 * that stands beside it, also when another one is named. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__target_find(const arcp__arguments *arguments, arcp__target *out,
                                              arcp_error *err);
void arcp__target_fini(arcp__target *target);

/* Whether two URLs lead to one runtime: scheme, host and port are the same; of a command, all of
 * it. */
bool arcp__url_is_same_runtime(const char *a, const char *b);

/* Whether a URL leads to this machine and nowhere else: its loopback, or a command. */
bool arcp__url_is_local(arcp_span text);

/* Appends the state directory of the user's daemon or of the user: $STATE_DIRECTORY (the daemon's
 * only), $XDG_STATE_HOME/arcp, ~/.local/state/arcp. False when none is known. */
bool arcp__state_directory(bool of_daemon, arcp_buf *out);

/* ---- program.c ---- */

/* What `arcp` and the programs of its kind (arcp-bench, arcp-conformance) share: arguments,
 * streams, the way to the runtime. */

typedef struct arcp__program {
    arcp__arguments arguments;
    arcp__target target;
    arcp__screen screen; /* standard error */
    bool is_json;
    bool is_quiet;
    arcp_buf state_directory; /* NUL-terminated; empty when there is none */
    arcp_buf error_details;   /* for an error that may be given to arcp__program_fail */
} arcp__program;

/* All of main(): reads the arguments of `command` (ARCP__COMMAND_ANY: the first word names it) and
 * lets `run` do the rest, unless they ask for the help or the version. Returns the exit status.
 * argv may be changed (a token in it is overwritten). */
int arcp__program_main(arcp__command command, int (*run)(arcp__program *program), int argc,
                       char **argv);

/* Says what went wrong, and what could be done about it; with --json also on standard output.
 * Returns the exit status that goes with it. */
int arcp__program_fail(arcp__program *program, const arcp_error *err);

/* Says why no token was sent; false when one was. */
bool arcp__program_say_no_token(arcp__program *program);

/* The same as arcp__program_fail where no runtime is asked: a file's fault is no connection's,
 * whose exit status IO has elsewhere. */
int arcp__program_fail_file(arcp__program *program, const arcp_error *err);

/* What --json has of it, for a command that says it in its own words; else nothing. */
void arcp__program_print_error(arcp__program *program, const arcp_error *err);

/* A fault in how `arcp` was called. */
int arcp__program_usage(arcp__program *program, const arcp_error *err);

/* Writes to standard output; false (and said) when that is not possible. */
bool arcp__program_print(arcp__program *program, arcp_span text);
/* With a line feed behind it; a terminal gets what a peer may have put in as escapes. */
bool arcp__program_print_line(arcp__program *program, arcp_span text);
/* The same with a text that was put together, which is freed: that there was no memory for it is
 * said, too. */
bool arcp__program_print_buf(arcp__program *program, arcp_buf *text);
bool arcp__program_print_buf_line(arcp__program *program, arcp_buf *text);

/* Options that lead to the runtime that was asked for; they borrow from the program. */
ARCP_MUST_CHECK arcp_status arcp__program_options(arcp__program *program, arcp_client_options *out,
                                                  arcp_error *err);

/* Connects; NULL when that failed, which is said then, and *exit_status set. */
ARCP_MUST_CHECK arcp_client *
arcp__program_connect(arcp__program *program, const arcp_client_options *options, int *exit_status);

/* Connects with arcp__program_options as they are, asks, and closes. Both return the exit status.
 */
typedef int (*arcp__program_ask_fn)(arcp__program *program, arcp_client *client, void *user);
int arcp__program_ask(arcp__program *program, arcp__program_ask_fn ask, void *user);

/* Appends "NAME VERSION" of the runtime, from its welcome, made harmless. */
void arcp__runtime_name(arcp_client *client, arcp_buf *out);

/* The exit status for how things ended. */

enum {
#define ARCP__EXIT_CODE(id, code, text) ARCP__EXIT_##id = (code),
#include "cli/exit_code.def"
#undef ARCP__EXIT_CODE
};

int arcp__exit_of_status(arcp_status status);

/* A job's: its error's, else its final status's. A job that succeeded and whose result could
 * not be had whole is an error. */
int arcp__exit_of_outcome(const arcp_outcome *outcome);

/* For a job of which only the status is known. */
int arcp__exit_of_job_status(arcp_job_status status);

#endif
