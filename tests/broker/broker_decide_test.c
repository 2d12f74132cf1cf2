/* Decisions against a model: random leases, and a host's tree in memory with links, pipes and
 * directories of granted names. What the lease admits is asked of tests/core/glob_model.h, which
 * has no code of the library. */
#include <errno.h>

#include "base/path.h"
#include "broker/broker_parts.h"
#include "core/glob_model.h"
#include "core/strings.h"
#include "support/check.h"

enum { NAMES = 3, PATHS = 39, TEXT_MAX = 64, PATTERNS_MAX = 4, LINKS_MAX = 16 };
enum { WORLDS = 400, CALLS = 150 };

static uint64_t seed;

static size_t pick(size_t bound)
{
    return random_below(&seed, bound);
}

/* ---- the host's tree ---- */

typedef enum node_type { NODE_ABSENT, NODE_DIRECTORY, NODE_FILE, NODE_LINK, NODE_PIPE } node_type;

typedef struct node {
    char path[8]; /* "/a/b/c" */
    node_type type;
    char link[TEXT_MAX];
} node;

typedef struct world {
    node nodes[PATHS]; /* parents first */
    char patterns[2][PATTERNS_MAX][TEXT_MAX];
    arcp_span spans[2][PATTERNS_MAX];
    size_t counts[2];
    arcp_lease *lease;
    arcp__sandbox_plan *plan;
    arcp__broker_classes *classes;
} world;

static const node *find_node(const world *w, const char *path)
{
    for (size_t i = 0; i < PATHS; i++) {
        if (strcmp(w->nodes[i].path, path) == 0) {
            return &w->nodes[i];
        }
    }
    return NULL;
}

static node_type pick_type(size_t depth)
{
    static const node_type types[3][10] = {
        {NODE_DIRECTORY, NODE_DIRECTORY, NODE_DIRECTORY, NODE_DIRECTORY, NODE_DIRECTORY,
         NODE_DIRECTORY, NODE_DIRECTORY, NODE_DIRECTORY, NODE_LINK, NODE_ABSENT},
        {NODE_DIRECTORY, NODE_DIRECTORY, NODE_DIRECTORY, NODE_DIRECTORY, NODE_FILE, NODE_FILE,
         NODE_LINK, NODE_LINK, NODE_PIPE, NODE_ABSENT},
        {NODE_DIRECTORY, NODE_FILE, NODE_FILE, NODE_FILE, NODE_FILE, NODE_LINK, NODE_LINK,
         NODE_LINK, NODE_PIPE, NODE_ABSENT},
    };
    return types[depth][pick(10)];
}

static void pick_path(char *out, bool is_absolute)
{
    size_t size = 0;
    const size_t depth = 1 + pick(3);
    for (size_t i = 0; i < depth; i++) {
        if (i > 0 || is_absolute) {
            out[size++] = '/';
        }
        out[size++] = (char)('a' + pick(NAMES));
    }
    out[size] = '\0';
}

static void make_nodes(world *w)
{
    size_t count = 0;
    for (size_t depth = 0; depth < 3; depth++) {
        const size_t combinations = depth == 0 ? 3 : depth == 1 ? 9 : 27;
        for (size_t k = 0; k < combinations; k++) {
            node *one = &w->nodes[count++];
            size_t rest = k;
            for (size_t i = 0; i <= depth; i++) {
                one->path[2 * i] = '/';
                one->path[2 * i + 1] = (char)('a' + rest % NAMES);
                rest /= NAMES;
            }
            one->path[2 * depth + 2] = '\0';
            char parent[8];
            (void)snprintf(parent, sizeof parent, "%.*s", (int)(2 * depth), one->path);
            const bool has_parent = depth == 0 || find_node(w, parent)->type == NODE_DIRECTORY;
            one->type = has_parent ? pick_type(depth) : NODE_ABSENT;
            char target[TEXT_MAX];
            const size_t kind = pick(3);
            pick_path(target, kind == 0);
            (void)snprintf(one->link, sizeof one->link, "%s%.50s", kind == 1 ? "../" : "", target);
        }
    }
}

