/* Random leases, hosts and targets: what a plan admits is what the gate allows, never more, and for
 * lines that are exact not less. The seed is printed; ARCP_TEST_SEED repeats a run. */
#include "support/check.h"

#include "core/glob_pattern.h"
#include "core/strings.h"
#include "sandbox/plan_model.h"
#include "sandbox/sandbox_parts.h"
#include "sandbox/sandbox_rig.h"

enum { LEASES = 10000, PATTERNS_MAX = 6, TEXT_MAX = 160, TARGETS = 24, WRITTEN_SCHEMES = 6 };

static const char *const roots[] = {
    "/home/u", "/home/u/code", "/home",          "/tmp",           "/var/tmp",  "/srv",
    "/srv/a",  "/etc",         "/usr",           "/usr/local/etc", "/opt/tool", "/proc",
    "/dev",    "/run",         "/var/lib/arcpd", "/job",           "/dev/job",  "/scratch/1/home"};
static const char *const names[] = {"a", "b", "c.csv", ".git", "hooks", "config", "work", "own"};
static const char *const tails[] = {"/**", "/**", "/**",      "",      "",     "/*.csv",
                                    "/*",  "/*a", "/**/*.c*", "/b/**", "*/**", "/.."};
static const char *const relatives[] = {"a",   "a/**",    "*",  "*.csv", "**/c.csv",
                                        "b/*", ".git/**", "**", "a/b/**"};
/* The first WRITTEN_SCHEMES also of URLs. */
static const char *const schemes[] = {"http", "https", "https", "ws", "ssh", "redis", "http*", "*"};
static const char *const hosts[] = {"h",     "b.h", "*.h", "*", "localhost",  "127.0.0.1",
                                    "[::1]", "**",  "h*",  "H", "198.18.0.7", "h.arcp"};
static const char *const ports[] = {"", "", "", ":80", ":8080", ":*", ":53"};
static const char *const ways[] = {"/**", "/**", "/", "/v1/*", "/v1/**", "/*?q", "**", "/x"};

#define PICK(random, list) (list)[random_below((random), sizeof(list) / sizeof *(list))]

/* A random run: its request, and what the texts in it point to. */
typedef struct sample {
    uint64_t random;
    char lease_text[2 * PATTERNS_MAX * TEXT_MAX + 200];
    char patterns[3 * PATTERNS_MAX][TEXT_MAX];
    size_t pattern_count;
    char bases[2][TEXT_MAX];
    char own[2][TEXT_MAX];
    char cwd[TEXT_MAX];
    arcp_span base_spans[2];
    arcp_span own_spans[2];
    arcp__sandbox_request request;
    arcp_lease *lease;
    arcp__sandbox_plan *plan;
    arcp_authority *authority;
} sample;

static void put_name(sample *s, char *text)
{
    const size_t size = strlen(text);
    (void)snprintf(text + size, TEXT_MAX - size, "/%s", PICK(&s->random, names));
}

/* A root, and up to three names below it. */
static void make_path(sample *s, char *text)
{
    (void)snprintf(text, TEXT_MAX, "%s", PICK(&s->random, roots));
    for (size_t i = random_below(&s->random, 4); i > 0; i--) {
        put_name(s, text);
    }
}

static void make_path_pattern(sample *s, char *text)
{
    const size_t kind = random_below(&s->random, 12);
    if (kind == 0) {
        (void)snprintf(text, TEXT_MAX, "%s", kind == 0 ? "/**" : "/");
    } else if (kind < 4) {
        (void)snprintf(text, TEXT_MAX, "%s", PICK(&s->random, relatives));
    } else {
        make_path(s, text);
        const size_t size = strlen(text);
        (void)snprintf(text + size, TEXT_MAX - size, "%s", PICK(&s->random, tails));
    }
}

static void make_url_pattern(sample *s, char *text)
{
    if (random_below(&s->random, 16) == 0) {
        (void)snprintf(text, TEXT_MAX, "**");
        return;
    }
    (void)snprintf(text, TEXT_MAX, "%s://%s%s%s", PICK(&s->random, schemes),
                   PICK(&s->random, hosts), PICK(&s->random, ports), PICK(&s->random, ways));
}

