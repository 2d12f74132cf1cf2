/* `arcp context` with the program itself: what it prints, what it writes, and what it refuses. */
#include "arcp/run_fixture.h"

#define ADD "$ARCP context add prod --url wss://h.example/arcp --token-file ../token && "
#define USE ADD "$ARCP context use prod && "

static const struct row {
    const char *name, *script;
    int exit_status;
    const char *out, *err; /* err: "~" stands for a part of it */
} rows[] = {
    {"the configuration file is the first context", "$ARCP context", 0,
     "NAME             URL                                      TOKEN\n"
     "default *        ws://127.0.0.1:7777/arcp                 -\n",
     ""},
    {"one is added with absolute paths, and listed", ADD "$ARCP context list", 0,
     "NAME             URL                                      TOKEN\n"
     "default *        ws://127.0.0.1:7777/arcp                 -\n"
     "prod             wss://h.example/arcp                     $ROOT/token\n",
     "added: $ROOT/home/.config/arcp/contexts/prod.yaml (to use it: arcp context use prod)\n"},
    {"its file is private",
     ADD "stat -c %a ../home/.config/arcp/contexts ../home/.config/arcp/contexts/prod.yaml", 0,
     "700\n600\n", "~added"},
    {"its file has no token", ADD "cat ../home/.config/arcp/contexts/prod.yaml", 0,
     "url: \"wss://h.example/arcp\"\ntoken_file: \"$ROOT/token\"\n", "~added"},
    {"one is used, and shown", USE "$ARCP context show", 0,
     "name: \"prod\"\ncurrent: true\nfile: \"$ROOT/home/.config/arcp/contexts/prod.yaml\"\n"
     "url: \"wss://h.example/arcp\"\ntoken_file: \"$ROOT/token\"\nhas_token: true\n",
     "~in use: prod (wss://h.example/arcp)\n"},
    {"the one in effect is shown", USE "ARCP_CONTEXT=default $ARCP context show -o name", 0,
     "default\n", "~in use"},
    {"objects", USE "$ARCP context --json", 0,
     "{\"name\":\"default\",\"current\":false,\"file\":\"$ROOT/home/.config/arcp/config.yaml\","
     "\"url\":\"ws://127.0.0.1:7777/arcp\",\"has_token\":false}\n"
     "{\"name\":\"prod\",\"current\":true,\"file\":\"$ROOT/home/.config/arcp/contexts/prod.yaml\","
     "\"url\":\"wss://h.example/arcp\",\"token_file\":\"$ROOT/token\",\"has_token\":true}\n",
     "~in use"},
    {"names", ADD "$ARCP context list -o name --quiet", 0, "default\nprod\n", "~added"},
    {"a context without a URL has that of the file",
     "mkdir -p ../home/.config/arcp/contexts && cd ../home/.config/arcp && "
     "echo 'url: ws://file' >config.yaml && echo 'token: secret-value' >contexts/t.yaml && "
     "$ARCP context -o json",
     0,
     "{\"name\":\"default\",\"current\":true,\"file\":\"$ROOT/home/.config/arcp/config.yaml\","
     "\"url\":\"ws://file\",\"has_token\":false}\n"
     "{\"name\":\"t\",\"current\":false,\"file\":\"$ROOT/home/.config/arcp/contexts/t.yaml\","
     "\"url\":\"ws://file\",\"has_token\":true}\n",
     ""},
    {"contexts are beside the configuration file",
     "echo 'url: ws://file' >c.yaml && $ARCP context add a --url ws://x --config c.yaml && ls "
     "contexts && $ARCP context list -o name",
     0, "a.yaml\ndefault\n", "~added: contexts/a.yaml"},
    {"one that was in use is removed",
     USE "$ARCP context use default && $ARCP context remove prod && $ARCP context list -o name", 0,
     "default\n", "~removed: $ROOT/home/.config/arcp/contexts/prod.yaml"},
    {"the environment takes precedence, which is said", ADD "ARCP_CONTEXT=x $ARCP context use prod",
     0, "", "~ARCP_CONTEXT is set, and takes precedence: x"},

    /* refused */
    {"one in use is not removed", USE "$ARCP context remove prod", 2, "",
     "~the context prod is in use (first: arcp context use default)"},
    {"default is not removed", "$ARCP context remove default", 2, "",
     "~the context default is the configuration file, and stays"},
    {"nor added", "$ARCP context add default --url ws://x", 2, "", "~the context default exists"},
    {"one that is there is not replaced", ADD "$ARCP context add prod --url ws://x", 2, "",
     "~the context prod exists already: $ROOT/home/.config/arcp/contexts/prod.yaml"},
    {"one that is not there is not used", ADD "$ARCP context use pord", 2, "",
     "~there is no context pord (there are prod)"},
    {"nor removed", "$ARCP context remove prod", 2, "", "~there is no context prod"},
    {"nor shown", "$ARCP context show prod", 2, "", "~there is no context prod"},
    {"a current one that went away is said",
     USE "rm ../home/.config/arcp/contexts/prod.yaml && "
         "$ARCP ping",
     2, "", "~there is no context prod"},
    {"a path is no name", "$ARCP context add ../x --url ws://x", 2, "",
     "~'../x' is not the name of a context"},
    {"a token on the command line", "$ARCP context add a --url ws://x --token t", 2, "",
     "~--token: a context has the name of a file with the token (--token-file)"},
    {"a token that others can read",
     "chmod 640 ../token && $ARCP context add a --url ws://x --token-file ../token", 2, "",
     "~--token-file: other users can read $ROOT/token (chmod 600 makes it private)"},
    {"a token file that is not there", "$ARCP context add a --url ws://x --token-file none", 2, "",
     "~--token-file: none: No such file or directory"},
    {"no URL", "$ARCP context add a", 2, "", "~--url is missing"},
    {"a URL of another kind", "$ARCP context add a --url http://x", 2, "", "~expected ws://"},
    {"no name", "$ARCP context use", 2, "", "~use: CONTEXT is missing"},
    {"an unknown verb", "$ARCP context get", 2, "",
     "~unknown context command \"get\" (expected list, show, use, add or remove)"},
};

static void contexts_are_kept_and_refused_as_written(void **state)
{
    const run_fixture *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        process p;
        arcp_buf err = arcp_buf_init();
        arcp_buf out = arcp_buf_init();
        arcp_buf script = arcp_buf_init();
        print_message("  %s\n", r->name);
        arcp_buf_append_cstr(&script, "rm -rf ../home/.config contexts && echo t >../token && "
                                      "chmod 600 ../token && ");
        arcp_buf_append_cstr(&script, r->script);
        assert_int_equal(run_fixture_shell(f, &p, arcp_buf_cstr(&script), NULL), r->exit_status);
        run_fixture_mask(f, &p.out, &out);
        run_fixture_mask(f, &p.err, &err);
        check_span(arcp_buf_span(&out), r->out);
        if (r->err[0] != '~') {
            check_span(arcp_buf_span(&err), r->err);
        } else if (memmem(err.data, err.size, r->err + 1, strlen(r->err + 1)) == NULL) {
            fail_msg("%.*s", (int)err.size, err.data);
        }
        process_fini(&p);
        arcp_buf_fini(&script);
        arcp_buf_fini(&out);
        arcp_buf_fini(&err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_are_kept_and_refused_as_written),
    };
    return cmocka_run_group_tests(tests, run_fixture_begin, run_fixture_end);
}
