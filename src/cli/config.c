#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "transport/url.h"

#define TOKEN_BYTES_MAX 65536

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

/* An absolute path of the environment; arcpd ignores relative ones, too. */
static const char *folder(const char *name)
{
    const char *value = environment(name);
    return value == NULL || value[0] != '/' ? NULL : value;
}

/* Appends a NUL that is not counted. */
static bool terminate(arcp_buf *text)
{
    if (!arcp_buf_reserve(text, 1)) {
        return false;
    }
    text->data[text->size] = '\0';
    return true;
}

bool arcp__state_directory(bool of_daemon, arcp_buf *out)
{
    const char *given = of_daemon ? folder("STATE_DIRECTORY") : NULL;
    const char *state = folder("XDG_STATE_HOME");
    const char *home = folder("HOME");
    if (given != NULL) {
        arcp_buf_append(out, arcp_span_make(given, strcspn(given, ":")));
    } else if (state != NULL) {
        arcp_buf_append_format(out, "%s/arcp", state);
    } else if (home != NULL) {
        arcp_buf_append_format(out, "%s/.local/state/arcp", home);
    } else {
        return false;
    }
    return terminate(out);
}

bool arcp__url_is_local(arcp_span text)
{
    arcp__url url;
    return arcp__url_parse(text, &url, NULL) == ARCP_OK && url.scheme != ARCP__URL_MEMORY &&
           (url.scheme == ARCP__URL_STDIO || url.scheme == ARCP__URL_UNIX ||
            arcp__authority_is_loopback(&url.authority));
}

static bool is_local_socket(const char *text)
{
    arcp__url url;
    return arcp__url_parse(arcp_span_cstr(text), &url, NULL) == ARCP_OK &&
           url.scheme == ARCP__URL_UNIX;
}

bool arcp__url_is_same_runtime(const char *a, const char *b)
{
    arcp__url first;
    arcp__url second;
    if (strcmp(a, b) == 0) {
        return true;
    }
    if (arcp__url_parse(arcp_span_cstr(a), &first, NULL) != ARCP_OK ||
        arcp__url_parse(arcp_span_cstr(b), &second, NULL) != ARCP_OK) {
        return false;
    }
    return first.scheme == second.scheme &&
           (first.scheme == ARCP__URL_WS || first.scheme == ARCP__URL_WSS) &&
           first.authority.kind == second.authority.kind &&
           first.authority.port == second.authority.port &&
           strcmp(first.authority.host, second.authority.host) == 0;
}

/* ---- tokens ---- */