static void make_lease(sample *s)
{
    static const char *const capabilities[] = {"fs.read", "fs.write", "net.fetch"};
    size_t size = 0;
    s->pattern_count = 0;
    s->lease_text[size++] = '{';
    for (size_t i = 0; i < 3; i++) {
        size += (size_t)snprintf(s->lease_text + size, sizeof s->lease_text - size, "%s\"%s\":[",
                                 i == 0 ? "" : ",", capabilities[i]);
        const size_t count = random_below(&s->random, PATTERNS_MAX);
        for (size_t j = 0; j < count; j++) {
            char *text = s->patterns[s->pattern_count++];
            if (i == 2) {
                make_url_pattern(s, text);
            } else {
                make_path_pattern(s, text);
            }
            size += (size_t)snprintf(s->lease_text + size, sizeof s->lease_text - size, "%s\"%s\"",
                                     j == 0 ? "" : ",", text);
        }
        s->lease_text[size++] = ']';
    }
    s->lease_text[size++] = '}';
    s->lease_text[size] = '\0';
}

static void make_request(sample *s)
{
    arcp__sandbox_request *request = &s->request;
    *request = rig_request(s->lease);
    for (size_t i = 0; i < 2; i++) {
        make_path(s, s->bases[i]);
        make_path(s, s->own[i]);
        s->base_spans[i] = arcp_span_cstr(s->bases[i]);
        s->own_spans[i] = arcp_span_cstr(s->own[i]);
    }
    make_path(s, s->cwd);
    request->cwd = arcp_span_cstr(s->cwd);
    request->bases = s->base_spans;
    request->base_count = random_below(&s->random, 3);
    request->own = s->own_spans;
    request->own_count = random_below(&s->random, 3);
    request->own_files = s->own_spans;
    request->own_file_count = random_below(&s->random, request->own_count + 1);
    request->cwd_is_fresh = random_below(&s->random, 3) == 0;
    for (size_t i = 0; i < request->own_count; i++) {
        request->cwd_is_fresh =
            request->cwd_is_fresh && !arcp__path_is_within(request->own[i], request->cwd);
    }
    request->protect = (arcp__sandbox_protect)random_below(&s->random, 3);
    request->tls_terminate = random_below(&s->random, 2) == 0;
    request->may_be_late = random_below(&s->random, 2) == 0;
    uint32_t *has = request->abilities.values;
    has[ARCP__SANDBOX_ABILITY_EGRESS] = (uint32_t)random_below(&s->random, 2);
    has[ARCP__SANDBOX_ABILITY_BROKER] = (uint32_t)random_below(&s->random, 2);
    has[ARCP__SANDBOX_ABILITY_USERNS] = (uint32_t)random_below(&s->random, 2);
    has[ARCP__SANDBOX_ABILITY_LANDLOCK] = 3 + (uint32_t)random_below(&s->random, 5);
}

/* A path that has to do with the run: often one that a pattern matches. */
static void make_target(sample *s, char *text)
{
    if (random_below(&s->random, 3) == 0 || s->pattern_count == 0) {
        make_path(s, text);
        return;
    }
    const char *pattern = s->patterns[random_below(&s->random, s->pattern_count)];
    size_t size = 0;
    if (pattern[0] != '/' && pattern[0] != '*') {
        const arcp_span cwd = s->plan->cwd;
        size = (size_t)snprintf(text, TEXT_MAX, "%.*s/", (int)cwd.size, cwd.data);
    }
    for (const char *at = pattern; *at != '\0' && size + 20 < TEXT_MAX; at++) {
        if (*at != '*') {
            text[size++] = *at;
        } else if (at == pattern || at[-1] != '*') {
            size += (size_t)snprintf(text + size, TEXT_MAX - size, "%s", PICK(&s->random, names));
        }
    }
    text[size] = '\0';
    if (random_below(&s->random, 4) == 0) {
        put_name(s, text);
    }
}

static void make_url(sample *s, char *text)
{
    static const char *const named[] = {"h",         "b.h",       "c.b.h",      "x",
                                        "localhost", "127.0.0.1", "127.0.0.2",  "[::1]",
                                        "hh",        "H",         "198.18.0.7", "h.arcp"};
    static const char *const written[] = {"", "", ":80", ":443", ":8080", ":9", ":53", ":00443"};
    static const char *const paths[] = {"/", "/x", "/v1/x", "/v1/x/y", "/v1/x?q", "/a?q"};
    const char *scheme = schemes[random_below(&s->random, WRITTEN_SCHEMES)];
    const char *host = PICK(&s->random, named);
    const bool keeps_case = strcmp(scheme, "ssh") == 0 || strcmp(scheme, "redis") == 0;
    (void)snprintf(text, TEXT_MAX, "%s://%s%s%s", scheme,
                   strcmp(host, "H") == 0 && !keeps_case ? "h" : host, PICK(&s->random, written),
                   PICK(&s->random, paths));
}

