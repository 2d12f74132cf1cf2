/* An agent in C: reports progress, asks before it reads, calls a tool, returns a result. It is a
 * program that reads and writes lines; it uses libarcp to read JSON.
 * cc -o hello hello.c $(pkg-config --cflags --libs libarcp) */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <arcp/json.h>

/* The two arguments of %.*s for a span. */
#define TEXT(span) (int)(span).size, (span).data

static char line[65536];
static arcp_json *json;

static void say(const char *text)
{
    (void)puts(text);
    (void)fflush(stdout); /* otherwise it is sent only at exit */
}

static arcp_json_ref member(arcp_json_ref object, const char *name)
{
    return arcp_json_member(json, object, arcp_span_cstr(name));
}

/* Reads and scans the next line; exits at the end of input. */
static void read_line(void)
{
    if (fgets(line, sizeof line, stdin) == NULL ||
        arcp_json_scan(json, arcp_span_cstr(line), NULL, NULL) != ARCP_OK) {
        exit(1);
    }
}

/* Waits for the response to a line; true unless it is an error. */
static bool is_granted(const char *id)
{
    for (;;) {
        read_line();
        if (arcp_json_string_equals(json, member(ARCP_JSON_ROOT, "type"),
                                    ARCP_SPAN_LITERAL("job.cancel"))) {
            exit(1);
        }
        if (arcp_json_string_equals(json, member(ARCP_JSON_ROOT, "re"), arcp_span_cstr(id))) {
            return member(member(ARCP_JSON_ROOT, "payload"), "error") == ARCP_JSON_ABSENT;
        }
    }
}

static void give_up(const char *what)
{
    printf("{\"type\":\"job.error\",\"payload\":{\"code\":\"PERMISSION_DENIED\","
           "\"message\":\"I may not %s\"}}\n",
           what);
}

int main(void)
{
    char name[64];
    arcp_buf scratch = arcp_buf_init();
    json = arcp_json_new();
    if (json == NULL) {
        return 1;
    }
    read_line(); /* job.start */
    const arcp_json_ref input = member(member(ARCP_JSON_ROOT, "payload"), "input");
    const arcp_span given = arcp_json_string(json, member(input, "name"), &scratch);
    (void)snprintf(name, sizeof name, "%.*s", TEXT(given));
    arcp_buf_fini(&scratch);
    say("{\"type\":\"job.event\",\"payload\":{\"kind\":\"progress\",\"body\":{\"current\":1,"
        "\"total\":2}}}");
    say("{\"type\":\"authorize\",\"id\":\"1\",\"payload\":{\"capability\":\"fs.read\","
        "\"target\":\"/srv/hello.txt\"}}");
    if (!is_granted("1")) {
        give_up("read /srv/hello.txt");
        return 0;
    }

    arcp_buf greeting = arcp_buf_init(); /* as JSON, so that any name is escaped correctly */
    arcp_buf plain = arcp_buf_init();
    arcp_buf quoted = arcp_buf_init();
    arcp_buf_append_format(&plain, "hello, %s", name);
    arcp_json_quote(arcp_buf_span(&plain), &greeting);
    arcp_json_quote(arcp_span_cstr(name), &quoted);
    printf("{\"type\":\"job.event\",\"id\":\"2\",\"payload\":{\"kind\":\"tool_call\",\"body\":{"
           "\"tool\":\"greet.compose\",\"call_id\":\"call-1\",\"args\":{\"name\":%.*s}}}}\n",
           TEXT(quoted));
    (void)fflush(stdout);
    if (!is_granted("2")) {
        give_up("call greet.compose");
    } else {
        printf("{\"type\":\"job.event\",\"payload\":{\"kind\":\"tool_result\",\"body\":{"
               "\"call_id\":\"call-1\",\"result\":%.*s}}}\n",
               TEXT(greeting));
        say("{\"type\":\"job.event\",\"payload\":{\"kind\":\"progress\",\"body\":{\"current\":2,"
            "\"total\":2}}}");
        printf("{\"type\":\"job.result\",\"payload\":{\"result\":%.*s}}\n", TEXT(greeting));
    }
    arcp_buf_fini(&plain);
    arcp_buf_fini(&quoted);
    arcp_buf_fini(&greeting);
    arcp_json_free(json);
    return 0;
}
