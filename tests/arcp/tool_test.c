/* `arcp NAME` runs arcp-NAME, from its own folder or libexec, for the commands that are not built
 * in, and for no others. Here `arcp` is a copy in a folder of the test, and the programs are
 * scripts. */
#include "support/check.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp/arcpd_run.h"
#include "arcp/temp_tree.h"

typedef struct fixture {
    char directory[64];
    char arcp[96];
} fixture;

static void write_program(const fixture *f, const char *place, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", f->directory, place);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static void copy_arcp(const fixture *f)
{
    static char bytes[65536];
    FILE *from = fopen(ARCP_BINARY_DIR "/bin/arcp", "re");
    FILE *to = fopen(f->arcp, "we");
    assert_non_null(from);
    assert_non_null(to);
    for (size_t got = fread(bytes, 1, sizeof bytes, from); got != 0;
         got = fread(bytes, 1, sizeof bytes, from)) {
        assert_int_equal(fwrite(bytes, 1, got, to), got);
    }
    assert_int_equal(fclose(from), 0);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(f->arcp, 0700), 0);
}

static int begin(void **state)
{
    static fixture f;
    char path[128];
    temp_tree_make(f.directory, sizeof f.directory);
    for (size_t row = 0; row < 3; row++) {
        static const char *const folders[] = {"bin", "libexec/arcp", "elsewhere"};
        snprintf(path, sizeof path, "%s/%s", f.directory, folders[row]);
        temp_tree_add(path);
    }
    snprintf(f.arcp, sizeof f.arcp, "%s/bin/arcp", f.directory);
    copy_arcp(&f);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    const fixture *f = *state;
    return temp_tree_remove(f->directory);
}

/* Runs the copy with these arguments; returns the exit status. */
static int run(const fixture *f, process *p, const char *const *words)
{
    const char *all[16] = {f->arcp};
    char path[128];
    size_t count = 1;
    for (; words[count - 1] != NULL; count++) {
        assert_true(count < 15);
        all[count] = words[count - 1];
    }
    snprintf(path, sizeof path, "PATH=%s/elsewhere:/usr/bin:/bin", f->directory);
    process_start(p, all, WORDS(path), "said to standard input\n");
    return process_finish(p);
}

static const char *text_of(const arcp_buf *text)
{
    return text->size == 0 ? "" : text->data;
}

static void a_program_gets_all_arguments_but_its_name(void **state)
{
    const fixture *f = *state;
    process p;
    write_program(f, "bin/arcp-conformance",
                  "#!/bin/sh\nprintf '<%s>' \"$@\"\nread -r line\necho \" $line\"\nexit 7\n");
    assert_int_equal(
        run(f, &p, WORDS("--json", "--token", "s3cret", "conformance", "a b", "", "--json", "*")),
        7);
    assert_string_equal(text_of(&p.out),
                        "<--json><--token><s3cret><a b><><--json><*> said to standard input\n");
    assert_string_equal(text_of(&p.err), "");
    process_fini(&p);
}

static void the_own_folder_comes_before_libexec(void **state)
{
    const fixture *f = *state;
    process p;
    char beside[128];
    snprintf(beside, sizeof beside, "%s/bin/arcp-conformance", f->directory);
    assert_true(unlink(beside) == 0 || errno == ENOENT);
    write_program(f, "libexec/arcp/arcp-conformance", "#!/bin/sh\necho libexec\n");
    assert_int_equal(run(f, &p, WORDS("conformance")), 0);
    assert_string_equal(text_of(&p.out), "libexec\n");
    process_fini(&p);
    write_program(f, "bin/arcp-conformance", "#!/bin/sh\necho beside\n");
    assert_int_equal(run(f, &p, WORDS("conformance")), 0);
    assert_string_equal(text_of(&p.out), "beside\n");
    process_fini(&p);
}

static void path_and_the_current_directory_are_not_searched(void **state)
{
    const fixture *f = *state;
    static const char *const names[] = {"other", "../elsewhere/arcp-other", "/bin/true", ""};
    char here[512];
    process p;
    write_program(f, "elsewhere/arcp-other", "#!/bin/sh\necho wrong\n");
    assert_non_null(getcwd(here, sizeof here));
    char elsewhere[96];
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", f->directory);
    assert_int_equal(chdir(elsewhere), 0);
    for (size_t row = 0; row < sizeof names / sizeof names[0]; row++) {
        char expected[96];
        assert_int_equal(run(f, &p, WORDS(names[row])), 2);
        snprintf(expected, sizeof expected, "arcp: unknown command %s", names[row]);
        assert_string_equal(text_of(&p.out), "");
        assert_memory_equal(text_of(&p.err), expected, strlen(expected));
        process_fini(&p);
    }
    assert_int_equal(chdir(here), 0);
}

