/* Plans of sandboxes: compiled, written and read, with few lines and with many. */
#include <stdio.h>
#include <stdlib.h>

#include <arcp/lease.h>

#include "harness.h"
#include "sandbox/sandbox.h"

typedef struct sample {
    arcp_lease *lease;
    arcp__sandbox_request request;
    arcp_buf text;
} sample;

static const arcp_span bases[] = {{"/opt/agent", 10}, {"/srv/data/d3/tools", 18}};
static const arcp_span own[] = {{"/etc/arcpd.yaml", 15}, {"/var/lib/arcpd", 14}};

static void require(arcp_status status, const arcp_error *err)
{
    if (status != ARCP_OK) {
        fprintf(stderr, "sandbox_bench: %s\n", err->message);
        exit(1);
    }
}

static void compile(void *state, uint64_t iterations)
{
    const sample *s = state;
    arcp_error err = {0};
    for (uint64_t i = 0; i < iterations; i++) {
        arcp__sandbox_plan *plan = NULL;
        require(arcp__sandbox_plan_new(&s->request, &plan, &err), &err);
        bench_keep(plan);
        arcp__sandbox_plan_free(plan);
    }
}

static void decode(void *state, uint64_t iterations)
{
    const sample *s = state;
    arcp_error err = {0};
    for (uint64_t i = 0; i < iterations; i++) {
        arcp__sandbox_plan *plan = NULL;
        require(arcp__sandbox_plan_decode(arcp_buf_span(&s->text), &plan, &err), &err);
        bench_keep(plan);
        arcp__sandbox_plan_free(plan);
    }
}

/* A lease of about `count` lines: directories, some of them inside others, files, patterns, and
 * URLs. */
static void make(sample *s, unsigned count)
{
    static const char *const forms[][2] = {{"/srv/data/d", "/**"},
                                           {"/srv/data/d", "/in/**"},
                                           {"/home/u/f", ".txt"},
                                           {"/data/", "/*.csv"},
                                           {"src", "/**"}};
    arcp_error err = {0};
    arcp_lease_builder *builder = arcp_lease_builder_new();
    char text[64];
    for (unsigned i = 0; i < count; i++) {
        const unsigned form = i % 6;
        if (form == 5) {
            (void)snprintf(text, sizeof text, "https://h%u.example.org/%s", i,
                           i % 12 == 5 ? "**" : "v1/*");
        } else {
            (void)snprintf(text, sizeof text, "%s%u%s", forms[form][0], i, forms[form][1]);
        }
        arcp_lease_allow(builder,
                         form == 5    ? "net.fetch"
                         : i % 4 == 1 ? "fs.write"
                                      : "fs.read",
                         text);
    }
    require(arcp_lease_build(builder, &s->lease, &err), &err);
    s->request = (arcp__sandbox_request){.lease = s->lease,
                                         .cwd = ARCP_SPAN_LITERAL("/srv/app"),
                                         .home = ARCP_SPAN_LITERAL("/home/u"),
                                         .bases = bases,
                                         .base_count = sizeof bases / sizeof *bases,
                                         .own = own,
                                         .own_count = sizeof own / sizeof *own,
                                         .protect = ARCP__SANDBOX_PROTECT_COMMITS,
                                         .min = ARCP__SANDBOX_VERDICT_ADVISORY};
    for (size_t i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        s->request.abilities.values[i] = 1;
    }
    s->request.abilities.values[ARCP__SANDBOX_ABILITY_LANDLOCK] = 7;
    arcp__sandbox_plan *plan = NULL;
    require(arcp__sandbox_plan_new(&s->request, &plan, &err), &err);
    arcp__sandbox_plan_encode(plan, &s->text);
    arcp__sandbox_plan_free(plan);
}

int main(int argc, char **argv)
{
    static sample few;
    static sample many;
    make(&few, 20);
    make(&many, 1000);
    const bench_case cases[] = {
        {.name = "sandbox/plan, 20 lines", .run = compile, .state = &few},
        {.name = "sandbox/plan, 1000 lines", .run = compile, .state = &many},
        {.name = "sandbox/decode, 20 lines", .run = decode, .state = &few},
        {.name = "sandbox/decode, 1000 lines", .run = decode, .state = &many},
    };
    const int status =
        bench_main(argc, argv, "plans of sandboxes", cases, sizeof cases / sizeof *cases);
    arcp_buf_fini(&few.text);
    arcp_buf_fini(&many.text);
    arcp_lease_unref(few.lease);
    arcp_lease_unref(many.lease);
    return status;
}
