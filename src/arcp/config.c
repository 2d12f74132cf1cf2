#include "arcp/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/wipe.h"

#define TOKEN_BYTES_MAX 65536

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? NULL : value;
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
    const char *given = of_daemon ? environment("STATE_DIRECTORY") : NULL;
    const char *state = environment("XDG_STATE_HOME");
    const char *home = environment("HOME");
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

static bool is_host_local(arcp_span host)
{
    return arcp_span_equal_cstr(host, "localhost") || arcp_span_equal_cstr(host, "[::1]") ||
           (arcp_span_starts_with(host, ARCP_SPAN_LITERAL("127.")) &&
            strspn(host.data, "0123456789.") >= host.size);
}

bool arcp__url_is_local(arcp_span url)
{
    if (arcp_span_starts_with(url, ARCP_SPAN_LITERAL("stdio:"))) {
        return true;
    }
    const char *authority = url.size == 0 ? NULL : memmem(url.data, url.size, "://", 3);
    if (authority == NULL) {
        return false;
    }
    arcp_span host = arcp_span_from(url, (size_t)(authority - url.data) + 3);
    size_t size = 0;
    bool in_brackets = host.size != 0 && host.data[0] == '[';
    while (size < host.size && host.data[size] != '/' && host.data[size] != '?' &&
           host.data[size] != '#' && (in_brackets || host.data[size] != ':')) {
        in_brackets = in_brackets && host.data[size] != ']';
        size++;
    }
    host = arcp_span_first(host, size);
    /* Whoever writes user information into the URL means to deceive. */
    return memchr(url.data, '@', url.size) == NULL && is_host_local(host);
}

/* ---- tokens ---- */

/* The token of a text: its first line, without white space around it. */
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
    arcp_status status = ARCP_OK;
    if (token.size == 0) {
        status = arcp_error_set(err, ARCP_E_USAGE, "%s gave no token", where);
    } else {
        *out = arcp_secret_new(token);
        if (*out == NULL) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    arcp__buf_fini_wiped(text);
    return status;
}

static bool read_fd(int fd, arcp_buf *out)
{
    char bytes[4096];
    ssize_t got = read(fd, bytes, sizeof(bytes));
    while (got > 0 || (got < 0 && errno == EINTR)) {
        if (got > 0) {
            arcp_buf_append(out, arcp_span_make(bytes, (size_t)got));
            if (out->size > TOKEN_BYTES_MAX) {
                break;
            }
        }
        got = read(fd, bytes, sizeof(bytes));
    }
    arcp_wipe(bytes, sizeof(bytes));
    return got == 0 && !out->failed;
}

static arcp_status token_from_file(const char *path, arcp_secret **out, arcp_error *err)
{
    arcp_buf text = ARCP_BUF_INIT;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "the token file %s cannot be read: %s", path,
                              strerror(errno));
    }
    bool was_read = read_fd(fd, &text);
    (void)close(fd);
    if (!was_read) {
        arcp_buf_fini(&text);
        return arcp_error_set(err, ARCP_E_USAGE, "the token file %s cannot be read", path);
    }
    return keep_token(&text, path, out, err);
}

/* Runs the command without a shell and takes the first line it prints. */
static arcp_status token_from_command(char **words, arcp_secret **out, arcp_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "token_command: %s", strerror(errno));
    }
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execvp(words[0], words);
        _exit(127);
    }
    (void)close(ends[1]);
    if (child < 0) {
        (void)close(ends[0]);
        return arcp_error_set(err, ARCP_E_USAGE, "token_command: %s", strerror(errno));
    }
    arcp_buf text = ARCP_BUF_INIT;
    bool was_read = read_fd(ends[0], &text);
    (void)close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!was_read || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        arcp_buf_fini(&text);
        return arcp_error_set(err, ARCP_E_USAGE, "token_command: %s failed (%s %d)", words[0],
                              WIFEXITED(status) ? "status" : "signal",
                              WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    return keep_token(&text, words[0], out, err);
}