/* ---- the lease ---- */

static void make_lease(world *w)
{
    static const char *const pool[] = {
        "/a/*",    "/a/**",  "/a/b",  "/a/**/c", "/b/**",   "/*/b",    "/c/*",   "/b/a",
        "/c/a/**", "/a/*/c", "/**/a", "/b/*/a",  "/c/**/b", "/b/c/**", "/a/b/*", "/c"};
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_byte(&text, '{');
    for (size_t which = 0; which < 2; which++) {
        w->counts[which] = pick(PATTERNS_MAX + 1);
        arcp_buf_append_format(&text, "%s\"%s\": [", which == 0 ? "" : ", ",
                               which == 0 ? "fs.read" : "fs.write");
        for (size_t i = 0; i < w->counts[which]; i++) {
            const char *one = pool[pick(sizeof pool / sizeof *pool)];
            (void)snprintf(w->patterns[which][i], TEXT_MAX, "%s", one);
            w->spans[which][i] = arcp_span_cstr(w->patterns[which][i]);
            arcp_buf_append_format(&text, "%s\"%s\"", i == 0 ? "" : ", ", one);
        }
        arcp_buf_append_byte(&text, ']');
    }
    arcp_buf_append_byte(&text, '}');
    arcp_error error;
    check_ok(
        arcp_lease_parse(arcp_buf_span(&text), arcp_span_make(NULL, 0), NULL, &w->lease, &error),
        &error);
    arcp_buf_fini(&text);
}

static const arcp_span own[] = {{"/c/c", 4}};

static void make_plan(world *w, arcp__sandbox_level level)
{
    arcp__sandbox_request request = {.lease = w->lease,
                                     .cwd = ARCP_SPAN_LITERAL("/srv"),
                                     .home = ARCP_SPAN_LITERAL("/home/agent"),
                                     .own = own,
                                     .own_count = 1,
                                     .min = ARCP__SANDBOX_VERDICT_ADVISORY};
    for (size_t i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        request.abilities.values[i] = 7;
    }
    if (level != ARCP__SANDBOX_LEVEL_FULL) {
        request.abilities.values[ARCP__SANDBOX_ABILITY_USERNS] = 0;
    }
    arcp_error error;
    check_ok(arcp__sandbox_plan_new(&request, &w->plan, &error), &error);
    assert_int_equal(w->plan->level, level);
    assert_true(w->plan->has_broker);
    check_ok(arcp__broker_classes_new(w->plan, &w->classes, &error), &error);
}

static bool admits(const world *w, bool is_write, const char *path)
{
    const bool is_own = strncmp(path, "/c/c", 4) == 0 && (path[4] == '\0' || path[4] == '/');
    return !is_own && model_matches_any(ARCP__TARGET_PATH, w->spans[is_write], w->counts[is_write],
                                        arcp_span_cstr(path));
}

static bool admits_all(const world *w, uint32_t flags, const char *path)
{
    return ((flags & ARCP__BROKER_TO_READ) == 0 || admits(w, false, path)) &&
           ((flags & ARCP__BROKER_TO_WRITE) == 0 || admits(w, true, path));
}

/* ---- looks ---- */

/* What is at a path without links: on the host, or in the sandbox's view. */
static node_type type_at(const world *w, bool is_inside, const char *path)
{
    const node *one = find_node(w, path);
    const node_type host = path[1] == '\0' ? NODE_DIRECTORY : one == NULL ? NODE_ABSENT : one->type;
    if (!is_inside || w->plan->level != ARCP__SANDBOX_LEVEL_FULL) {
        return host;
    }
    const arcp__sandbox_mount *on = NULL;
    bool leads = path[1] == '\0';
    for (size_t i = 0; i < w->plan->mount_count; i++) {
        const arcp__sandbox_mount *mount = &w->plan->mounts[i];
        const arcp_span span = arcp_span_cstr(path);
        if (mount->kind == ARCP__SANDBOX_MOUNT_PIN || mount->kind == ARCP__SANDBOX_MOUNT_GIT) {
            continue;
        }
        if (arcp__path_is_within(span, mount->target)) {
            on = mount;
        }
        leads = leads || arcp__path_is_within(mount->target, span);
    }
    if (on == NULL) {
        return leads ? NODE_DIRECTORY : NODE_ABSENT;
    }
    if (on->kind == ARCP__SANDBOX_MOUNT_COVER) {
        return strlen(path) == on->target.size ? NODE_DIRECTORY : NODE_ABSENT;
    }
    if (on->kind == ARCP__SANDBOX_MOUNT_FILE && host == NODE_DIRECTORY) {
        return NODE_ABSENT; /* a directory of that name is not mounted */
    }
    return host;
}