static void explain(const sample *s, const char *what, arcp__capability capability,
                    const char *target)
{
    arcp_buf text = arcp_buf_init();
    arcp__sandbox_plan_encode(s->plan, &text);
    /* cmocka's own functions cut long texts. */
    (void)fprintf(stderr, "%s: %s %s\n%s\ncwd %s, plan %s\n", what,
                  arcp__capability_name(capability), target, s->lease_text, s->cwd,
                  arcp_buf_cstr(&text));
    arcp_buf_fini(&text);
}

static bool is_git(const char *path)
{
    const char *found = strstr(path, "/.git");
    return found != NULL && (found[5] == '\0' || found[5] == '/');
}

/* Whether a line of the lease that is exact asks for the target. */
static bool is_asked_exactly(const sample *s, arcp__capability capability, const char *target)
{
    const arcp__sandbox_plan *plan = s->plan;
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        const arcp__sandbox_line *line = &plan->lines[i];
        if (line->verdict != ARCP__SANDBOX_VERDICT_EXACT ||
            !arcp_span_equal_cstr(line->capability, arcp__capability_name(capability))) {
            continue;
        }
        char text[64 + TEXT_MAX];
        (void)snprintf(text, sizeof text, "{\"%s\":[\"%.*s\"]}", arcp__capability_name(capability),
                       (int)line->pattern.size, line->pattern.data);
        arcp_lease *alone = NULL;
        arcp_error err = {0};
        check_ok(arcp_lease_parse(arcp_span_cstr(text), arcp_span_cstr(""), NULL, &alone, &err),
                 &err);
        arcp_authority *authority = rig_authority(alone, plan->cwd);
        const bool asks = rig_allows(authority, plan->cwd, capability, arcp_span_cstr(target));
        arcp_authority_unref(authority);
        arcp_lease_unref(alone);
        if (asks) {
            return true;
        }
    }
    return false;
}

/* What the kernel grants of the host's files, for whatever reason, is the lease's or the base's. */
static void check_kernel(const sample *s, const arcp__sandbox_paths *paths, const char *target)
{
    const arcp_span path = arcp_span_cstr(target);
    const arcp__sandbox_place place = arcp__sandbox_paths_find(paths, path);
    const bool is_scratch = s->plan->level == ARCP__SANDBOX_LEVEL_LANDLOCK &&
                            arcp__path_is_within(path, s->request.scratch);
    if (place.class == ARCP__SANDBOX_CLASS_PRIVATE || place.class == ARCP__SANDBOX_CLASS_SYSTEM ||
        is_scratch) {
        return;
    }
    if ((place.rights & ARCP__SANDBOX_WRITE) != 0 &&
        !rig_allows(s->authority, s->plan->cwd, ARCP__CAPABILITY_FS_WRITE, path)) {
        explain(s, "the kernel lets it write", ARCP__CAPABILITY_FS_WRITE, target);
        fail();
    }
    bool is_base = false;
    for (size_t i = 0; i < s->request.base_count; i++) {
        is_base = is_base || arcp__path_is_within(path, s->request.bases[i]);
    }
    size_t count = 0;
    const arcp__sandbox_base_row *rows = arcp__sandbox_base_rows(&count);
    for (size_t i = 0; i < count; i++) {
        is_base = is_base || (rows[i].kind != ARCP__SANDBOX_BASE_HIDDEN &&
                              arcp__path_is_within(path, arcp_span_cstr(rows[i].path)) &&
                              !arcp__path_is_within(path, ARCP_SPAN_LITERAL("/usr/local/etc")));
    }
    /* The prepared /etc is the sandbox's own. */
    for (size_t i = 0; i < s->plan->mount_count; i++) {
        is_base = is_base || (s->plan->mounts[i].kind == ARCP__SANDBOX_MOUNT_ETC &&
                              arcp__path_is_within(path, ARCP_SPAN_LITERAL("/etc")));
    }
    if ((place.rights & ARCP__SANDBOX_READ) != 0 && !is_base &&
        !rig_allows(s->authority, s->plan->cwd, ARCP__CAPABILITY_FS_READ, path)) {
        explain(s, "the kernel lets it read", ARCP__CAPABILITY_FS_READ, target);
        fail();
    }
}

