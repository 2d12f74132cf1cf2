/* Checks against a lease's patterns, compiling them, and the subset question; beside
 * PCRE2-JIT (one alternation per list) and fnmatch (one call per pattern) on the same
 * patterns and targets. The whole gate, with expiry and budgets, is in gate_bench.c.
 *
 * `check` is what the gate does about patterns: from the capability's name and the target
 * as given to the canonical target and the pattern that matches. Canonical targets alone
 * are in target_bench.c. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/glob_set.h"
#include "core/glob_subset.h"
#include "core/target.h"
#include "harness.h"
#include "lease_bench_peer.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)
/* The same for what is static. */
#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

enum { CAPABILITIES = 5, PATTERNS = 4, TARGETS = 8, LISTS = 5, CASES_MAX = 64 };

static void die(const char *what)
{
    fprintf(stderr, "lease_bench: %s\n", what);
    exit(1);
}

/* ---- the small lease: five capabilities, four patterns each ---- */

typedef struct grant {
    const char *capability;
    arcp_span patterns[PATTERNS];
    arcp_span child[2]; /* within the patterns */
    arcp_span hit;
    arcp_span miss;
} grant;

static const grant grants[CAPABILITIES] = {
    {"fs.read",
     {TEXT("/srv/data/**"), TEXT("/etc/ssl/certs/*.pem"), TEXT("/home/*/projects/**"),
      TEXT("/usr/share/**/*.json")},
     {TEXT("/srv/data/2026/**"), TEXT("/home/alice/projects/*/src/**")},
     TEXT("/home/alice/projects/survey/src/main.c"),
     TEXT("/home/alice/.ssh/id_ed25519")},
    {"fs.write",
     {TEXT("/tmp/**"), TEXT("/srv/out/*/report-*.csv"), TEXT("/var/cache/agent/**"),
      TEXT("/srv/out/latest")},
     {TEXT("/tmp/job-7/**"), TEXT("/srv/out/latest")},
     TEXT("/srv/out/2026/report-week-19.csv"),
     TEXT("/srv/out/2026/summary.csv")},
    {"net.fetch",
     {TEXT("https://api.example.com/**"), TEXT("https://*.cdn.example.net/**"),
      TEXT("s3://reports-bucket/**.csv"), TEXT("https://status.example.org/v1/*")},
     {TEXT("https://api.example.com/v1/**"), TEXT("s3://reports-bucket/2026/*.csv")},
     TEXT("https://api.example.com/v1/users/42/orders?page=2&size=100"),
     TEXT("https://api.example.com.evil.org/v1/users/42/orders?page=2")},
    {"tool.call",
     {TEXT("web.*"), TEXT("search:*"), TEXT("mcp/files/**"), TEXT("summarise")},
     {TEXT("web.search"), TEXT("mcp/files/read")},
     TEXT("web.search"),
     TEXT("shell.exec")},
    {"model.use",
     {TEXT("gpt-4*"), TEXT("claude-3-5-*"), TEXT("mistral-large"), TEXT("tier-fast/*")},
     {TEXT("gpt-4o-mini"), TEXT("claude-3-5-sonnet-*")},
     TEXT("claude-3-5-sonnet-20241022"),
     TEXT("llama-3-70b-instruct")},
};

static arcp__capability capability_of(size_t i)
{
    return arcp__capability_from_name(arcp_span_cstr(grants[i].capability));
}

static arcp__glob_set *compile(arcp__capability capability, const arcp_span *patterns, size_t count)
{
    arcp__glob_set *set = NULL;
    arcp_error err = {0};
    if (arcp__glob_set_compile(capability, patterns, count, &set, &err) != ARCP_OK) {
        die(err.message);
    }
    return set;
}

typedef struct small_lease {
    arcp__glob_set *sets[ARCP__CAPABILITY_COUNT];
    peer *regexes[CAPABILITIES];
    bool want; /* whether the targets are hits */
} small_lease;

static arcp_target_scratch scratch;

static bool check(const small_lease *lease, arcp_span name, arcp_span target)
{
    arcp_span canonical;
    const arcp__capability capability = arcp__capability_from_name(name);
    return arcp__target_canonicalise(capability, SPAN("/job"), target, &scratch, &canonical) ==
               ARCP_DENY_NONE &&
           arcp__glob_set_match(lease->sets[capability], canonical, NULL);
}