/* The kernel's walk. Returns 0 or an errno; writes the real name. */
static int walk(const world *w, bool is_inside, const char *path, bool stays, char real[TEXT_MAX])
{
    char rest[4 * TEXT_MAX];
    char at[TEXT_MAX] = "";
    int links = 0;
    (void)snprintf(rest, sizeof rest, "%s", path);
    for (char *name = rest; *name != '\0';) {
        while (*name == '/') {
            name++;
        }
        const size_t size = strcspn(name, "/");
        if (size == 0) {
            break;
        }
        const bool is_last = name[size + strspn(name + size, "/")] == '\0';
        if (size == 2 && name[0] == '.') {
            char *slash = strrchr(at, '/');
            *(slash == NULL ? at : slash) = '\0';
            name += size;
            continue;
        }
        const size_t before = strlen(at);
        (void)snprintf(at + before, sizeof at - before, "/%.*s", (int)size, name);
        const node_type type = type_at(w, is_inside, at);
        if (type == NODE_ABSENT) {
            return ENOENT;
        }
        if (type == NODE_LINK && (!is_last || !stays)) {
            if (++links > LINKS_MAX) {
                return ELOOP;
            }
            const char *target = find_node(w, at)->link;
            char next[4 * TEXT_MAX];
            (void)snprintf(next, sizeof next, "%s/%.120s", target, name + size);
            at[target[0] == '/' ? 0 : before] = '\0';
            (void)snprintf(rest, sizeof rest, "%s", next);
            name = rest;
            continue;
        }
        if (!is_last && type != NODE_DIRECTORY) {
            return ENOTDIR;
        }
        name += size;
    }
    (void)snprintf(real, TEXT_MAX, "%s", at[0] == '\0' ? "/" : at);
    return 0;
}

static arcp__broker_type broker_type(node_type type)
{
    switch (type) {
    case NODE_DIRECTORY:
        return ARCP__BROKER_A_DIRECTORY;
    case NODE_FILE:
        return ARCP__BROKER_REGULAR;
    case NODE_LINK:
        return ARCP__BROKER_A_LINK;
    case NODE_ABSENT:
    case NODE_PIPE:
        break;
    }
    return ARCP__BROKER_SPECIAL;
}

static void look(const world *w, const arcp__broker_call *call, arcp__broker_look which,
                 arcp__broker_fact *fact, char real[TEXT_MAX])
{
    char path[TEXT_MAX];
    const arcp_span name = which == ARCP__BROKER_LOOK_OTHER ? call->other : call->path;
    (void)snprintf(path, sizeof path, "%.*s", (int)name.size, name.data);
    *fact = (arcp__broker_fact){.is_known = true, .is_writable = true};
    if (which == ARCP__BROKER_LOOK_INSIDE || which == ARCP__BROKER_LOOK_HOST) {
        const bool is_inside = which == ARCP__BROKER_LOOK_INSIDE;
        const bool stays = (call->flags & ARCP__BROKER_NO_FOLLOW) != 0;
        fact->error = walk(w, is_inside, path, stays, real);
        fact->type = fact->error == 0 ? broker_type(type_at(w, is_inside, real)) : 0;
    } else {
        char leaf[TEXT_MAX];
        char *slash = strrchr(path, '/');
        (void)snprintf(leaf, sizeof leaf, "%s", slash);
        *(slash == path ? slash + 1 : slash) = '\0';
        fact->error = walk(w, false, path, false, real);
        if (fact->error == 0 && type_at(w, false, real) != NODE_DIRECTORY) {
            fact->error = ENOTDIR;
        }
        const size_t size = real[1] == '\0' ? 0 : strlen(real);
        (void)snprintf(real + size, TEXT_MAX - size, "%s", leaf);
    }
    fact->real = arcp_span_cstr(real);
}

