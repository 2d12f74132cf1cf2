/* The options that would allow what a run denied. The names in them were chosen by the command, and
 * a user pastes them into a shell: each is quoted, and means nothing but what was denied. */
#include "arcp/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arcp/command.h"
#include "base/hex.h"
#include "base/path.h"
#include "base/utf8.h"
#include "core/glob_subset.h"

#define SUGGESTIONS_MAX 16
#define PATHS_MAX       2 /* of one host, before all of it is suggested */

static bool hex_byte(const char digits[2], uint8_t *out)
{
    const int high = arcp__hex_value((unsigned char)digits[0]);
    const int low = arcp__hex_value((unsigned char)digits[1]);
    if (high < 0 || low < 0) {
        return false;
    }
    *out = (uint8_t)(high * 16 + low);
    return true;
}

/* Undoes \xNN; false for a name that an option cannot have: one with a wildcard (it would grant
 * more than this file), with control characters, or that is not UTF-8. */
static bool plain_name(arcp_span shown, arcp_buf *out)
{
    for (size_t i = 0; i < shown.size; i++) {
        uint8_t byte = (uint8_t)shown.data[i];
        if (byte == '\\' && i + 3 < shown.size && shown.data[i + 1] == 'x' &&
            hex_byte(shown.data + i + 2, &byte)) {
            i += 3;
        }
        arcp_buf_append_byte(out, (char)byte);
    }
    const arcp_span name = arcp_buf_span(out);
    bool is_plain = name.size != 0 && name.data[0] != '-' && arcp__utf8_is_valid(name) &&
                    memchr(name.data, '*', name.size) == NULL;
    for (size_t i = 0; i < name.size && is_plain; i++) {
        uint32_t code_point = 0;
        is_plain = arcp__control_size(arcp_span_from(name, i), &code_point) == 0;
    }
    return is_plain;
}

/* Quotes a word for a shell where it needs that. */
static void append_quoted(arcp_buf *out, arcp_span word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+,:@%=";
    bool needs_quotes = word.size == 0;
    for (size_t i = 0; i < word.size; i++) {
        needs_quotes = needs_quotes || memchr(plain, word.data[i], sizeof plain - 1) == NULL;
    }
    if (!needs_quotes) {
        arcp_buf_append(out, word);
        return;
    }
    arcp_buf_append_byte(out, '\'');
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] == '\'') {
            arcp_buf_append_cstr(out, "'\\''");
        } else {
            arcp_buf_append_byte(out, word.data[i]);
        }
    }
    arcp_buf_append_byte(out, '\'');
}

/* An option that would allow a denial. */
typedef struct suggestion {
    const char *option; /* NULL: another one includes it */
    arcp_buf name;      /* its value; empty: it has none */
} suggestion;

/* The option that lets a .git be written which is protected in a directory of the lease; NULL: the
 * path is in none. */
static const char *protection_of(const arcp__sandbox_plan *plan, const char *path)
{
    for (size_t i = 0; plan != NULL && i < plan->mount_count; i++) {
        const arcp__sandbox_mount *mount = &plan->mounts[i];
        char git[PATH_MAX];
        (void)snprintf(git, sizeof git, "%.*s/.git", (int)mount->target.size, mount->target.data);
        if (mount->kind == ARCP__SANDBOX_MOUNT_GIT && arcp__path_is_within_cstr(path, git)) {
            return plan->protect == ARCP__SANDBOX_PROTECT_STRICT ? "--protect commits"
                                                                 : "--no-protect";
        }
    }
    return NULL;
}

static const char *option_for(arcp_span capability)
{
    static const char *const options[][2] = {{"fs.read", "--read"},
                                             {"fs.write", "--write"},
                                             {"net.fetch", "--fetch"},
                                             {"model.use", "--model"},
                                             {"tool.call", "--tool"}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (arcp_span_equal_cstr(capability, options[i][0])) {
            return options[i][1];
        }
    }
    return NULL;
}

