/* Plans that a reader can follow: tests/sandbox/plans has a lease, a request and what comes of them
 * in each file.
 *
 *   about            what the plan shows
 *   lease            as in job.submit; `constraints` likewise
 *   request          members that differ from rig_request; `without` takes abilities away,
 *                    `landlock` sets the version of Landlock
 *   table            what `arcp lease explain --enforce` prints
 *   adds, removes    what the lease changes in mounts, rules and patterns, compared with the plan
 *                    of the same request for an empty lease
 *   plan             the whole text that arcp-sandbox gets (in one file)
 *
 * ARCP_UPDATE_PLANS=1 writes the files anew. */
#include "support/check.h"

#include <dirent.h>

#include "sandbox/sandbox_parts.h"
#include "sandbox/sandbox_rig.h"
#include "json/json_put.h"

#define DIRECTORY ARCP_SOURCE_DIR "/tests/sandbox/plans"

enum { FILES_MAX = 128, LIST_MAX = 16, TEXTS_MAX = 256 };

/* One file, and what its members point to. */
typedef struct golden {
    char path[512];
    arcp_buf text;
    arcp_buf strings;
    arcp_json *json;
    arcp_span bases[LIST_MAX];
    arcp_span own[LIST_MAX];
    arcp_span own_files[LIST_MAX];
    arcp_span exempt[LIST_MAX];
    arcp_span models[LIST_MAX];
    arcp_lease *lease;
    arcp_lease *empty;
    arcp__sandbox_request request;
} golden;

static bool is_seen[ARCP__SANDBOX_NOTE_COUNT];

/* ---- reading ---- */

static void read_file(const char *path, arcp_buf *out)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char part[4096];
    size_t size = 0;
    while ((size = fread(part, 1, sizeof part, file)) > 0) {
        arcp_buf_append(out, arcp_span_make(part, size));
    }
    (void)fclose(file);
}

static arcp_json_ref member(const golden *g, arcp_json_ref object, const char *name)
{
    return arcp_json_member(g->json, object, arcp_span_cstr(name));
}

static arcp_span text_of(golden *g, arcp_json_ref ref)
{
    return arcp_json_string(g->json, ref, &g->strings);
}

static size_t read_list(golden *g, arcp_json_ref array, arcp_span *out)
{
    size_t count = 0;
    for (arcp_json_ref at = arcp_json_first(g->json, array); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(g->json, array, at)) {
        assert_true(count < LIST_MAX);
        out[count++] = text_of(g, at);
    }
    return count;
}

/* The index of a member's text among names; `fallback` when it is absent. */
static unsigned read_name(golden *g, arcp_json_ref object, const char *name,
                          const char *const *names, unsigned fallback)
{
    const arcp_json_ref ref = member(g, object, name);
    if (ref == ARCP_JSON_ABSENT) {
        return fallback;
    }
    for (unsigned i = 0; names[i] != NULL; i++) {
        if (arcp_json_string_equals(g->json, ref, arcp_span_cstr(names[i]))) {
            return i;
        }
    }
    fail_msg("%s: %s is unknown", g->path, name);
    return fallback;
}

static bool is_true(const golden *g, arcp_json_ref object, const char *name)
{
    return arcp_json_is(g->json, member(g, object, name), ARCP_JSON_TRUE);
}

static void read_span(golden *g, arcp_json_ref object, const char *name, arcp_span *out)
{
    const arcp_json_ref ref = member(g, object, name);
    *out = ref == ARCP_JSON_ABSENT ? *out : text_of(g, ref);
}

static void read_abilities(golden *g, arcp_json_ref object)
{
    uint64_t version = 0;
    uint32_t *has = g->request.abilities.values;
    if (arcp_json_u64(g->json, member(g, object, "landlock"), &version)) {
        has[ARCP__SANDBOX_ABILITY_LANDLOCK] = (uint32_t)version;
    }
    has[ARCP__SANDBOX_ABILITY_EGRESS] = is_true(g, object, "egress") ? 1 : 0;
    char names[256];
    const arcp_span without = text_of(g, member(g, object, "without"));
    (void)snprintf(names, sizeof names, "%.*s", (int)without.size,
                   without.size == 0 ? "" : without.data);
    rig_without(&g->request, names);
}