/* ---- one call ---- */

typedef struct outcome {
    arcp__broker_answer answer;
    arcp__broker_facts facts;
    char real[ARCP__BROKER_LOOK_COUNT][TEXT_MAX];
} outcome;

/* Decides as the loop does: looks at what the answer names, never twice at the same. */
static void decide(const world *w, const arcp__broker_call *call, outcome *out)
{
    memset(out, 0, sizeof *out);
    for (;;) {
        out->answer = arcp__broker_decide(w->classes, call, &out->facts);
        if (out->answer.kind != ARCP__BROKER_LOOK) {
            return;
        }
        const arcp__broker_look which = out->answer.look;
        assert_false(out->facts.looks[which].is_known);
        look(w, call, which, &out->facts.looks[which], out->real[which]);
    }
}

static void show(const world *w, const arcp__broker_call *call, const outcome *out)
{
    for (size_t i = 0; i < PATHS; i++) {
        if (w->nodes[i].type != NODE_ABSENT) {
            print_message("  %s %d %s\n", w->nodes[i].path, w->nodes[i].type,
                          w->nodes[i].type == NODE_LINK ? w->nodes[i].link : "");
        }
    }
    for (size_t which = 0; which < 2; which++) {
        for (size_t i = 0; i < w->counts[which]; i++) {
            print_message("  %s %s\n", which == 0 ? "reads" : "writes", w->patterns[which][i]);
        }
    }
    print_message("  level %d, operation %d, flags %u, %.*s %.*s: kind %d, %s%s\n", w->plan->level,
                  call->operation, call->flags, (int)call->path.size, call->path.data,
                  (int)call->other.size, call->other.data, out->answer.kind,
                  strerror(out->answer.error), out->answer.is_denial ? ", denied" : "");
}

#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            show(w, call, out);                                                                    \
            fail_msg("%s", #condition);                                                            \
        }                                                                                          \
    } while (0)

/* What the broker opens: both names are the lease's, and it is a file. */
static void check_open(const world *w, const arcp__broker_call *call, const outcome *out)
{
    char path[TEXT_MAX];
    char real[TEXT_MAX];
    char directory[TEXT_MAX];
    (void)snprintf(path, sizeof path, "%.*s", (int)call->path.size, call->path.data);
    const bool stays = (call->flags & ARCP__BROKER_NO_FOLLOW) != 0;
    const int error = walk(w, false, path, stays, real);
    const bool is_file = error == 0 && type_at(w, false, real) == NODE_FILE;
    const bool is_new = (call->flags & ARCP__BROKER_CREATE) != 0 && error == ENOENT;
    if (out->answer.kind == ARCP__BROKER_SERVE && !is_new) {
        must(is_file && admits_all(w, call->flags, path) && admits_all(w, call->flags, real));
        must((call->flags & ARCP__BROKER_EXCLUSIVE) == 0);
    }
    if (out->answer.kind == ARCP__BROKER_SERVE && is_new) {
        (void)snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(path, '/') - path), path);
        must(walk(w, false, directory, false, real) == 0);
        const size_t size = real[1] == '\0' ? 0 : strlen(real);
        (void)snprintf(real + size, sizeof real - size, "%s", strrchr(path, '/'));
        must(admits(w, true, path) && admits(w, true, real));
        must(admits_all(w, call->flags, path) && admits_all(w, call->flags, real));
    }
    if (out->answer.kind == ARCP__BROKER_LIST) {
        must((call->flags & (ARCP__BROKER_TO_WRITE | ARCP__BROKER_CREATE)) == 0);
        must(error == 0 && type_at(w, false, real) == NODE_DIRECTORY);
    }
    /* What exists and is the lease's by both names is never refused, and what is not is reported,
     * also where the kernel would refuse it. */
    char inside[TEXT_MAX];
    const bool is_made =
        walk(w, true, path, stays, inside) == 0 && type_at(w, true, inside) == NODE_DIRECTORY;
    if (!is_file || (call->flags & (ARCP__BROKER_CREATE | ARCP__BROKER_DIRECTORY)) != 0 ||
        is_made) { /* a directory of the sandbox's own, for a mount, has the place of a link */
        return;
    }
    if (admits_all(w, call->flags, path) && admits_all(w, call->flags, real)) {
        must(out->answer.kind == ARCP__BROKER_SERVE || out->answer.kind == ARCP__BROKER_CONTINUE);
    } else if (out->answer.kind == ARCP__BROKER_CONTINUE) {
        /* A link in a tree, whose own name is not the lease's, to what the kernel grants anyway. */
        if (walk(w, true, path, stays, real) != 0) {
            must(arcp__broker_leads_to_mount(w->classes, call->path));
            return; /* the link is not there inside */
        }
        const uint32_t kernel = arcp__broker_classify(w->classes, arcp_span_cstr(real)).kernel;
        must((call->flags & ARCP__BROKER_TO_READ) == 0 || (kernel & ARCP__SANDBOX_READ) != 0);
        must((call->flags & ARCP__BROKER_TO_WRITE) == 0 || (kernel & ARCP__SANDBOX_WRITE) != 0);
    } else {
        must(out->answer.kind == ARCP__BROKER_FAIL && out->answer.is_denial);
        must(out->answer.error == EACCES);
    }
}