static void check_target(const sample *s, arcp__capability capability, const char *target,
                         size_t *admitted)
{
    const arcp_span span = arcp_span_cstr(target);
    const bool is_write = capability == ARCP__CAPABILITY_FS_WRITE;
    const bool admits = model_admits(s->plan, capability, span);
    const bool allows = rig_allows(s->authority, s->plan->cwd, capability, span);
    *admitted += admits;
    if (admits && !allows) {
        explain(s, "admitted and not allowed", capability, target);
        fail();
    }
    /* A lease does not reach /proc, /sys and /dev, and the protection of .git is the operator's. */
    const bool is_fresh = s->plan->fresh.size != 0 && arcp__path_is_within(span, s->plan->fresh);
    const bool is_apart =
        (capability != ARCP__CAPABILITY_NET_FETCH && !is_fresh && arcp__sandbox_is_system(span)) ||
        (is_write && s->plan->protect != ARCP__SANDBOX_PROTECT_NONE && is_git(target));
    if (!admits && !is_apart && allows && is_asked_exactly(s, capability, target)) {
        explain(s, "exact and not admitted", capability, target);
        fail();
    }
}

/* Parents first, each at most once, nothing of the host's where the runtime's own files are. */
static void check_mounts(const sample *s)
{
    const arcp__sandbox_plan *plan = s->plan;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp__sandbox_mount *mount = &plan->mounts[i];
        assert_true(i == 0 || arcp__sandbox_compare_mounts(mount - 1, mount) < 0);
        for (size_t j = 0; j < i; j++) {
            assert_false(!arcp_span_equal(plan->mounts[j].target, mount->target) &&
                         arcp__path_is_within(plan->mounts[j].target, mount->target));
        }
        assert_true(mount->kind != ARCP__SANDBOX_MOUNT_TREE ||
                    !arcp__sandbox_holds_own_file(plan, mount->target));
        for (size_t j = 0; j < plan->own_count; j++) {
            const bool is_ours = mount->kind == ARCP__SANDBOX_MOUNT_PRIVATE ||
                                 mount->kind == ARCP__SANDBOX_MOUNT_FRESH ||
                                 mount->kind == ARCP__SANDBOX_MOUNT_COVER;
            assert_true(is_ours || !arcp__path_is_within(mount->target, plan->own[j]));
        }
    }
    for (size_t i = 0; i < plan->rule_count; i++) {
        assert_true(i == 0 ||
                    arcp__sandbox_compare_rules(&plan->rules[i - 1], &plan->rules[i]) < 0);
        assert_true(plan->rules[i].rights != 0);
    }
}

/* The kernel shows none of the runtime's own files: in a view something of the sandbox's own is
 * there or above, and without one no rule holds for them. */
static void check_own(const sample *s)
{
    const arcp__sandbox_plan *plan = s->plan;
    for (size_t i = 0; i < plan->own_count; i++) {
        const arcp__sandbox_mount *deepest = NULL;
        for (size_t j = 0; j < plan->mount_count; j++) {
            if (arcp__path_is_within(plan->own[i], plan->mounts[j].target)) {
                deepest = &plan->mounts[j];
            }
        }
        const bool is_hosts = deepest != NULL && deepest->kind != ARCP__SANDBOX_MOUNT_COVER &&
                              deepest->kind != ARCP__SANDBOX_MOUNT_ETC &&
                              deepest->kind != ARCP__SANDBOX_MOUNT_FILE &&
                              deepest->kind != ARCP__SANDBOX_MOUNT_FRESH &&
                              deepest->kind != ARCP__SANDBOX_MOUNT_PRIVATE;
        bool has_rule = false;
        for (size_t j = 0; j < plan->rule_count; j++) {
            const arcp__sandbox_rule *rule = &plan->rules[j];
            has_rule = has_rule || (rule->class != ARCP__SANDBOX_CLASS_PRIVATE &&
                                    rule->class != ARCP__SANDBOX_CLASS_SYSTEM && !rule->is_file &&
                                    arcp__path_is_within(plan->own[i], rule->path));
        }
        if (plan->level == ARCP__SANDBOX_LEVEL_FULL ? is_hosts : has_rule) {
            explain(s, "the runtime's own is shown", ARCP__CAPABILITY_FS_READ, plan->own[i].data);
            fail();
        }
    }
}