static void read_limits(golden *g, arcp_json_ref object)
{
    static const char *const names[] = {"memory", "cpu", "pids"};
    arcp__sandbox_limits *limits = &g->request.limits;
    const arcp_span by_cgroup = text_of(g, member(g, object, "by_cgroup"));
    uint64_t cpu = 0;
    (void)arcp_json_u64(g->json, member(g, object, "memory_bytes"), &limits->memory_bytes);
    (void)arcp_json_u64(g->json, member(g, object, "cpu_percent"), &cpu);
    limits->cpu_percent = (uint32_t)cpu;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (by_cgroup.size != 0 &&
            memmem(by_cgroup.data, by_cgroup.size, names[i], strlen(names[i])) != NULL) {
            limits->by_cgroup |= 1U << i;
        }
    }
}

static void read_request(golden *g)
{
    static const char *const protections[] = {"none", "commits", "strict", NULL};
    static const char *const origins[] = {"job", "run", NULL};
    static const char *const verdicts[] = {"exact", "under", "refused", "advisory", NULL};
    const arcp_json_ref object = member(g, ARCP_JSON_ROOT, "request");
    arcp__sandbox_request *request = &g->request;
    *request = rig_request(g->lease);
    read_span(g, object, "cwd", &request->cwd);
    read_span(g, object, "home", &request->home);
    read_span(g, object, "scratch", &request->scratch);
    read_span(g, object, "endpoint", &request->endpoint);
    request->bases = g->bases;
    request->base_count = read_list(g, member(g, object, "bases"), g->bases);
    request->own = g->own;
    request->own_count = read_list(g, member(g, object, "own"), g->own);
    request->own_files = g->own_files;
    request->own_file_count = read_list(g, member(g, object, "own_files"), g->own_files);
    request->exempt = g->exempt;
    request->exempt_count = read_list(g, member(g, object, "exempt"), g->exempt);
    request->model_hosts = g->models;
    request->model_host_count = read_list(g, member(g, object, "model_hosts"), g->models);
    request->cwd_is_fresh = is_true(g, object, "fresh");
    request->has_terminal = is_true(g, object, "terminal");
    request->tls_terminate = is_true(g, object, "terminate");
    request->may_be_late = is_true(g, object, "late");
    request->is_shared = is_true(g, object, "shared");
    request->has_model_gateway = is_true(g, object, "model_gateway");
    request->has_tool_gateway = is_true(g, object, "tool_gateway");
    request->outlasts_expiry = is_true(g, object, "outlasts_expiry");
    request->outlasts_budget = is_true(g, object, "outlasts_budget");
    request->hides = is_true(g, object, "hide");
    request->is_silent = is_true(g, object, "silent");
    request->protect = (arcp__sandbox_protect)read_name(g, object, "protect", protections, 0);
    request->origin = (arcp__sandbox_origin)read_name(g, object, "origin", origins, 0);
    request->min = (arcp__sandbox_verdict)read_name(g, object, "min", verdicts,
                                                    ARCP__SANDBOX_VERDICT_ADVISORY);
    read_limits(g, object);
    read_abilities(g, object);
}

static golden *open_golden(const char *name)
{
    golden *g = calloc(1, sizeof *g);
    assert_non_null(g);
    (void)snprintf(g->path, sizeof g->path, "%s/%s", DIRECTORY, name);
    read_file(g->path, &g->text);
    /* Strings stay where they are while more are read. */
    assert_true(arcp_buf_reserve(&g->strings, 65536));
    g->json = arcp_json_new();
    assert_non_null(g->json);
    arcp_error err = {0};
    check_ok(arcp_json_scan(g->json, arcp_buf_span(&g->text), NULL, &err), &err);
    check_ok(arcp_lease_parse(arcp_json_raw(g->json, member(g, ARCP_JSON_ROOT, "lease")),
                              arcp_json_raw(g->json, member(g, ARCP_JSON_ROOT, "constraints")),
                              NULL, &g->lease, &err),
             &err);
    check_ok(
        arcp_lease_parse(ARCP_SPAN_LITERAL("{}"), ARCP_SPAN_LITERAL(""), NULL, &g->empty, &err),
        &err);
    read_request(g);
    return g;
}