static void run_check(void *state, uint64_t iterations)
{
    const small_lease *lease = state;
    arcp_span names[CAPABILITIES];
    for (size_t i = 0; i < CAPABILITIES; i++) {
        names[i] = arcp_span_cstr(grants[i].capability);
    }
    size_t i = 0;
    for (uint64_t n = 0; n < iterations; n++) {
        const arcp_span target = lease->want ? grants[i].hit : grants[i].miss;
        if (check(lease, names[i], target) != lease->want) {
            die("a wrong answer");
        }
        i = i + 1 == CAPABILITIES ? 0 : i + 1;
    }
}

/* The peers get the target as it is: they have nothing that makes it canonical. */
static void run_check_regex(void *state, uint64_t iterations)
{
    const small_lease *lease = state;
    for (uint64_t n = 0; n < iterations; n++) {
        const grant *asked = &grants[n % CAPABILITIES];
        if (peer_matches(lease->regexes[n % CAPABILITIES],
                         lease->want ? asked->hit : asked->miss) != lease->want) {
            die("a wrong answer of the regular expression");
        }
    }
}

static bool matches_by_fnmatch(const arcp_span *patterns, size_t count, arcp_span target)
{
    bool matches = false;
    for (size_t i = 0; i < count && !matches; i++) {
        matches = fnmatch(patterns[i].data, target.data, 0) == 0;
    }
    return matches;
}

static void run_check_fnmatch(void *state, uint64_t iterations)
{
    const small_lease *lease = state;
    for (uint64_t n = 0; n < iterations; n++) {
        const grant *asked = &grants[n % CAPABILITIES];
        bench_keep(
            matches_by_fnmatch(asked->patterns, PATTERNS, lease->want ? asked->hit : asked->miss));
    }
}

static void run_compile(void *state, uint64_t iterations)
{
    for (uint64_t n = 0; n < iterations; n++) {
        for (size_t i = 0; i < CAPABILITIES; i++) {
            arcp__glob_set *set = compile(capability_of(i), grants[i].patterns, PATTERNS);
            bench_keep(set);
            arcp__glob_set_free(set);
        }
    }
}

static void ask(arcp__capability capability, const arcp_span *child, size_t child_count,
                const arcp_span *parent, size_t parent_count, bool want)
{
    arcp__glob_verdict verdict = {0};
    if (arcp__glob_ask(
            &(arcp__glob_question){capability, child, child_count, parent, parent_count, false},
            NULL, &verdict) != ARCP_OK ||
        verdict.is_subset != want) {
        die("a wrong verdict");
    }
    arcp_buf_fini(&verdict.witness);
}

static void run_subset(void *state, uint64_t iterations)
{
    for (uint64_t n = 0; n < iterations; n++) {
        for (size_t i = 0; i < CAPABILITIES; i++) {
            ask(capability_of(i), grants[i].child, 2, grants[i].patterns, PATTERNS, true);
        }
    }
}

/* ---- long lists ---- */

typedef struct long_list {
    size_t count;
    arcp_span *patterns;
    char (*texts)[64];
    arcp__glob_set *set;
    peer *regex;
    arcp_span hits[TARGETS];
    arcp_span misses[TARGETS];
    char target_texts[2 * TARGETS][80];
} long_list;

/* Paths of tenants, of the five shapes that leases have. */
static void write_pattern(char out[64], size_t number)
{
    static const char *const formats[] = {"/srv/t%zu/**", "/srv/t%zu/*.csv", "/srv/t%zu/in/**",
                                          "/srv/t%zu/*/out/**", "/srv/t%zu/readme"};
    const char *format = formats[number % 5];
    size_t size = 0;
    for (const char *rest = format; *rest != '\0'; rest++) {
        if (rest[0] == '%') {
            size += (size_t)snprintf(out + size, 64 - size, "%zu", number);
            rest += 2;
        } else {
            out[size++] = *rest;
        }
    }
    out[size] = '\0';
}