static arcp_status keep_secret(arcp_span text, arcp_secret **out, arcp_error *err)
{
    *out = arcp_secret_new(text);
    return *out != NULL ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* Takes the token from a text: its first line, without trailing white space. */
static arcp_status keep_token(arcp_buf *text, const char *where, arcp_secret **out, arcp_error *err)
{
    arcp_span token = arcp_buf_span(text);
    const char *line_end = token.size == 0 ? NULL : memchr(token.data, '\n', token.size);
    if (line_end != NULL) {
        token.size = (size_t)(line_end - token.data);
    }
    while (token.size != 0 && strchr(" \t\r", token.data[token.size - 1]) != NULL) {
        token.size--;
    }
    const arcp_status status =
        token.size != 0 ? keep_secret(token, out, err)
                        : arcp_error_set(err, ARCP_E_USAGE, "%s provided no token", where);
    arcp_buf_fini(text);
    return status;
}

/* Reads to the end; NULL, or the reason why that failed. */
static const char *read_fd(int fd, arcp_buf *out)
{
    const int problem = arcp__read_all(fd, TOKEN_BYTES_MAX, out);
    return problem == 0        ? NULL
           : problem == EFBIG  ? "it is longer than 65536 bytes"
           : problem == ENOMEM ? "out of memory"
                               : strerror(problem);
}

static arcp_status token_from_file(const char *path, arcp_secret **out, arcp_error *err)
{
    arcp_buf text = arcp_buf_secret_init();
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *why = fd < 0 ? strerror(errno) : read_fd(fd, &text);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (why != NULL) {
        arcp_buf_fini(&text);
        return arcp_error_set(err, ARCP_E_USAGE, "the token file %s cannot be read: %s", path, why);
    }
    return keep_token(&text, path, out, err);
}

/* Starts a command, without a shell, with `output` as its standard output. Returns 0 or an errno.
 */
static int start_command(char **words, int output, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t broken_pipe;
    int problem = posix_spawn_file_actions_init(&actions);
    if (problem != 0) {
        return problem;
    }
    problem = posix_spawnattr_init(&attributes);
    if (problem == 0) {
        (void)sigemptyset(&broken_pipe);
        (void)sigaddset(&broken_pipe, SIGPIPE); /* ignored here; programs expect the default */
        (void)posix_spawnattr_setsigdefault(&attributes, &broken_pipe);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        problem = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        if (problem == 0) {
            problem = posix_spawnp(child, words[0], &actions, &attributes, words, environ);
        }
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return problem;
}

/* The exit status of a shell, and of posix_spawnp where exec fails only in the child. */
#define STATUS_NOT_FOUND 127

/* Takes the first line that the command prints. */
static arcp_status token_from_command(char **words, arcp_secret **out, arcp_error *err)
{
    int ends[2];
    pid_t child = 0;
    int exit_status = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "token_command: %s", strerror(errno));
    }
    const int problem = start_command(words, ends[1], &child);
    (void)close(ends[1]);
    if (problem != 0) {
        (void)close(ends[0]);
        return arcp_error_set(err, ARCP_E_USAGE, "token_command: %s failed: %s", words[0],
                              strerror(problem));
    }
    arcp_buf text = arcp_buf_secret_init();
    const char *why = read_fd(ends[0], &text);
    (void)close(ends[0]);
    while (waitpid(child, &exit_status, 0) < 0 && errno == EINTR) {
    }
    arcp_status status = ARCP_OK;
    if (why != NULL) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "token_command: cannot read the output of %s: %s", words[0], why);
    } else if (WIFSIGNALED(exit_status)) {
        status = arcp_error_set(err, ARCP_E_USAGE, "token_command: %s failed (signal %d)", words[0],
                                WTERMSIG(exit_status));
    } else if (WEXITSTATUS(exit_status) != 0) {
        const int code = WEXITSTATUS(exit_status);
        status =
            arcp_error_set(err, ARCP_E_USAGE, "token_command: %s failed (status %d%s)", words[0],
                           code, code == STATUS_NOT_FOUND ? ", the program was not found" : "");
    }
    if (status != ARCP_OK) {
        arcp_buf_fini(&text);
        return status;
    }
    return keep_token(&text, words[0], out, err);
}

/* The token that the local arcpd wrote for its user, if there is one. */
static arcp_status token_of_daemon(arcp_secret **out, arcp_error *err)
{
    arcp_buf path = arcp_buf_init();
    arcp_status status = ARCP_OK;
    if (arcp__state_directory(true, &path)) {
        arcp_buf_append_cstr(&path, "/token");
        if (terminate(&path) && access(path.data, R_OK) == 0) {
            status = token_from_file(path.data, out, err);
        }
    }
    arcp_buf_fini(&path);
    return status;
}

static bool has_token(const arcp__config_level *level)
{
    return level->token != NULL || level->token_file != NULL || level->token_command.count != 0;
}

static const char *first_set(const char *a, const char *b, const char *c)
{
    return a != NULL ? a : b != NULL ? b : c;
}

/* The levels of configuration: what a context does not say, the configuration file does. */
typedef struct levels {
    arcp__config_level context, top;
} levels;