static void close_golden(golden *g)
{
    arcp_lease_unref(g->lease);
    arcp_lease_unref(g->empty);
    arcp_json_free(g->json);
    arcp_buf_fini(&g->text);
    arcp_buf_fini(&g->strings);
    free(g);
}

/* ---- a plan as short texts ---- */

typedef struct text_list {
    char *texts[TEXTS_MAX];
    size_t count;
} text_list;

static void add_text(text_list *list, const char *format, ...) ARCP_PRINTF(2, 3);
static void add_text(text_list *list, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert_true(list->count < TEXTS_MAX);
    list->texts[list->count] = strdup(text);
    assert_non_null(list->texts[list->count++]);
}

static void free_texts(text_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->texts[i]);
    }
    list->count = 0;
}

static void add_patterns(text_list *list, const char *what, const arcp_span *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add_text(list, "%s %s", what, patterns[i].data);
    }
}

static void describe(const arcp__sandbox_plan *plan, text_list *list)
{
    static const char *const kinds[] = {"root",    "base",  "etc", "tree", "file",
                                        "private", "fresh", "pin", "git",  "cover"};
    static const char *const classes[] = {"outside", "own", "system", "base", "private", "lease"};
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp__sandbox_mount *mount = &plan->mounts[i];
        const bool is_moved =
            mount->source.size != 0 && !arcp_span_equal(mount->source, mount->target);
        add_text(list, "mount %s %s %s%s%s", kinds[mount->kind], mount->is_writable ? "rw" : "ro",
                 mount->target.data, is_moved ? " from " : "", is_moved ? mount->source.data : "");
    }
    for (size_t i = 0; i < plan->rule_count; i++) {
        const arcp__sandbox_rule *rule = &plan->rules[i];
        add_text(list, "rule %s%s%s %s%s by %s", (rule->rights & ARCP__SANDBOX_READ) ? "r" : "",
                 (rule->rights & ARCP__SANDBOX_WRITE) ? "w" : "",
                 (rule->rights & ARCP__SANDBOX_EXECUTE) ? "x" : "", rule->path.data,
                 rule->is_file ? " (file)" : "", classes[rule->class]);
    }
    add_patterns(list, "reads", plan->reads, plan->read_count);
    add_patterns(list, "writes", plan->writes, plan->write_count);
    for (size_t i = 0; i < plan->port_count; i++) {
        add_text(list, "port %u", plan->ports[i]);
    }
    add_text(list, "cwd %s", plan->cwd.data);
    add_text(list, "home %s", plan->home.data);
    add_text(list, "tmp %s", plan->tmp.data);
    add_text(list, "fresh %s", plan->fresh.data);
}

/* The texts of `list` that are not in `other`, as a JSON array with a text on each line. */
static void put_missing(const text_list *list, const text_list *other, arcp_buf *out)
{
    size_t count = 0;
    arcp_buf_append_byte(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        bool is_known = false;
        for (size_t j = 0; j < other->count; j++) {
            is_known = is_known || strcmp(list->texts[i], other->texts[j]) == 0;
        }
        if (!is_known) {
            arcp_buf_append_cstr(out, count++ == 0 ? "\n    " : ",\n    ");
            arcp_json_quote(arcp_span_cstr(list->texts[i]), out);
        }
    }
    arcp_buf_append_cstr(out, count == 0 ? "]" : "\n  ]");
}

static void put_table(const arcp__sandbox_plan *plan, arcp_buf *out)
{
    arcp_buf table = arcp_buf_init();
    arcp__sandbox_report_table(plan, &table);
    const char *lines = arcp_buf_cstr(&table);
    size_t count = 0;
    arcp_buf_append_byte(out, '[');
    for (const char *at = lines; *at != '\0';) {
        const size_t size = strcspn(at, "\n");
        arcp_buf_append_cstr(out, count++ == 0 ? "\n    " : ",\n    ");
        arcp_json_quote(arcp_span_make(at, size), out);
        at += size + (at[size] == '\n' ? 1 : 0);
    }
    arcp_buf_append_cstr(out, "\n  ]");
    arcp_buf_fini(&table);
}