static void check_change(const world *w, const arcp__broker_call *call, const outcome *out)
{
    const bool is_rename = call->operation == ARCP__BROKER_RENAME;
    if (out->answer.kind == ARCP__BROKER_SERVE) {
        const arcp__broker_look looks[] = {ARCP__BROKER_LOOK_PARENT, ARCP__BROKER_LOOK_OTHER};
        must(call->operation != ARCP__BROKER_LINK && call->operation != ARCP__BROKER_SYMLINK &&
             call->operation != ARCP__BROKER_MKNOD);
        for (size_t i = 0; i < (is_rename ? 2U : 1U); i++) {
            const arcp_span name = i == 0 ? call->path : call->other;
            char path[TEXT_MAX];
            (void)snprintf(path, sizeof path, "%.*s", (int)name.size, name.data);
            must(out->facts.looks[looks[i]].is_known && out->facts.looks[looks[i]].error == 0);
            must(admits(w, true, path) && admits(w, true, out->real[looks[i]]));
        }
    }
    /* The kernel changes names only where it grants writing. */
    if (out->answer.kind == ARCP__BROKER_CONTINUE && call->operation != ARCP__BROKER_LINK) {
        must((arcp__broker_classify(w->classes, call->path).kernel & ARCP__SANDBOX_WRITE) != 0);
    }
    if (out->answer.is_denial) {
        must(out->answer.kind == ARCP__BROKER_FAIL && out->answer.target.size != 0);
    }
}

static void check_name(const world *w, const arcp__broker_call *call, const outcome *out)
{
    char path[TEXT_MAX];
    char real[TEXT_MAX];
    (void)snprintf(path, sizeof path, "%.*s", (int)call->path.size, call->path.data);
    if (out->answer.kind != ARCP__BROKER_SERVE) {
        return;
    }
    must(walk(w, false, path, (call->flags & ARCP__BROKER_NO_FOLLOW) != 0, real) == 0);
    const bool is_granted = (admits(w, false, path) && admits(w, false, real)) ||
                            (admits(w, true, path) && admits(w, true, real));
    must(is_granted || type_at(w, false, real) == NODE_DIRECTORY);
    must(call->operation != ARCP__BROKER_CHDIR && call->operation != ARCP__BROKER_XATTR);
}