static arcp_status levels_read(const arcp__arguments *arguments, levels *out, arcp_error *err)
{
    bool may_be_missing = false;
    arcp_buf path = arcp_buf_init();
    arcp_buf context = arcp_buf_init();
    *out = (levels){.top = {0}};
    arcp_status status = arcp__config_path(arguments, &path, &may_be_missing, err);
    if (status == ARCP_OK) {
        status = arcp__config_file_read(path.data, may_be_missing, &out->top, err);
    }
    if (status == ARCP_OK) {
        status = arcp__context_selected(arguments, &context, err);
    }
    if (status == ARCP_OK && !arcp__context_is_default(context.data)) {
        status = arcp__context_read(arguments, context.data, &out->context, err);
    }
    arcp_buf_fini(&context);
    arcp_buf_fini(&path);
    return status;
}

static void levels_fini(levels *l)
{
    arcp__config_level_fini(&l->context);
    arcp__config_level_fini(&l->top);
}

/* Explains where a token was searched. `kept_for`: the URL of a token of `holder` that was not sent
 * because it belongs to another runtime, or NULL. */
static arcp_status explain_no_token(arcp__target *target, const char *holder, const char *kept_for,
                                    arcp_error *err)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "no token was sent: neither --token nor ARCP_TOKEN is set; ");
    if (kept_for != NULL) {
        arcp_buf_append_format(&text, "%s has one for %s, not for %s; ", holder, kept_for,
                               target->url);
    } else {
        arcp_buf_append_cstr(&text, "the configuration file has none; ");
    }
    arcp_buf_append_cstr(&text, arcp__url_is_local(arcp_span_cstr(target->url))
                                    ? "this user's arcpd has written none"
                                    : "the token of this user's arcpd is for loopback URLs only");
    target->no_token = arcp_buf_take_cstr(&text);
    arcp_buf_fini(&text);
    return target->no_token != NULL ? ARCP_OK
                                    : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* A token is sent only to the runtime whose URL is at the same level. */
static arcp_status find_token(const arcp__arguments *arguments, const levels *l,
                              arcp__target *target, arcp_error *err)
{
    const char *top_url = first_set(l->top.url, ARCP__DEFAULT_URL, NULL);
    const struct {
        const arcp__config_level *level;
        const char *url, *name;
    } rows[] = {{&l->context, first_set(l->context.url, top_url, NULL), "the context"},
                {&l->top, top_url, "the configuration file"}};
    const bool has_chosen = arcp__has(arguments, ARCP__OPTION_CONTEXT) && has_token(&l->context) &&
                            arcp__url_is_same_runtime(rows[0].url, target->url);
    const char *given =
        first_set(arguments->token, has_chosen ? NULL : environment("ARCP_TOKEN"), NULL);
    if (given != NULL) {
        return keep_secret(arcp_span_cstr(given), &target->token, err);
    }
    const char *holder = NULL;
    const char *kept_for = NULL;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const arcp__config_level *level = rows[row].level;
        if (!has_token(level)) {
            continue;
        }
        if (!arcp__url_is_same_runtime(rows[row].url, target->url)) {
            holder = kept_for != NULL ? holder : rows[row].name;
            kept_for = kept_for != NULL ? kept_for : rows[row].url;
        } else if (level->token != NULL) {
            return keep_secret(arcp_span_cstr(level->token), &target->token, err);
        } else {
            return level->token_file != NULL
                       ? token_from_file(level->token_file, &target->token, err)
                       : token_from_command(level->token_command.items, &target->token, err);
        }
    }
    if (arcp__url_is_local(arcp_span_cstr(target->url))) {
        const arcp_status status = token_of_daemon(&target->token, err);
        if (status != ARCP_OK || target->token != NULL) {
            return status;
        }
    }
    return explain_no_token(target, holder, kept_for, err);
}

/* ---- the target ---- */