static const arcp__sandbox_mount *mount_at(const arcp__sandbox_plan *plan, arcp_span path)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        if (arcp_span_equal(plan->mounts[i].target, path)) {
            return &plan->mounts[i];
        }
    }
    return NULL;
}

/* Above each mount that keeps a part of a writable directory read-only or covered, every directory
 * up to the next mount is a mount point, too. */
static void check_pins(const sample *s)
{
    const arcp__sandbox_plan *plan = s->plan;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp__sandbox_mount *mount = &plan->mounts[i];
        if (mount->is_writable || mount->target.size == 1) {
            continue;
        }
        arcp_span above = mount->target;
        const arcp__sandbox_mount *holder = NULL;
        size_t missing = 0;
        while (holder == NULL && above.size > 1) {
            while (above.data[above.size - 1] != '/') {
                above.size--;
            }
            above.size -= above.size > 1 ? 1 : 0;
            holder = mount_at(plan, above);
            missing += holder == NULL;
        }
        const bool is_host =
            holder != NULL && holder->is_writable && holder->kind != ARCP__SANDBOX_MOUNT_PRIVATE &&
            holder->kind != ARCP__SANDBOX_MOUNT_FRESH && holder->kind != ARCP__SANDBOX_MOUNT_FILE;
        if (is_host && missing != 0 && mount->kind != ARCP__SANDBOX_MOUNT_GIT) {
            explain(s, "not pinned", ARCP__CAPABILITY_FS_WRITE, mount->target.data);
            fail();
        }
    }
}

static void check_text(const sample *s)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf again = arcp_buf_init();
    arcp__sandbox_plan *read = NULL;
    arcp_error err = {0};
    arcp__sandbox_plan_encode(s->plan, &text);
    check_ok(arcp__sandbox_plan_decode(arcp_buf_span(&text), &read, &err), &err);
    arcp__sandbox_plan_encode(read, &again);
    assert_true(arcp_span_equal(arcp_buf_span(&text), arcp_buf_span(&again)));
    arcp__sandbox_plan_free(read);
    arcp_buf_fini(&text);
    arcp_buf_fini(&again);
}

static void check_sample(sample *s, size_t *admitted)
{
    make_lease(s);
    arcp_error err = {0};
    check_ok(
        arcp_lease_parse(arcp_span_cstr(s->lease_text), arcp_span_cstr(""), NULL, &s->lease, &err),
        &err);
    make_request(s);
    s->plan = rig_plan(&s->request);
    s->authority = rig_authority(s->lease, s->plan->cwd);
    check_mounts(s);
    check_own(s);
    check_pins(s);
    check_text(s);
    arcp__sandbox_paths *paths = NULL;
    check_ok(arcp__sandbox_paths_new(s->plan, &paths, &err), &err);
    char target[TEXT_MAX];
    for (size_t i = 0; i < TARGETS; i++) {
        make_target(s, target);
        if (arcp__sandbox_path_fault(arcp_span_cstr(target)) == NULL) {
            check_target(s, ARCP__CAPABILITY_FS_READ, target, &admitted[0]);
            check_target(s, ARCP__CAPABILITY_FS_WRITE, target, &admitted[1]);
            check_kernel(s, paths, target);
        }
        make_url(s, target);
        check_target(s, ARCP__CAPABILITY_NET_FETCH, target, &admitted[2]);
    }
    arcp__sandbox_paths_free(paths);
    arcp_authority_unref(s->authority);
    arcp__sandbox_plan_free(s->plan);
    arcp_lease_unref(s->lease);
}

static void a_plan_admits_what_the_gate_allows(void **state)
{
    (void)state;
    static sample s;
    const char *text = getenv("ARCP_TEST_SEED");
    const uint64_t seed = text == NULL ? 20261123 : strtoull(text, NULL, 10);
    print_message("  ARCP_TEST_SEED=%llu\n", (unsigned long long)seed);
    size_t admitted[3] = {0};
    for (uint64_t i = 0; i < LEASES; i += test_stride()) {
        s.random = seed + i;
        check_sample(&s, admitted);
    }
    print_message("  admitted: %zu reads, %zu writes, %zu fetches\n", admitted[0], admitted[1],
                  admitted[2]);
    assert_true(admitted[0] > LEASES / 4 / test_stride());
    assert_true(admitted[1] > LEASES / 4 / test_stride());
    assert_true(admitted[2] > LEASES / 4 / test_stride());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_plan_admits_what_the_gate_allows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
