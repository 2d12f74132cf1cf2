/* survey: an agent that reads a directory tree and writes a report about it.
 *
 * A program becomes an agent by reading lines from standard input and writing lines to
 * standard output (arcp-agent(7)). This one asks before it opens a file, reports its
 * progress and costs, and streams its report. Input: {"directory": "/path"}; with "pause_ms" it
 * waits after every 25 files, for an audience. */
#include <errno.h>
#include <fts.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <arcp/json.h>

#define KINDS_MAX   64
#define CHUNK_LINES 20
#define FILES_MAX   20000

typedef struct kind {
    char suffix[16];
    unsigned long files, lines, bytes;
} kind;

typedef struct survey {
    char directory[4096];
    kind kinds[KINDS_MAX];
    size_t kind_count;
    unsigned long files, lines, bytes, refused, unread;
    char largest[4096];
    unsigned long largest_bytes;
    unsigned asked;
    uint64_t pause_ms;
    char *line;
    size_t line_capacity;
    arcp_json *json;
} survey;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)putchar('\n');
    (void)fflush(stdout);
}

/* A JSON string on the heap, which this short-lived program does not free. */
static const char *quoted(const char *text)
{
    arcp_buf out = arcp_buf_init();
    arcp_json_quote(arcp_span_cstr(text), &out);
    char *copy = arcp_buf_take_cstr(&out);
    return copy == NULL ? "\"?\"" : copy;
}

/* The next line from the runtime, indexed. False at the end. */
static int read_line(survey *s)
{
    const ssize_t size = getline(&s->line, &s->line_capacity, stdin);
    return size > 0 &&
           arcp_json_scan(s->json, arcp_span_make(s->line, (size_t)size), NULL, NULL) == ARCP_OK;
}

static int is_type(const survey *s, const char *type)
{
    const arcp_json_ref ref = arcp_json_member(s->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("type"));
    return arcp_json_string_equals(s->json, ref, arcp_span_cstr(type));
}

/* Asks the gate and waits for the answer. The lease decides, not this program. */
static int may_read(survey *s, const char *path)
{
    const char *target = quoted(path);
    say("{\"type\":\"authorize\",\"id\":\"a%u\",\"payload\":{\"capability\":\"fs.read\","
        "\"target\":%s}}",
        ++s->asked, target);
    while (read_line(s)) {
        if (is_type(s, "job.cancel")) {
            say("{\"type\":\"job.error\",\"payload\":{\"code\":\"CANCELLED\","
                "\"message\":\"stopped as asked\"}}");
            exit(0);
        }
        if (is_type(s, "reply")) {
            const arcp_json_ref payload =
                arcp_json_member(s->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
            return arcp_json_is(s->json,
                                arcp_json_member(s->json, payload, ARCP_SPAN_LITERAL("allow")),
                                ARCP_JSON_TRUE);
        }
    }
    exit(1);
}

static kind *kind_of(survey *s, const char *path)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name == NULL ? path : name, '.');
    const char *suffix = dot == NULL || strlen(dot) >= sizeof s->kinds[0].suffix ? "(none)" : dot;
    for (size_t i = 0; i < s->kind_count; i++) {
        if (strcmp(s->kinds[i].suffix, suffix) == 0) {
            return &s->kinds[i];
        }
    }
    if (s->kind_count == KINDS_MAX) {
        return &s->kinds[KINDS_MAX - 1];
    }
    (void)snprintf(s->kinds[s->kind_count].suffix, sizeof s->kinds[0].suffix, "%s", suffix);
    return &s->kinds[s->kind_count++];
}

static void read_file(survey *s, const char *path)
{
    if (!may_read(s, path)) {
        s->refused++;
        return;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        s->unread++;
        return;
    }
    kind *into = kind_of(s, path);
    char block[65536];
    unsigned long bytes = 0;
    for (size_t size = fread(block, 1, sizeof block, file); size > 0;
         size = fread(block, 1, sizeof block, file)) {
        bytes += size;
        for (size_t i = 0; i < size; i++) {
            into->lines += block[i] == '\n';
        }
    }
    (void)fclose(file);
    into->files++;
    into->bytes += bytes;
    s->files++;
    s->bytes += bytes;
    if (bytes > s->largest_bytes) {
        s->largest_bytes = bytes;
        (void)snprintf(s->largest, sizeof s->largest, "%s", path);
    }
}

/* The files below the directory, sorted; without files of tools such as .git. */
static size_t list_files(const survey *s, char **paths, size_t most)
{
    char *roots[2] = {(char *)s->directory, NULL};
    size_t count = 0;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (tree == NULL) {
        return 0;
    }
    for (FTSENT *entry = fts_read(tree); entry != NULL && count < most; entry = fts_read(tree)) {
        if (entry->fts_info == FTS_D && entry->fts_level > 0 &&
            (entry->fts_name[0] == '.' || strncmp(entry->fts_name, "build", 5) == 0)) {
            (void)fts_set(tree, entry, FTS_SKIP);
        } else if (entry->fts_info == FTS_F) {
            paths[count] = strdup(entry->fts_path);
            count += paths[count] != NULL;
        }
    }
    (void)fts_close(tree);
    return count;
}