arcp_status arcp__config_path(const arcp__arguments *arguments, arcp_buf *out, bool *may_be_missing,
                              arcp_error *err)
{
    const char *given = arcp__value(arguments, ARCP__OPTION_CONFIG);
    const char *config_home = folder("XDG_CONFIG_HOME");
    const char *home = folder("HOME");
    *may_be_missing = given == NULL;
    if (given != NULL) {
        arcp_buf_append_cstr(out, given);
    } else if (config_home != NULL) {
        arcp_buf_append_format(out, "%s/arcp/config.yaml", config_home);
    } else if (home != NULL) {
        arcp_buf_append_format(out, "%s/.config/arcp/config.yaml", home);
    } else {
        arcp_buf_append_cstr(out, "/nonexistent");
    }
    return terminate(out) ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- the local socket ---- */

#define SYSTEM_STATE "/var/lib/arcp" /* of the systemd unit */

/* Whether there is a socket that this user may use. A link is not followed: it could lead to a
 * socket of another user. */
static bool is_usable(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISSOCK(about.st_mode) &&
           (about.st_uid == geteuid() || geteuid() == 0) && access(path, W_OK) == 0;
}

/* Appends unix:PATH of the socket of the local arcpd; false: there is none that may be used. */
static bool find_socket(arcp_buf *out)
{
    arcp_buf path = arcp_buf_init();
    bool is_found = false;
    if (arcp__state_directory(true, &path)) {
        arcp_buf_append_cstr(&path, "/arcpd.sock");
        is_found = terminate(&path) && is_usable(path.data);
    }
    if (!is_found && geteuid() == 0) {
        arcp_buf_clear(&path);
        arcp_buf_append_cstr(&path, SYSTEM_STATE "/arcpd.sock");
        is_found = terminate(&path) && is_usable(path.data);
    }
    if (is_found) {
        arcp_buf_append_format(out, "unix:%s", path.data);
        is_found = terminate(out);
    }
    arcp_buf_fini(&path);
    return is_found;
}

/* Whether the command is for operators, who use the local socket when no runtime is named. */
static bool is_for_operators(const arcp__arguments *arguments)
{
    static const arcp__command commands[] = {
        ARCP__COMMAND_EVENTS,   ARCP__COMMAND_TOP,       ARCP__COMMAND_STATUS,
        ARCP__COMMAND_SESSIONS, ARCP__COMMAND_SCHEDULES, ARCP__COMMAND_HOOKS,
        ARCP__COMMAND_RELOAD,   ARCP__COMMAND_UI,        ARCP__COMMAND_WORKERS};
    bool is_one = false;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        is_one = is_one || arguments->command == commands[i];
    }
    return is_one;
}

arcp_status arcp__target_find(const arcp__arguments *arguments, arcp__target *out, arcp_error *err)
{
    levels l;
    arcp_buf socket = arcp_buf_init();
    *out = (arcp__target){0};
    arcp_status status = levels_read(arguments, &l, err);
    if (status == ARCP_OK) {
        /* What an option names takes precedence over the environment. */
        const arcp__config_level none = {0};
        const arcp__config_level *chosen =
            arcp__has(arguments, ARCP__OPTION_CONTEXT) ? &l.context : &none;
        const char *url = first_set(arcp__value(arguments, ARCP__OPTION_URL), chosen->url,
                                    environment("ARCP_URL"));
        url = first_set(url, l.context.url, l.top.url);
        if (url == NULL && is_for_operators(arguments) && find_socket(&socket)) {
            url = socket.data;
        }
        url = first_set(url, ARCP__DEFAULT_URL, NULL);
        const char *ca_file = first_set(arcp__value(arguments, ARCP__OPTION_CA_FILE),
                                        chosen->ca_file, environment("ARCP_CA_FILE"));
        ca_file = first_set(ca_file, l.context.ca_file, l.top.ca_file);
        out->url = arcp__copy_cstr(url, strlen(url));
        out->ca_file = ca_file == NULL ? NULL : arcp__copy_cstr(ca_file, strlen(ca_file));
        if (out->url == NULL || (ca_file != NULL && out->ca_file == NULL)) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    /* The kernel tells who is at the other end of a local socket. */
    if (status == ARCP_OK && !is_local_socket(out->url)) {
        status = find_token(arguments, &l, out, err);
    }
    levels_fini(&l);
    arcp_buf_fini(&socket);
    return status;
}

void arcp__target_fini(arcp__target *target)
{
    arcp__free(target->url);
    arcp__free(target->ca_file);
    arcp__free(target->no_token);
    arcp_secret_free(target->token);
    *target = (arcp__target){0};
}