/* The file as it must be: what was given, then what comes of it. */
static void put_golden(golden *g, arcp_buf *out)
{
    static const char *const given[] = {"about", "lease", "constraints", "request"};
    arcp__sandbox_plan *plan = rig_plan(&g->request);
    g->request.lease = g->empty;
    arcp__sandbox_plan *without = rig_plan(&g->request);
    g->request.lease = g->lease;
    arcp_buf_append_byte(out, '{');
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        const arcp_json_ref ref = member(g, ARCP_JSON_ROOT, given[i]);
        if (ref != ARCP_JSON_ABSENT) {
            arcp_buf_append_format(out, "%s\n  \"%s\": ", i == 0 ? "" : ",", given[i]);
            arcp_buf_append(out, arcp_json_raw(g->json, ref));
        }
    }
    text_list with_lease = {.count = 0};
    text_list with_none = {.count = 0};
    describe(plan, &with_lease);
    describe(without, &with_none);
    arcp_buf_append_cstr(out, ",\n  \"table\": ");
    put_table(plan, out);
    arcp_buf_append_cstr(out, ",\n  \"adds\": ");
    put_missing(&with_lease, &with_none, out);
    arcp_buf_append_cstr(out, ",\n  \"removes\": ");
    put_missing(&with_none, &with_lease, out);
    if (member(g, ARCP_JSON_ROOT, "plan") != ARCP_JSON_ABSENT) {
        arcp_buf_append_cstr(out, ",\n  \"plan\": ");
        arcp__sandbox_plan_encode(plan, out);
    }
    if (member(g, ARCP_JSON_ROOT, "report") != ARCP_JSON_ABSENT) {
        arcp_buf_append_cstr(out, ",\n  \"report\": ");
        arcp__sandbox_report_json(plan, out);
    }
    arcp_buf_append_cstr(out, "\n}\n");
    for (size_t i = 0; i < plan->line_count; i++) {
        is_seen[plan->lines[i].note] = true;
    }
    free_texts(&with_lease);
    free_texts(&with_none);
    arcp__sandbox_plan_free(plan);
    arcp__sandbox_plan_free(without);
}

static void check_file(void **state)
{
    golden *g = open_golden(*state);
    arcp_buf wanted = arcp_buf_init();
    put_golden(g, &wanted);
    if (getenv("ARCP_UPDATE_PLANS") != NULL) {
        FILE *file = fopen(g->path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(wanted.data, 1, wanted.size, file), wanted.size);
        assert_int_equal(fclose(file), 0);
    } else if (!arcp_span_equal(arcp_buf_span(&wanted), arcp_buf_span(&g->text))) {
        (void)fprintf(stderr, "%s must be:\n%s", g->path, arcp_buf_cstr(&wanted));
        fail();
    }
    arcp_buf_fini(&wanted);
    close_golden(g);
}

static void every_note_is_in_a_plan(void **state)
{
    (void)state;
    for (size_t i = 1; i < ARCP__SANDBOX_NOTE_COUNT; i++) {
        if (!is_seen[i]) {
            fail_msg("no plan has the note \"%s\"", arcp__sandbox_note_text((arcp__sandbox_note)i));
        }
    }
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

int main(void)
{
    static char *names[FILES_MAX];
    static struct CMUnitTest tests[FILES_MAX + 1];
    size_t count = 0;
    DIR *directory = opendir(DIRECTORY);
    if (directory == NULL) {
        return 1;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        if (entry->d_name[0] != '.' && count < FILES_MAX) {
            names[count++] = strdup(entry->d_name);
        }
    }
    (void)closedir(directory);
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++) {
        tests[i] = (struct CMUnitTest){
            .name = names[i], .test_func = check_file, .initial_state = names[i]};
    }
    tests[count] = (struct CMUnitTest)cmocka_unit_test(every_note_is_in_a_plan);
    const int failed = _cmocka_run_group_tests("plans", tests, count + 1, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        free(names[i]);
    }
    return failed;
}