/* The token that a daemon of this machine made for its user, if there is one. */
static arcp_status token_of_daemon(arcp_secret **out, arcp_error *err)
{
    arcp_buf path = ARCP_BUF_INIT;
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

/* The first source of one level; nothing when the level names none. */
static arcp_status token_of_level(const arcp__config_level *level, arcp_secret **out,
                                  arcp_error *err)
{
    if (level->token != NULL) {
        *out = arcp_secret_new(arcp_span_cstr(level->token));
        return *out != NULL ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (level->token_file != NULL) {
        return token_from_file(level->token_file, out, err);
    }
    return level->token_command != NULL ? token_from_command(level->token_command, out, err)
                                        : ARCP_OK;
}

static arcp_status find_token(const arcp__arguments *arguments, const arcp__config_file *file,
                              const char *url, arcp_secret **out, arcp_error *err)
{
    const char *given = arguments->token != NULL ? arguments->token : environment("ARCP_TOKEN");
    if (given != NULL) {
        *out = arcp_secret_new(arcp_span_cstr(given));
        return *out != NULL ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = token_of_level(&file->profile, out, err);
    /* A token is for the runtime it stands beside: a profile with a URL of its own does not
     * get the one of the file's. */
    if (status == ARCP_OK && *out == NULL && file->profile.url == NULL) {
        status = token_of_level(&file->top, out, err);
    }
    if (status == ARCP_OK && *out == NULL && arcp__url_is_local(arcp_span_cstr(url))) {
        status = token_of_daemon(out, err);
    }
    return status;
}

/* ---- all together ---- */

static arcp_status read_file(const arcp__arguments *arguments, arcp__config_file *out,
                             arcp_error *err)
{
    const char *given = arcp__value(arguments, ARCP__OPTION_CONFIG);
    const char *profile = arcp__value(arguments, ARCP__OPTION_PROFILE);
    const char *config_home = environment("XDG_CONFIG_HOME");
    const char *home = environment("HOME");
    arcp_buf path = ARCP_BUF_INIT;
    profile = profile != NULL ? profile : environment("ARCP_PROFILE");
    if (given != NULL) {
        arcp_buf_append_cstr(&path, given);
    } else if (config_home != NULL) {
        arcp_buf_append_format(&path, "%s/arcp/config.yaml", config_home);
    } else if (home != NULL) {
        arcp_buf_append_format(&path, "%s/.config/arcp/config.yaml", home);
    } else {
        arcp_buf_append_cstr(&path, "/nonexistent");
    }
    arcp_status status = terminate(&path)
                             ? arcp__config_file_read(path.data, given == NULL, profile, out, err)
                             : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    arcp_buf_fini(&path);
    return status;
}

static const char *first_set(const char *a, const char *b, const char *c)
{
    return a != NULL ? a : b != NULL ? b : c;
}

arcp_status arcp__target_find(const arcp__arguments *arguments, arcp__target *out, arcp_error *err)
{
    arcp__config_file file = {0};
    *out = (arcp__target){0};
    arcp_status status = read_file(arguments, &file, err);
    if (status == ARCP_OK) {
        const char *url = first_set(arcp__value(arguments, ARCP__OPTION_URL),
                                    environment("ARCP_URL"), file.profile.url);
        url = first_set(url, file.top.url, ARCP__DEFAULT_URL);
        const char *ca_file = first_set(file.profile.ca_file, file.top.ca_file, NULL);
        out->url = arcp__copy_cstr(url, strlen(url));
        out->ca_file = ca_file == NULL ? NULL : arcp__copy_cstr(ca_file, strlen(ca_file));
        if (out->url == NULL || (ca_file != NULL && out->ca_file == NULL)) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    if (status == ARCP_OK) {
        status = find_token(arguments, &file, out->url, &out->token, err);
    }
    arcp__config_file_fini(&file);
    return status;
}

void arcp__target_fini(arcp__target *target)
{
    arcp__free(target->url);
    arcp__free(target->ca_file);
    arcp_secret_free(target->token);
    *target = (arcp__target){0};
}
