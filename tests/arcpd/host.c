#include "arcpd/host.h"

#include <signal.h>
#include <sys/resource.h>

#include "arcp/temp_tree.h"

int host_setup(void **state)
{
    static host place;
    arcpd_run_begin(&place);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(setenv("STATE_DIRECTORY", place.directory, 1), 0);
    *state = &place;
    return 0;
}

int host_teardown(void **state)
{
    host *place = *state;
    if (place->daemon.pid != 0) {
        process_fini(&place->daemon);
    }
    return temp_tree_remove(place->directory);
}

void host_configure(const host *place, const char *yaml)
{
    char path[96];
    snprintf(path, sizeof path, "%s/arcpd.yaml", place->directory);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    for (const char *rest = yaml; *rest != '\0';) {
        const char *mark = strstr(rest, "@agents/");
        const size_t size = mark == NULL ? strlen(rest) : (size_t)(mark - rest);
        assert_int_equal(fwrite(rest, 1, size, file), size);
        rest += size;
        if (mark != NULL) {
            assert_true(fprintf(file, "%s/tests/arcpd/agents/", ARCP_SOURCE_DIR) > 0);
            rest += strlen("@agents/");
        }
    }
    assert_int_equal(fclose(file), 0);
}

void host_start(host *place, const char *yaml)
{
    const char *const none[] = {NULL};
    host_configure(place, yaml);
    arcpd_run_start(place, 0, none);
}

void host_stop(host *place)
{
    assert_int_equal(arcpd_run_stop(place, SIGTERM, 0), 0);
}

void host_kill(host *place)
{
    assert_int_equal(arcpd_run_stop(place, SIGKILL, 128 + SIGKILL), 128 + SIGKILL);
}

void host_begin_run(const host *place, const char *token, process *p, const char *const *words)
{
    const char *all[24] = {ARCP_BINARY_DIR "/bin/arcp"};
    char url[160];
    char bearer[96];
    size_t count = 1;
    snprintf(url, sizeof url, "ARCP_URL=%s", place->url);
    snprintf(bearer, sizeof bearer, "ARCP_TOKEN=%s", token == NULL ? "" : token);
    for (; *words != NULL; words++) {
        assert_true(count < 23);
        all[count++] = *words;
    }
    process_start(p, all, WORDS(url, bearer), NULL);
}

void host_run(const host *place, const char *token, process *p, int exit_status,
              const char *const *words)
{
    host_begin_run(place, token, p, words);
    const int got = process_finish(p);
    if (got != exit_status) {
        fail_msg("exit status %d, want %d:\n%.*s\n%.*s", got, exit_status, (int)p->out.size,
                 p->out.size ? p->out.data : "", (int)p->err.size, p->err.size ? p->err.data : "");
    }
    arcp_buf_append_byte(&p->out, '\0');
    arcp_buf_append_byte(&p->err, '\0');
}

void host_limit_files(const host *place, uint64_t bytes)
{
    struct rlimit limit = {bytes == UINT64_MAX ? RLIM_INFINITY : (rlim_t)bytes, RLIM_INFINITY};
    assert_int_equal(prlimit(place->daemon.pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

void host_read(const host *place, const char *name, arcp_buf *out)
{
    char path[160];
    char bytes[4096];
    snprintf(path, sizeof path, "%s/%s", place->directory, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    for (size_t got = fread(bytes, 1, sizeof bytes, file); got != 0;
         got = fread(bytes, 1, sizeof bytes, file)) {
        arcp_buf_append(out, arcp_span_make(bytes, got));
    }
    fclose(file);
    arcp_buf_append_byte(out, '\0');
    assert_false(out->failed);
}