/* Whether the option would grant too much for a hint: a directory is granted with everything below
 * it. And none grants the files of ARCP itself. */
static bool is_too_wide(const arcp__run *run, const char *path)
{
    const char *const homes[] = {run->home, run->account_home};
    if (path[0] != '/') {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        if (homes[i] != NULL && arcp__path_is_within_cstr(homes[i], path)) {
            return true;
        }
    }
    for (size_t i = 0; i < run->request.own_count; i++) {
        if (arcp__path_is_within_cstr(path, run->request.own[i].data)) {
            return true;
        }
    }
    return strchr(path + 1, '/') == NULL; /* `/`, or right below it */
}

/* Whether what `other` allows includes what `one` allows. */
static bool includes(const suggestion *other, const suggestion *one)
{
    const bool is_path = one->name.size != 0 && one->name.data[0] == '/';
    const bool has_right = strcmp(other->option, one->option) == 0 ||
                           (is_path && strcmp(other->option, "--write") == 0);
    return has_right && (is_path ? arcp__path_is_within_cstr(one->name.data, other->name.data)
                                 : strcmp(one->name.data, other->name.data) == 0);
}

static int by_size(const void *a, const void *b)
{
    const suggestion *left = a;
    const suggestion *right = b;
    const size_t left_size = strlen(left->option) + left->name.size;
    const size_t right_size = strlen(right->option) + right->name.size;
    return left_size < right_size   ? -1
           : left_size > right_size ? 1
                                    : strcmp(left->name.data, right->name.data);
}