static void make_list(long_list *list, size_t count)
{
    list->count = count;
    list->patterns = calloc(count, sizeof *list->patterns);
    list->texts = calloc(count, sizeof *list->texts);
    if (list->patterns == NULL || list->texts == NULL) {
        die("out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        write_pattern(list->texts[i], i);
        list->patterns[i] = arcp_span_cstr(list->texts[i]);
    }
    list->set = compile(ARCP__CAPABILITY_FS_READ, list->patterns, count);
    list->regex = peer_new(list->patterns, count, "/");
    for (size_t i = 0; i < TARGETS; i++) {
        const size_t number = (i * 7919) % count / 5 * 5;
        char *hit = list->target_texts[2 * i];
        char *miss = list->target_texts[2 * i + 1];
        (void)snprintf(hit, 80, "/srv/t%zu/2026/week-19/report.csv", number);
        (void)snprintf(miss, 80, "/srv/t%zux/2026/week-19/report.csv", number);
        list->hits[i] = arcp_span_cstr(hit);
        list->misses[i] = arcp_span_cstr(miss);
    }
}

typedef struct matching {
    const long_list *list;
    bool want;
} matching;

static arcp_span target_at(const matching *m, uint64_t n)
{
    return m->want ? m->list->hits[n % TARGETS] : m->list->misses[n % TARGETS];
}

static void run_ours(void *state, uint64_t iterations)
{
    const matching *m = state;
    for (uint64_t n = 0; n < iterations; n++) {
        if (arcp__glob_set_match(m->list->set, target_at(m, n), NULL) != m->want) {
            die("a wrong answer");
        }
    }
}

static void run_regex(void *state, uint64_t iterations)
{
    const matching *m = state;
    for (uint64_t n = 0; n < iterations; n++) {
        if (peer_matches(m->list->regex, target_at(m, n)) != m->want) {
            die("a wrong answer of the regular expression");
        }
    }
}

/* FNM_PATHNAME would stop `**` too; without it nothing stops. The amount of work is similar. */
static void run_fnmatch(void *state, uint64_t iterations)
{
    const matching *m = state;
    for (uint64_t n = 0; n < iterations; n++) {
        bench_keep(matches_by_fnmatch(m->list->patterns, m->list->count, target_at(m, n)));
    }
}

static void run_compile_list(void *state, uint64_t iterations)
{
    const long_list *list = state;
    for (uint64_t n = 0; n < iterations; n++) {
        arcp__glob_set *set = compile(ARCP__CAPABILITY_FS_READ, list->patterns, list->count);
        bench_keep(set);
        arcp__glob_set_free(set);
    }
}

/* ---- lists whose patterns all begin alike and then with a wildcard ---- */

typedef struct starred {
    arcp__capability capability;
    size_t count;
    const char *before; /* the number of the pattern */
    const char *behind;
    const char *hit_before;
    const char *hit_behind;
    arcp__glob_set *set;
    arcp_span *patterns;
    char (*texts)[64];
    char target[80];
} starred;

static starred hosts = {.capability = ARCP__CAPABILITY_NET_FETCH,
                        .count = 10000,
                        .before = "https://*.host",
                        .behind = ".example/**",
                        .hit_before = "https://api.host",
                        .hit_behind = ".example/v1/users/42"};
static starred words = {.capability = ARCP__CAPABILITY_MODEL_USE,
                        .count = 1000,
                        .before = "*word",
                        .behind = "*",
                        .hit_before = "some-word",
                        .hit_behind = "-and-more"};

static void make_starred(starred *list)
{
    list->patterns = calloc(list->count, sizeof *list->patterns);
    list->texts = calloc(list->count, sizeof *list->texts);
    if (list->patterns == NULL || list->texts == NULL) {
        die("out of memory");
    }
    for (size_t i = 0; i < list->count; i++) {
        (void)snprintf(list->texts[i], 64, "%s%zu%s", list->before, i, list->behind);
        list->patterns[i] = arcp_span_cstr(list->texts[i]);
    }
    list->set = compile(list->capability, list->patterns, list->count);
    (void)snprintf(list->target, sizeof list->target, "%s%zu%s", list->hit_before,
                   list->count / 2 + 5, list->hit_behind);
}

static void free_starred(starred *list)
{
    arcp__glob_set_free(list->set);
    free(list->patterns);
    free(list->texts);
}

static void run_starred(void *state, uint64_t iterations)
{
    const starred *list = state;
    const arcp_span target = arcp_span_cstr(list->target);
    for (uint64_t n = 0; n < iterations; n++) {
        if (!arcp__glob_set_match(list->set, target, NULL)) {
            die("a wrong answer");
        }
    }
}

/* ---- hundred in hundred ---- */

typedef struct inclusion {
    arcp_span child[100];
    arcp_span parent[100];
    char child_texts[100][48];
    char parent_texts[100][48];
} inclusion;

static inclusion by_prefix;
static inclusion by_search;

static void make_inclusions(void)
{
    for (int i = 0; i < 100; i++) {
        (void)snprintf(by_prefix.parent_texts[i], 48, "/srv/tenant-%d/**", i);
        (void)snprintf(by_prefix.child_texts[i], 48, "/srv/tenant-%d/in/*.csv", i);
        /* No single parent covers a child: the directory, its files, what is below. */
        static const char *const parts[] = {"", "/*", "/*/**", "/**.txt"};
        (void)snprintf(by_search.parent_texts[i], 48, "/srv/t-%d%s", i / 4, parts[i % 4]);
        (void)snprintf(by_search.child_texts[i], 48, "/srv/t-%d/**", i / 4);
        by_prefix.parent[i] = arcp_span_cstr(by_prefix.parent_texts[i]);
        by_prefix.child[i] = arcp_span_cstr(by_prefix.child_texts[i]);
        by_search.parent[i] = arcp_span_cstr(by_search.parent_texts[i]);
        by_search.child[i] = arcp_span_cstr(by_search.child_texts[i]);
    }
}

static void run_inclusion(void *state, uint64_t iterations)
{
    const inclusion *list = state;
    for (uint64_t n = 0; n < iterations; n++) {
        ask(ARCP__CAPABILITY_FS_READ, list->child, 100, list->parent, 100, true);
    }
}

/* ---- hostile patterns, and single ones to compare them with ---- */

typedef struct single {
    arcp__capability capability;
    arcp_span pattern;
    arcp_span target;
    bool want;
    arcp_span parents[2]; /* for the subset */
    arcp__glob_set *set;
    peer *regex;
} single;

#define A60     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define STARS   "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b*"
#define GROUPS  "/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b*"
#define SLASHES "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"

static single ordinary = {
    .capability = ARCP__CAPABILITY_FS_READ,
    .pattern = TEXT("/srv/*/projects/**"),
    .target = TEXT("/srv/alice/projects/survey/2026/week-19/results/summary.json"),
    .want = true,
    .parents = {TEXT("/srv/**"), TEXT("/srv/*/projects/**")},
};
static single many_stars = {
    .capability = ARCP__CAPABILITY_MODEL_USE,
    .pattern = TEXT(STARS),
    .target = TEXT(A60),
    .parents = {TEXT("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b*"), TEXT("*a*c")},
};
static single many_groups = {
    .capability = ARCP__CAPABILITY_FS_READ,
    .pattern = TEXT(GROUPS),
    .target = TEXT(SLASHES),
    .parents = {TEXT("/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b*"), TEXT("/**/c")},
};

static void run_single(void *state, uint64_t iterations)
{
    const single *s = state;
    for (uint64_t n = 0; n < iterations; n++) {
        if (arcp__glob_set_match(s->set, s->target, NULL) != s->want) {
            die("a wrong answer");
        }
    }
}

static void run_single_regex(void *state, uint64_t iterations)
{
    const single *s = state;
    for (uint64_t n = 0; n < iterations; n++) {
        if (peer_matches(s->regex, s->target) != s->want) {
            die("a wrong answer of the regular expression");
        }
    }
}

static void run_single_fnmatch(void *state, uint64_t iterations)
{
    const single *s = state;
    for (uint64_t n = 0; n < iterations; n++) {
        bench_keep(matches_by_fnmatch(&s->pattern, 1, s->target));
    }
}

static void run_single_subset(void *state, uint64_t iterations)
{
    const single *s = state;
    for (uint64_t n = 0; n < iterations; n++) {
        ask(s->capability, &s->pattern, 1, s->parents, 2, true);
    }
}

/* ---- the cases ---- */

typedef struct case_list {
    bench_case cases[CASES_MAX];
    char names[CASES_MAX][56];
    size_t count;
} case_list;

static const char *add(case_list *all, const char *name, const char *baseline,
                       void (*run)(void *state, uint64_t iterations), void *state)
{
    if (all->count == CASES_MAX) {
        die("too many cases");
    }
    char *kept = all->names[all->count];
    (void)snprintf(kept, sizeof all->names[0], "%s", name);
    all->cases[all->count++] =
        (bench_case){.name = kept, .baseline = baseline, .run = run, .state = state};
    return kept;
}

/* The peers on the same question, named after ours. */
static void add_peers(case_list *all, const char *ours, const char *what, bool has_regex,
                      void (*regex)(void *state, uint64_t iterations),
                      void (*by_fnmatch)(void *state, uint64_t iterations), void *state)
{
    char name[56];
    if (has_regex) {
        (void)snprintf(name, sizeof name, "  %s, %s", peer_name(), what);
        (void)add(all, name, ours, regex, state);
    }
    (void)snprintf(name, sizeof name, "  fnmatch, %s", what);
    (void)add(all, name, ours, by_fnmatch, state);
}

static void add_checks(case_list *all, small_lease *hits, small_lease *misses)
{
    for (size_t i = 0; i < CAPABILITIES; i++) {
        const bool has_dots = capability_of(i) == ARCP__CAPABILITY_TOOL_CALL;
        hits->sets[capability_of(i)] = compile(capability_of(i), grants[i].patterns, PATTERNS);
        hits->regexes[i] = peer_new(grants[i].patterns, PATTERNS, has_dots ? "/." : "/");
    }
    *misses = *hits;
    hits->want = true;
    const bool has_regex = hits->regexes[0] != NULL;
    const char *ours = add(all, "check, 5 capabilities x 4, hit", NULL, run_check, hits);
    add_peers(all, ours, "5 x 4, hit", has_regex, run_check_regex, run_check_fnmatch, hits);
    ours = add(all, "check, 5 capabilities x 4, miss", NULL, run_check, misses);
    add_peers(all, ours, "5 x 4, miss", has_regex, run_check_regex, run_check_fnmatch, misses);
}

static void add_matching(case_list *all, long_list *lists, matching *states)
{
    static const size_t counts[LISTS] = {4, 20, 100, 1000, 10000};
    for (size_t i = 0; i < LISTS; i++) {
        make_list(&lists[i], counts[i]);
        for (size_t k = 0; k < 2; k++) {
            matching *state = &states[2 * i + k];
            const char *what = k == 0 ? "hit" : "miss";
            char name[56];
            *state = (matching){.list = &lists[i], .want = k == 0};
            (void)snprintf(name, sizeof name, "match, %zu patterns, %s", counts[i], what);
            const char *ours = add(all, name, NULL, run_ours, state);
            (void)snprintf(name, sizeof name, "%zu, %s", counts[i], what);
            add_peers(all, ours, name, lists[i].regex != NULL, run_regex, run_fnmatch, state);
        }
    }
}

static void add_singles(case_list *all)
{
    static const char *const names[] = {"one ordinary pattern", "*a*a*a...b*",
                                        "sixteen groups of **"};
    single *const singles[] = {&ordinary, &many_stars, &many_groups};
    const char *usual = NULL;
    for (size_t i = 0; i < 3; i++) {
        single *s = singles[i];
        s->set = compile(s->capability, &s->pattern, 1);
        s->regex = peer_new(&s->pattern, 1, "/");
        char name[56];
        (void)snprintf(name, sizeof name, "match, %s", names[i]);
        const char *ours = add(all, name, usual, run_single, s);
        usual = usual == NULL ? ours : usual;
        add_peers(all, ours, names[i], s->regex != NULL, run_single_regex, run_single_fnmatch, s);
    }
    usual = add(all, "subset, one ordinary pattern", NULL, run_single_subset, &ordinary);
    (void)add(all, "subset, *a*a*a...b*", usual, run_single_subset, &many_stars);
    (void)add(all, "subset, sixteen groups of **", usual, run_single_subset, &many_groups);
}

int main(int argc, char **argv)
{
    static case_list all;
    static long_list lists[LISTS];
    static matching states[2 * LISTS];
    static small_lease hits;
    static small_lease misses;
    make_inclusions();
    add_checks(&all, &hits, &misses);
    add_matching(&all, lists, states);
    make_starred(&hosts);
    make_starred(&words);
    (void)add(&all, "match, 10000 of https://*.hostN/**", NULL, run_starred, &hosts);
    (void)add(&all, "match, 1000 of *wordN*", NULL, run_starred, &words);
    (void)add(&all, "compile, 5 capabilities x 4", NULL, run_compile, NULL);
    (void)add(&all, "compile, 10000 patterns", NULL, run_compile_list, &lists[LISTS - 1]);
    (void)add(&all, "subset, 5 x 2 in 5 x 4", NULL, run_subset, NULL);
    (void)add(&all, "subset, 100 in 100, by prefix", NULL, run_inclusion, &by_prefix);
    (void)add(&all, "subset, 100 in 100, by search", NULL, run_inclusion, &by_search);
    add_singles(&all);
    const int status = bench_main(argc, argv, "lease patterns", all.cases, all.count);
    for (size_t i = 0; i < CAPABILITIES; i++) {
        arcp__glob_set_free(hits.sets[capability_of(i)]);
        peer_free(hits.regexes[i]);
    }
    for (size_t i = 0; i < LISTS; i++) {
        arcp__glob_set_free(lists[i].set);
        peer_free(lists[i].regex);
        free(lists[i].patterns);
        free(lists[i].texts);
    }
    free_starred(&hosts);
    free_starred(&words);
    single *const singles[] = {&ordinary, &many_stars, &many_groups};
    for (size_t i = 0; i < 3; i++) {
        arcp__glob_set_free(singles[i]->set);
        peer_free(singles[i]->regex);
    }
    return status;
}