/* Helpers of arcpd and agents are in the same folders. */
static void a_helper_program_is_not_a_command(void **state)
{
    const fixture *f = *state;
    static const char *const names[] = {"agent-exec", "bench-agent", "survey"};
    for (size_t row = 0; row < sizeof names / sizeof names[0]; row++) {
        char place[64];
        char expected[96];
        process p;
        snprintf(place, sizeof place, "bin/arcp-%s", names[row]);
        write_program(f, place, "#!/bin/sh\necho wrong\n");
        assert_int_equal(run(f, &p, WORDS(names[row])), 2);
        snprintf(expected, sizeof expected, "arcp: unknown command %s", names[row]);
        assert_string_equal(text_of(&p.out), "");
        assert_memory_equal(text_of(&p.err), expected, strlen(expected));
        process_fini(&p);
    }
}

static void built_in_commands_are_not_replaced(void **state)
{
    const fixture *f = *state;
    process p;
    write_program(f, "bin/arcp-lease", "#!/bin/sh\necho wrong\n");
    assert_int_equal(
        run(f, &p, WORDS("lease", "check", "{\"fs.read\":[\"/srv/**\"]}", "fs.read", "/srv/a")), 0);
    assert_null(strstr(text_of(&p.out), "wrong"));
    process_fini(&p);
}

static void a_missing_or_broken_program_is_named(void **state)
{
    const fixture *f = *state;
    char expected[256];
    process p;
    if (access(ARCP_LIBEXEC_DIRECTORY "/arcp-bench", X_OK) != 0) { /* otherwise it is not missing */
        assert_int_equal(run(f, &p, WORDS("bench", "--jobs", "1")), 1);
        snprintf(expected, sizeof expected,
                 "arcp bench: the program arcp-bench is not installed; searched "
                 "%s/bin, %s/bin/../libexec/arcp, " ARCP_LIBEXEC_DIRECTORY "\n",
                 f->directory, f->directory);
        assert_string_equal(text_of(&p.err), expected);
        process_fini(&p);
    }
    write_program(f, "bin/arcp-conformance", "#!/no/such/interpreter\n");
    assert_int_equal(run(f, &p, WORDS("conformance")), 1);
    snprintf(expected, sizeof expected,
             "arcp conformance: %s/bin/arcp-conformance cannot be run: No such file or directory\n",
             f->directory);
    assert_string_equal(text_of(&p.err), expected);
    process_fini(&p);
}

static void help_needs_no_program(void **state)
{
    const fixture *f = *state;
    process p;
    assert_int_equal(run(f, &p, WORDS("help", "bench")), 0);
    assert_memory_equal(text_of(&p.out), "usage: arcp bench ", 18);
    process_fini(&p);
}

/* The programs of this build, by the names that users type. */
static void options_before_the_command_name_are_passed_on(void **state)
{
    static const struct {
        const char *words[5];
        int exit_status;
        const char *out, *err; /* how each output begins */
    } rows[] = {
        {{"bench", "--help"}, 0, "usage: arcp bench ", ""},
        {{"--help", "bench"}, 0, "usage: arcp bench ", ""},
        {{"help", "bench"}, 0, "usage: arcp bench ", ""},
        {{"conformance", "-h"}, 0, "usage: arcp conformance [URL] ", ""},
        {{"bench", "--version"}, 0, "arcp ", ""},
        {{"bench", "--dance"},
         2,
         "",
         "arcp bench: unknown option --dance\ntry: arcp bench --help\n"},
        {{"--json", "bench", "again"}, 2, "", "arcp bench: unexpected argument 'again'\n"},
        {{"--sessions", "2", "bench"}, 2, "", "arcp: --sessions is an option of arcp bench\n"},
        {{"--url", "ws://x", "conformance", "ws://y"}, 2, "", "arcp conformance: URL and --url "},
        {{"benhc"}, 2, "", "arcp: unknown command benhc; did you mean bench?\n"},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const char *all[8] = {ARCP_BINARY_DIR "/bin/arcp"};
        process p;
        for (size_t i = 0; i < 5 && rows[row].words[i] != NULL; i++) {
            all[i + 1] = rows[row].words[i];
        }
        print_message("  arcp %s %s\n", all[1], all[2] == NULL ? "" : all[2]);
        process_start(&p, all, NULL, NULL);
        assert_int_equal(process_finish(&p), rows[row].exit_status);
        assert_memory_equal(text_of(&p.out), rows[row].out, strlen(rows[row].out));
        assert_memory_equal(text_of(&p.err), rows[row].err, strlen(rows[row].err));
        process_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_gets_all_arguments_but_its_name),
        cmocka_unit_test(the_own_folder_comes_before_libexec),
        cmocka_unit_test(path_and_the_current_directory_are_not_searched),
        cmocka_unit_test(a_helper_program_is_not_a_command),
        cmocka_unit_test(built_in_commands_are_not_replaced),
        cmocka_unit_test(a_missing_or_broken_program_is_named),
        cmocka_unit_test(help_needs_no_program),
        cmocka_unit_test(options_before_the_command_name_are_passed_on),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