/* Removes those that others include; returns how many remain. */
static size_t remove_included(suggestion *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_included = false;
        for (size_t j = 0; j < count && !is_included; j++) {
            is_included = j != i && list[j].option != NULL && includes(&list[j], &list[i]);
        }
        if (is_included) {
            list[i].option = NULL;
            arcp_buf_fini(&list[i].name);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (list[i].option != NULL) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

/* ---- URLs ---- */

/* How much of a URL is scheme and authority; 0: it has no scheme. */
static size_t origin_size(arcp_span url)
{
    const char *const mark = url.size == 0 ? NULL : memmem(url.data, url.size, "://", 3);
    if (mark == NULL) {
        return 0;
    }
    size_t size = (size_t)(mark - url.data) + 3;
    while (size < url.size && memchr("/?#", url.data[size], 3) == NULL) {
        size++;
    }
    return size;
}

/* Where no path is seen inside TLS, only all of the host can be granted: HOST or HOST:PORT. A URL
 * without a path means the same. */
static void shorten_tls(arcp_buf *name, bool is_terminated)
{
    const arcp_span url = arcp_buf_span(name);
    const bool is_https = arcp_span_starts_with(url, ARCP_SPAN_LITERAL("https://"));
    if (!is_https && !arcp_span_starts_with(url, ARCP_SPAN_LITERAL("wss://"))) {
        return;
    }
    arcp_span origin = arcp_span_first(url, origin_size(url));
    if (is_terminated && url.size > origin.size + 1) {
        return;
    }
    if (is_https) {
        origin = arcp_span_from(origin, strlen("https://"));
        if (origin.size > 4 && memcmp(origin.data + origin.size - 4, ":443", 4) == 0) {
            origin = arcp_span_first(origin, origin.size - 4);
        }
    }
    arcp_buf shortened = arcp_buf_init();
    arcp_buf_append(&shortened, origin);
    arcp_buf_fini(name);
    *name = shortened;
}

/* Whether the lease grants all of a pattern: what was denied then has another reason, such as an
 * address that may not be dialled. */
static bool is_granted(const arcp_lease *lease, arcp_span pattern)
{
    for (size_t i = 0; lease != NULL && i < arcp_lease_capability_count(lease); i++) {
        if (!arcp_span_equal_cstr(arcp_lease_capability_name(lease, i), "net.fetch")) {
            continue;
        }
        for (size_t j = 0; j < arcp_lease_pattern_count(lease, i); j++) {
            const arcp_span parent = arcp_lease_pattern(lease, i, j);
            bool is_within = false;
            if (arcp__glob_is_within(ARCP__CAPABILITY_NET_FETCH, pattern, &parent, 1, NULL,
                                     &is_within) == ARCP_OK &&
                is_within) {
                return true;
            }
        }
    }
    return false;
}

/* The value of --fetch for what was denied; false: none would allow it. */
static bool fetch_name(const arcp__run *run, arcp_buf *name)
{
    arcp__arena arena = {0};
    arcp_error err = {0};
    shorten_tls(name, run->request.tls_terminate);
    const char *given = arcp_buf_cstr(name);
    const char *pattern = given == NULL ? NULL : arcp__run_fetch_pattern(&arena, given, &err);
    const bool helps = pattern != NULL && !is_granted(run->lease, arcp_span_cstr(pattern));
    arcp__arena_fini(&arena);
    return helps;
}

/* Where more than PATHS_MAX URLs of a host were denied, suggests the host instead. */
static void join_paths(suggestion *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t size =
            strcmp(list[i].option, "--fetch") == 0 ? origin_size(arcp_buf_span(&list[i].name)) : 0;
        size_t same = 0;
        for (size_t j = 0; size != 0 && j < count; j++) {
            same += strcmp(list[j].option, "--fetch") == 0 &&
                    origin_size(arcp_buf_span(&list[j].name)) == size &&
                    memcmp(list[j].name.data, list[i].name.data, size) == 0;
        }
        for (size_t j = i; same > PATHS_MAX && j < count; j++) {
            if (origin_size(arcp_buf_span(&list[j].name)) == size &&
                memcmp(list[j].name.data, list[i].name.data, size) == 0) {
                list[j].name.size = size;
                list[j].name.data[size] = '\0';
            }
        }
    }
}

/* ---- the list ---- */

/* The option that would allow a denial, in `one`; false: there is none. */
static bool suggest(const arcp__run *run, const arcp__run_denial *denial, suggestion *one)
{
    one->option = denial->has_no_option ? NULL : option_for(denial->capability);
    if (one->option == NULL || !plain_name(denial->target, &one->name) ||
        arcp_buf_cstr(&one->name) == NULL) {
        return false;
    }
    if (strcmp(one->option, "--fetch") == 0) {
        return fetch_name(run, &one->name);
    }
    if (is_too_wide(run, one->name.data)) {
        return false;
    }
    const char *protection =
        strcmp(one->option, "--write") == 0 ? protection_of(run->plan, one->name.data) : NULL;
    if (protection != NULL) {
        one->option = protection;
        arcp_buf_clear(&one->name);
        one->name.data[0] = '\0';
    }
    return true;
}

void arcp__run_suggest(const arcp__run_report *report, arcp_buf *out)
{
    suggestion list[ARCP__RUN_DENIALS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < report->denial_count; i++) {
        list[count] = (suggestion){.name = arcp_buf_init()};
        if (suggest(report->run, &report->denials[i], &list[count])) {
            count++;
        } else {
            arcp_buf_fini(&list[count].name);
        }
    }
    join_paths(list, count);
    qsort(list, count, sizeof *list, by_size);
    count = remove_included(list, count);
    for (size_t i = 0; i < count; i++) {
        if (i < SUGGESTIONS_MAX) {
            arcp_buf_append_format(out, " %s", list[i].option);
        }
        if (i < SUGGESTIONS_MAX && list[i].name.size != 0) {
            arcp_buf_append_byte(out, ' ');
            append_quoted(out, arcp_buf_span(&list[i].name));
        }
        arcp_buf_fini(&list[i].name);
    }
    if (count > SUGGESTIONS_MAX) {
        arcp_buf_append_format(out, " (and %zu more)", count - SUGGESTIONS_MAX);
    }
}
