/* Targets made canonical: targets that are canonical already, and others. */
#include <stdio.h>
#include <stdlib.h>

#include "core/target.h"
#include "harness.h"

#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

typedef struct target {
    const char *name;
    arcp__capability capability;
    arcp_span text;
} target;

static target targets[] = {
    {"path", ARCP__CAPABILITY_FS_READ,
     TEXT("/srv/alice/projects/survey/2026/week-19/results/summary.json")},
    {"URL", ARCP__CAPABILITY_NET_FETCH,
     TEXT("https://api.example.com/v1/users/42/orders?page=2&size=100")},
    {"name", ARCP__CAPABILITY_TOOL_CALL,
     TEXT("mcp/files/read_many.recursive.with-a-rather-long-name-for-it")},
    {"path with dots", ARCP__CAPABILITY_FS_READ,
     TEXT("/srv/alice/./projects//survey/x/../2026/results/summary.json")},
    {"URL with dots", ARCP__CAPABILITY_NET_FETCH,
     TEXT("HTTPS://API.example.com/v1/./users/42/../43/orders?page=2")},
    {"URL with escapes", ARCP__CAPABILITY_NET_FETCH,
     TEXT("https://api.example.com/v1/groups/a%2Fb/files/c%20d?ref=main")},
};
enum { TARGETS = sizeof targets / sizeof *targets };

static void run(void *state, uint64_t iterations)
{
    static arcp_target_scratch scratch;
    const target *t = state;
    for (uint64_t n = 0; n < iterations; n++) {
        arcp_span canonical;
        if (arcp__target_canonicalise(t->capability, ARCP_SPAN_LITERAL("/job"), t->text, &scratch,
                                      &canonical) != ARCP_DENY_NONE) {
            fprintf(stderr, "target_bench: no canonical form\n");
            exit(1);
        }
        bench_keep(canonical.data);
    }
}

int main(int argc, char **argv)
{
    static char names[TARGETS][48];
    bench_case cases[TARGETS];
    for (size_t i = 0; i < TARGETS; i++) {
        (void)snprintf(names[i], sizeof names[i], "canonicalise, %s", targets[i].name);
        cases[i] = (bench_case){.name = names[i], .run = run, .state = &targets[i]};
    }
    return bench_main(argc, argv, "canonical targets", cases, TARGETS);
}