static uint32_t pick_flags(arcp__broker_operation operation)
{
    static const uint32_t opens[] = {
        ARCP__BROKER_TO_READ,
        ARCP__BROKER_TO_READ,
        ARCP__BROKER_TO_WRITE,
        ARCP__BROKER_TO_READ | ARCP__BROKER_TO_WRITE,
        ARCP__BROKER_TO_WRITE | ARCP__BROKER_CREATE,
        ARCP__BROKER_TO_READ | ARCP__BROKER_CREATE,
        ARCP__BROKER_TO_WRITE | ARCP__BROKER_CREATE | ARCP__BROKER_EXCLUSIVE |
            ARCP__BROKER_NO_FOLLOW,
        ARCP__BROKER_TO_READ | ARCP__BROKER_NO_FOLLOW,
        ARCP__BROKER_TO_READ | ARCP__BROKER_DIRECTORY,
        ARCP__BROKER_TO_WRITE | ARCP__BROKER_TEMPORARY,
    };
    if (operation == ARCP__BROKER_OPEN) {
        return opens[pick(sizeof opens / sizeof *opens)];
    }
    if (operation == ARCP__BROKER_TRUNCATE) {
        return ARCP__BROKER_TO_WRITE;
    }
    if (operation == ARCP__BROKER_ACCESS) {
        return (uint32_t)pick(8);
    }
    const bool follows = operation == ARCP__BROKER_CHDIR || operation == ARCP__BROKER_XATTR ||
                         (operation == ARCP__BROKER_STAT && pick(2) == 0);
    return follows ? 0 : ARCP__BROKER_NO_FOLLOW;
}

static void check_call(const world *w, size_t *served, size_t *denied)
{
    char texts[2][TEXT_MAX];
    pick_path(texts[0], true);
    pick_path(texts[1], true);
    arcp__broker_call made = {.operation = pick(2) == 0
                                               ? ARCP__BROKER_OPEN
                                               : (arcp__broker_operation)pick(ARCP__BROKER_OWNER),
                              .path = arcp_span_cstr(texts[0]),
                              .other = arcp_span_cstr(texts[1])};
    made.flags = pick_flags(made.operation);
    outcome out;
    decide(w, &made, &out);
    if (made.operation == ARCP__BROKER_OPEN || made.operation == ARCP__BROKER_TRUNCATE) {
        if ((made.flags & ARCP__BROKER_TEMPORARY) == 0) {
            check_open(w, &made, &out);
        } else {
            assert_int_not_equal(out.answer.kind, ARCP__BROKER_SERVE);
            assert_int_not_equal(out.answer.kind, ARCP__BROKER_LIST);
        }
    } else if (made.operation < ARCP__BROKER_STAT) {
        check_change(w, &made, &out);
    } else {
        check_name(w, &made, &out);
    }
    *served += out.answer.kind == ARCP__BROKER_SERVE;
    *denied += out.answer.is_denial;
}

static void check_worlds(arcp__sandbox_level level)
{
    size_t served = 0;
    size_t denied = 0;
    for (size_t i = 0; i < WORLDS; i += test_stride()) {
        world w = {.lease = NULL};
        make_nodes(&w);
        make_lease(&w);
        make_plan(&w, level);
        for (size_t k = 0; k < CALLS; k++) {
            check_call(&w, &served, &denied);
        }
        arcp__broker_classes_free(w.classes);
        arcp__sandbox_plan_free(w.plan);
        arcp_lease_unref(w.lease);
    }
    /* The worlds have enough of both. */
    const size_t calls = (size_t)WORLDS * CALLS / test_stride();
    assert_true(served > calls / 50);
    assert_true(denied > calls / 20);
}

static void decisions_agree_with_the_model_at_level_full(void **state)
{
    (void)state;
    check_worlds(ARCP__SANDBOX_LEVEL_FULL);
}

static void decisions_agree_with_the_model_at_level_landlock(void **state)
{
    (void)state;
    check_worlds(ARCP__SANDBOX_LEVEL_LANDLOCK);
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1; /* the same in every run, but for people */
    (void)printf("seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_agree_with_the_model_at_level_full),
        cmocka_unit_test(decisions_agree_with_the_model_at_level_landlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