static void say_chunk(const char *text, int more)
{
    say("{\"type\":\"result.chunk\",\"payload\":{\"data\":%s,\"encoding\":\"utf8\",\"more\":%s}}",
        quoted(text), more ? "true" : "false");
}

static int by_lines(const void *a, const void *b)
{
    const kind *first = a;
    const kind *second = b;
    return first->lines == second->lines ? 0 : (first->lines < second->lines ? 1 : -1);
}

static void write_report(survey *s)
{
    arcp_buf text = arcp_buf_init();
    qsort(s->kinds, s->kind_count, sizeof s->kinds[0], by_lines);
    for (size_t i = 0; i < s->kind_count; i++) {
        s->lines += s->kinds[i].lines;
    }
    arcp_buf_append_format(&text,
                           "# Survey of %s\n\n%lu files, %lu lines, %lu bytes. "
                           "Largest: %s (%lu bytes).\n"
                           "Refused by the lease: %lu. Not readable: %lu.\n\n",
                           s->directory, s->files, s->lines, s->bytes,
                           s->largest[0] == '\0' ? "none" : s->largest, s->largest_bytes,
                           s->refused, s->unread);
    arcp_buf_append_cstr(&text, "| kind | files | lines | bytes |\n|---|---:|---:|---:|\n");
    for (size_t i = 0; i < s->kind_count; i++) {
        const kind *row = &s->kinds[i];
        if (i % CHUNK_LINES == CHUNK_LINES - 1) {
            arcp_buf_append_byte(&text, '\0');
            say_chunk(text.failed ? "" : text.data, 1);
            arcp_buf_clear(&text);
        }
        arcp_buf_append_format(&text, "| %s | %lu | %lu | %lu |\n", row->suffix, row->files,
                               row->lines, row->bytes);
    }
    arcp_buf_append_byte(&text, '\0');
    say_chunk(text.failed ? "" : text.data, 0);
    arcp_buf_fini(&text);
}

static void pause_for(uint64_t ms)
{
    const struct timespec length = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    (void)nanosleep(&length, NULL);
}

static int read_start(survey *s)
{
    if (!read_line(s) || !is_type(s, "job.start")) {
        return 0;
    }
    arcp_buf scratch = arcp_buf_init();
    const arcp_json_ref payload =
        arcp_json_member(s->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    const arcp_json_ref input = arcp_json_member(s->json, payload, ARCP_SPAN_LITERAL("input"));
    const arcp_json_ref directory =
        arcp_json_member(s->json, input, ARCP_SPAN_LITERAL("directory"));
    const arcp_span path = arcp_json_string(s->json, directory, &scratch);
    (void)snprintf(s->directory, sizeof s->directory, "%.*s", (int)path.size,
                   path.size == 0 ? "" : path.data);
    arcp_buf_fini(&scratch);
    (void)arcp_json_u64(s->json, arcp_json_member(s->json, input, ARCP_SPAN_LITERAL("pause_ms")),
                        &s->pause_ms);
    return path.size != 0 && path.size < sizeof s->directory && path.data[0] == '/';
}

int main(void)
{
    static survey s;
    static char *paths[FILES_MAX];
    s.json = arcp_json_new();
    if (s.json == NULL || !read_start(&s)) {
        say("{\"type\":\"job.error\",\"payload\":{\"code\":\"INVALID_REQUEST\","
            "\"message\":\"input must be {\\\"directory\\\": an absolute path}\"}}");
        return 0;
    }
    say("{\"type\":\"job.event\",\"payload\":{\"kind\":\"status\",\"body\":{\"phase\":\"reading\","
        "\"message\":%s}}}",
        quoted(s.directory));
    const size_t count = list_files(&s, paths, FILES_MAX);
    /* An operation that the lease does not cover: the gate denies it. */
    if (!may_read(&s, "/etc/shadow")) {
        s.refused++;
        say("{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":\"warn\","
            "\"message\":\"/etc/shadow is outside my lease: not read\"}}}");
    }
    for (size_t i = 0; i < count; i++) {
        read_file(&s, paths[i]);
        if (i % 25 == 24 || i + 1 == count) {
            say("{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{"
                "\"name\":\"cost.read\",\"value\":%zu.0e-5,\"unit\":\"USD\"}}}",
                i % 25 + 1);
            say("{\"type\":\"job.event\",\"payload\":{\"kind\":\"progress\",\"body\":{"
                "\"current\":%zu,\"total\":%zu,\"units\":\"files\"}}}",
                i + 1, count);
            pause_for(s.pause_ms);
        }
    }
    write_report(&s);
    say("{\"type\":\"job.result\",\"payload\":{\"summary\":\"%lu files, %lu lines\"}}", s.files,
        s.lines);
    return 0;
}
