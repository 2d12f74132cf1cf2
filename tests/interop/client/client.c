/* Runs the scenarios of tests/interop with libarcp-client.
 *
 *   interop-client URL TOKEN SCENARIO...
 *
 * Prints one line of JSON for each scenario: its name, whether it works, and if not the reason. */
#include <stdio.h>
#include <string.h>

#include "scenarios.h"

static const scenario *scenario_named(const char *name)
{
    static const scenario *const tables[] = {session_scenarios, job_scenarios, observer_scenarios,
                                             authority_scenarios, loop_scenarios};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (const scenario *row = tables[i]; row->name != NULL; row++) {
            if (strcmp(row->name, name) == 0) {
                return row;
            }
        }
    }
    return NULL;
}

static void report(const char *name, bool works, const char *why)
{
    arcp_buf line = arcp_buf_init();
    arcp_buf_append_format(&line, "{\"scenario\":\"%s\",\"works\":%s", name,
                           works ? "true" : "false");
    if (!works) {
        arcp_buf_append_cstr(&line, ",\"why\":");
        arcp_json_quote(arcp_span_cstr(why), &line);
    }
    printf("%.*s}\n", TEXT(arcp_buf_span(&line)));
    (void)fflush(stdout);
    arcp_buf_fini(&line);
}

static void play(const char *url, const char *token, const char *name)
{
    const scenario *named = scenario_named(name);
    if (named == NULL) {
        report(name, false, "there is no such scenario");
        return;
    }
    fixture f;
    fixture_begin(&f, url, token, name);
    const bool works = named->play(&f);
    report(name, works, f.why);
    fixture_end(&f);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        (void)fprintf(stderr, "usage: %s URL TOKEN SCENARIO...\n", argv[0]);
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        play(argv[1], argv[2], argv[i]);
    }
    return 0;
}
