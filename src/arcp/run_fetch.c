/* What --fetch means: a host, a URL, or a pattern of either becomes a pattern of net.fetch. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/run.h"
#include "base/alloc.h"
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "core/target.h"

static arcp_status refuse(const char *given, const char *reason, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_USAGE, "--fetch %.200s: %s", given, reason);
}

/* Appends the canonical form of a URL without wildcards. */
static arcp_status append_canonical(const char *given, arcp_span url, arcp_buf *out,
                                    arcp_error *err)
{
    arcp_target_scratch *scratch = arcp__alloc(sizeof *scratch);
    arcp_span canonical = {NULL, 0};
    if (scratch == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const arcp_deny_reason reason = arcp__target_canonicalise(
        ARCP__CAPABILITY_NET_FETCH, arcp_span_make(NULL, 0), url, scratch, &canonical);
    arcp_buf_append(out, canonical);
    arcp__free(scratch);
    return reason == ARCP_DENY_NONE ? ARCP_OK : refuse(given, arcp_deny_reason_text(reason), err);
}

/* Appends a pattern, scheme and host in lower case, as canonical URLs have them. */
static void append_lowered(arcp_span pattern, size_t authority_end, arcp_buf *out)
{
    for (size_t i = 0; i < pattern.size; i++) {
        const char byte = pattern.data[i];
        const bool is_upper = i < authority_end && byte >= 'A' && byte <= 'Z';
        arcp_buf_append_byte(out, is_upper ? (char)(byte - 'A' + 'a') : byte);
    }
}

/* Appends the pattern for `url`, which has a scheme. */
static arcp_status append_pattern(const char *given, arcp_span url, arcp_buf *out, arcp_error *err)
{
    size_t end = 0;
    while (!arcp_span_starts_with(arcp_span_from(url, end), ARCP_SPAN_LITERAL("://"))) {
        end++;
    }
    end += 3;
    while (end < url.size && memchr("/?#", url.data[end], 3) == NULL) {
        end++;
    }
    if (url.data[end - 1] == '.') {
        return refuse(given, "the name of the host must not end with a dot", err);
    }
    if (memchr(url.data, '*', url.size) != NULL) {
        append_lowered(url, end, out);
    } else if (append_canonical(given, url, out, err) != ARCP_OK) {
        return err->status;
    }
    const bool spans = url.data[end - 2] == '*' && url.data[end - 1] == '*'; /* paths, too */
    if (end == url.size && !spans) { /* no path: all of the host */
        const bool has_slash = out->size != 0 && out->data[out->size - 1] == '/';
        arcp_buf_append_cstr(out, has_slash ? "**" : "/**");
    }
    return ARCP_OK;
}

/* A pattern that grants nothing is a mistake in the option. */
static arcp_status check(const char *given, arcp_span pattern, arcp_error *err)
{
    bool is_dead = false;
    const char *fault = arcp__glob_pattern_fault(pattern);
    if (fault != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "--fetch %.200s %s", given, fault);
    }
    const arcp_status status =
        arcp__glob_is_dead(ARCP__CAPABILITY_NET_FETCH, pattern, NULL, &is_dead, NULL);
    if (status == ARCP_E_NO_MEMORY) {
        return arcp_error_set(err, status, "out of memory");
    }
    return status == ARCP_OK && is_dead
               ? refuse(given, "no URL matches it (expected HOST, HOST:PORT or a URL)", err)
               : ARCP_OK;
}

const char *arcp__run_fetch_pattern(arcp__arena *arena, const char *given, arcp_error *err)
{
    arcp_buf url = arcp_buf_init();
    arcp_buf pattern = arcp_buf_init();
    const char *copy = NULL;
    arcp_buf_append_format(&url, "%s%s", strstr(given, "://") != NULL ? "" : "https://", given);
    arcp_status status =
        given[0] == '\0'
            ? arcp_error_set(err, ARCP_E_USAGE, "--fetch needs a URL or the name of a host")
        : url.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                     : append_pattern(given, arcp_buf_span(&url), &pattern, err);
    if (status == ARCP_OK && !pattern.failed) {
        status = check(given, arcp_buf_span(&pattern), err);
    }
    if (status == ARCP_OK) {
        copy = pattern.failed ? NULL : arcp__arena_copy(arena, arcp_buf_span(&pattern)).data;
        if (copy == NULL) {
            (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    arcp_buf_fini(&url);
    arcp_buf_fini(&pattern);
    return copy;
}

arcp_status arcp__run_private_hosts(arcp__run *run, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    const size_t count = arguments->counts[ARCP__OPTION_RUN_PRIVATE_HOST];
    arcp_span *hosts = arcp__arena_take(&run->arena, (count + 1) * sizeof *hosts);
    if (hosts == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        const char *given = arguments->values[ARCP__OPTION_RUN_PRIVATE_HOST][i];
        const char *pattern = given[0] == '\0' || strpbrk(given, ":/?#*[") != NULL
                                  ? NULL
                                  : arcp__run_fetch_pattern(&run->arena, given, err);
        if (pattern == NULL) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "--private-host '%.200s' is not the name of a host", given);
        }
        hosts[i] = arcp_span_make(pattern + strlen("https://"),
                                  strlen(pattern) - strlen("https://") - strlen("/**"));
    }
    run->private_hosts = hosts;
    run->private_host_count = count;
    return ARCP_OK;
}
