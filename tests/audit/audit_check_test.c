/* What the chain promises: any change of written lines is found, with its place. */
#include "support/check.h"

#include "audit/audit_check.h"

#define LINES 6

typedef struct findings {
    char text[512];  /* file:line:problem, one after the other */
    char order[160]; /* the first message about the order */
} findings;

static void note(void *user, const arcp__audit_finding *finding)
{
    findings *f = user;
    const size_t size = strlen(f->text);
    snprintf(f->text + size, sizeof f->text - size, "%s%s:%llu:%s", size == 0 ? "" : " ",
             finding->file, (unsigned long long)finding->line,
             arcp__audit_problem_name(finding->problem));
    if (finding->problem == ARCP__AUDIT_PROBLEM_ORDER && f->order[0] == '\0') {
        snprintf(f->order, sizeof f->order, "%s", finding->message);
    }
}

/* Lines of a chain, each with its line feed; the first has the hash of the line before it. */
static void make_lines(arcp__audit_head *head, size_t count, arcp_buf *lines)
{
    for (size_t i = 0; i < count; i++) {
        arcp_buf record = arcp_buf_init();
        if (i == 0) {
            arcp_buf_append_format(&record,
                                   "{\"event\":\"log\",\"decision\":\"opened\",\"previous\":"
                                   "\"%.*s\"}",
                                   ARCP__AUDIT_HASH_SIZE, head->hash);
        } else {
            arcp_buf_append_format(&record, "{\"event\":\"gate\",\"target\":\"/srv/%zu\"}", i);
        }
        arcp__audit_chain_append(head, arcp_buf_span(&record), &lines[i]);
        arcp_buf_fini(&record);
    }
}

typedef struct log {
    arcp_buf lines[LINES];
    arcp__audit_head head;
} log;

static void log_init(log *l)
{
    *l = (log){.head = {0, ""}};
    arcp__audit_head_init(&l->head);
    make_lines(&l->head, LINES, l->lines);
}

static void log_fini(log *l)
{
    for (size_t i = 0; i < LINES; i++) {
        arcp_buf_fini(&l->lines[i]);
    }
}

static void check_file(arcp__audit_check *check, const char *name, const log *l, size_t step)
{
    arcp_buf text = arcp_buf_init();
    arcp_error err = {0};
    for (size_t i = 0; i < LINES; i++) {
        arcp_buf_append(&text, arcp_buf_span(&l->lines[i]));
    }
    arcp__audit_check_begin(check, name);
    for (arcp_span left = arcp_buf_span(&text); left.size != 0;) {
        const arcp_span piece = arcp_span_first(left, step);
        check_ok(arcp__audit_check_feed(check, piece, &err), &err);
        left = arcp_span_from(left, piece.size);
    }
    arcp__audit_check_end(check);
    arcp_buf_fini(&text);
}

/* Of a log whose line of the number and hash `known` is known; NULL: of none. */
static void expect_knowing(const log *l, const arcp__audit_head *known, const char *wanted)
{
    /* In one piece, byte by byte, and in pieces that end anywhere. */
    static const size_t steps[] = {1 << 20, 1, 7, 100};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        findings f = {"", ""};
        arcp__audit_check check;
        arcp__audit_check_init(&check, note, &f);
        if (known != NULL) {
            check.wanted = *known;
        }
        check_file(&check, "a", l, steps[i]);
        arcp__audit_check_finish(&check);
        assert_string_equal(f.text, wanted);
        assert_int_equal(check.problems == 0, wanted[0] == '\0');
        arcp__audit_check_fini(&check);
    }
}

static void expect(const log *l, const char *wanted)
{
    expect_knowing(l, NULL, wanted);
}

static void a_line_has_the_hash_that_any_sha256_program_gives(void **state)
{
    (void)state;
    arcp__audit_head head;
    arcp_buf line = arcp_buf_init();
    arcp__audit_head_init(&head);
    arcp__audit_chain_append(&head, ARCP_SPAN_LITERAL("{\"event\":\"submit\"}"), &line);
    /* printf '%064d{"seq":1,"event":"submit"}' 0 | sha256sum */
    check_span(arcp_buf_span(&line),
               "{\"seq\":1,\"event\":\"submit\",\"hash\":\""
               "712b8489d634f0ab06c0f65399137c872b58f28b26f2c0d5d8531d2d525e10f5\"}\n");
    arcp_buf_fini(&line);
}

static void an_unchanged_log_has_no_findings(void **state)
{
    (void)state;
    log l;
    log_init(&l);
    expect(&l, "");
    log_fini(&l);
}

static void any_changed_byte_of_any_line_is_found_in_its_line(void **state)
{
    (void)state;
    for (size_t line = 0; line < LINES; line++) {
        log l;
        log_init(&l);
        for (size_t i = 0; i + 1 < l.lines[line].size; i++) {
            findings f = {"", ""};
            char wanted[16];
            arcp__audit_check check;
            l.lines[line].data[i] ^= 1;
            arcp__audit_check_init(&check, note, &f);
            check_file(&check, "a", &l, 1 << 20);
            snprintf(wanted, sizeof wanted, "a:%zu:", line + 1);
            if (strstr(f.text, wanted) != f.text) {
                fail_msg("line %zu byte %zu: found \"%s\"", line + 1, i, f.text);
            }
            arcp__audit_check_fini(&check);
            l.lines[line].data[i] ^= 1;
        }
        log_fini(&l);
    }
}

static void an_edited_line_whose_hash_was_made_anew_shows_in_the_next(void **state)
{
    (void)state;
    log l;
    log_init(&l);
    arcp__audit_line_view view;
    arcp__audit_line_view before;
    assert_true(
        arcp__audit_line_read(arcp_span_make(l.lines[1].data, l.lines[1].size - 1), &before));
    l.lines[2].data[strlen("{\"seq\":3,\"event\":\"")] = 'f';
    assert_true(arcp__audit_line_read(arcp_span_make(l.lines[2].data, l.lines[2].size - 1), &view));
    char hash[ARCP__AUDIT_HASH_SIZE];
    arcp__audit_line_hash(before.hash.data, view.body, hash);
    memcpy(l.lines[2].data + l.lines[2].size - 3 - sizeof hash, hash, sizeof hash);
    expect(&l, "a:4:edited");
    log_fini(&l);
}

static void swap(arcp_buf *a, arcp_buf *b)
{
    arcp_buf kept = *a;
    *a = *b;
    *b = kept;
}

static void a_removed_line_is_missing_at_its_place(void **state)
{
    (void)state;
    log l;
    log_init(&l);
    arcp_buf_clear(&l.lines[2]);
    expect(&l, "a:3:missing");
    log_fini(&l);
}

static void lines_that_changed_places_are_found_at_both(void **state)
{
    (void)state;
    log l;
    log_init(&l);
    swap(&l.lines[2], &l.lines[3]);
    expect(&l, "a:3:missing a:4:order");
    log_fini(&l);
}

static void a_repeated_line_is_out_of_order(void **state)
{
    (void)state;
    log l;
    log_init(&l);
    arcp_buf copy = arcp_buf_init();
    arcp_buf_append(&copy, arcp_buf_span(&l.lines[2]));
    arcp_buf_append(&l.lines[2], arcp_buf_span(&copy));
    arcp_buf_fini(&copy);
    expect(&l, "a:4:order");
    log_fini(&l);
}

static void a_line_of_ones_own_is_found(void **state)
{
    (void)state;
    log l;
    log_init(&l);
    arcp_buf_append_cstr(&l.lines[2], "{\"event\":\"submit\",\"decision\":\"allowed\"}\n");
    expect(&l, "a:4:malformed");
    log_fini(&l);
}

static void a_file_that_ends_within_a_line_is_truncated(void **state)
{
    (void)state;
    log l;
    log_init(&l);
    l.lines[LINES - 1].size -= 10;
    expect(&l, "a:6:truncated");
    l.lines[LINES - 1].size = 1;
    expect(&l, "a:6:truncated");
    log_fini(&l);
}

static void a_file_without_a_line_was_emptied(void **state)
{
    (void)state;
    log l;
    log nothing = {.head = {0, ""}};
    log_init(&l);
    expect(&nothing, "a:1:empty");
    findings f = {"", ""};
    arcp__audit_check check;
    arcp__audit_check_init(&check, note, &f);
    check_file(&check, "a", &l, 64);
    check_file(&check, "b", &nothing, 64);
    assert_string_equal(f.text, "b:1:empty");
    assert_int_equal(check.lines, LINES);
    arcp__audit_check_fini(&check);
    log_fini(&l);
}

static void lines_cut_off_the_end_show_when_the_last_one_is_known(void **state)
{
    (void)state;
    log l;
    log_init(&l);
    expect_knowing(&l, &l.head, "");
    arcp_buf_clear(&l.lines[LINES - 1]);
    expect_knowing(&l, &l.head, "a:5:head");
    log_fini(&l);
}

/* Nothing in the file shows whether the line that is first now was altered. */
static void lines_cut_off_the_beginning_are_missing(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < LINES; cut++) {
        log l;
        log_init(&l);
        for (size_t i = 0; i < cut; i++) {
            arcp_buf_clear(&l.lines[i]);
        }
        expect(&l, "a:1:missing");
        char *target = memmem(l.lines[cut].data, l.lines[cut].size, "/srv/", 5);
        assert_non_null(target);
        target[1] = 'S';
        expect(&l, "a:1:missing");
        log_fini(&l);
    }
}

static void a_chain_made_anew_shows_when_one_line_is_known(void **state)
{
    (void)state;
    log l;
    log_init(&l);
    arcp__audit_head known = {.seq = 4};
    memset(known.hash, 'a', sizeof known.hash);
    expect_knowing(&l, &known, "a:4:head");
    log_fini(&l);
}

static void files_follow_each_other_and_each_can_be_checked_alone(void **state)
{
    (void)state;
    log a;
    log b = {.head = {0, ""}};
    log_init(&a);
    b.head = a.head;
    make_lines(&b.head, LINES, b.lines);
    expect(&b, "");
    findings f = {"", ""};
    arcp__audit_check check;
    arcp__audit_check_init(&check, note, &f);
    check_file(&check, "a", &a, 64);
    check_file(&check, "b", &b, 64);
    assert_string_equal(f.text, "");
    assert_int_equal(check.lines, 2 * LINES);
    arcp__audit_check_fini(&check);

    /* In the wrong order, and without the end of the first file. */
    arcp__audit_check_init(&check, note, &f);
    check_file(&check, "b", &b, 64);
    check_file(&check, "a", &a, 64);
    assert_non_null(strstr(f.text, "a:1:order"));
    assert_string_equal(f.order,
                        "number 1 follows number 12; the file of another arcpd has a chain "
                        "of its own");
    arcp__audit_check_fini(&check);
    f.text[0] = '\0';
    arcp__audit_check_init(&check, note, &f);
    arcp_buf_clear(&a.lines[LINES - 1]);
    check_file(&check, "a", &a, 64);
    check_file(&check, "b", &b, 64);
    assert_string_equal(f.text, "b:1:missing");
    arcp__audit_check_fini(&check);
    log_fini(&a);
    log_fini(&b);
}

static void a_torn_line_that_the_next_one_vouches_for_is_no_problem(void **state)
{
    (void)state;
    log l;
    log_init(&l);
    char hash[ARCP__AUDIT_HASH_SIZE];
    arcp_buf record = arcp_buf_init();
    const arcp_span torn = ARCP_SPAN_LITERAL("{\"seq\":7,\"ts\":\"20");
    arcp__audit_sha256(torn, hash);
    arcp_buf_append_format(&record,
                           "{\"event\":\"log\",\"decision\":\"torn\",\"torn_bytes\":%zu,"
                           "\"torn_sha256\":\"%.*s\"}",
                           torn.size, (int)sizeof hash, hash);
    arcp_buf *last = &l.lines[LINES - 1];
    arcp_buf_append(last, torn);
    arcp_buf_append_byte(last, '\n');
    arcp__audit_chain_append(&l.head, arcp_buf_span(&record), last);
    expect(&l, "");
    /* The note covers the torn bytes, too. */
    char *quote = memmem(last->data, last->size, "\"ts\":\"20\n", 9);
    assert_non_null(quote);
    *quote = '\'';
    expect(&l, "a:7:malformed");
    arcp_buf_fini(&record);
    log_fini(&l);
}

static void a_line_of_another_kind_is_not_read_as_one_of_the_chain(void **state)
{
    (void)state;
    arcp__audit_line_view view;
    arcp__audit_head head;
    arcp_buf line = arcp_buf_init();
    arcp__audit_head_init(&head);
    arcp__audit_chain_append(&head, ARCP_SPAN_LITERAL("{\"a\":1}"), &line);
    const arcp_span good = arcp_span_make(line.data, line.size - 1);
    assert_true(arcp__audit_line_read(good, &view));
    assert_int_equal(view.seq, 1);
    for (size_t size = 0; size < good.size; size++) {
        assert_false(arcp__audit_line_read(arcp_span_first(good, size), &view));
        assert_false(size != 0 && arcp__audit_line_read(arcp_span_from(good, size), &view));
    }
    static const char *const bad[] = {"{\"seq\":0,", "{\"seq\":01,", "{\"seq\":,", "{\"seq\":x,",
                                      "{\"seq\":18446744073709551616,"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        arcp_buf other = arcp_buf_init();
        arcp_buf_append_cstr(&other, bad[i]);
        arcp_buf_append(&other, arcp_span_from(good, strlen("{\"seq\":1,")));
        if (arcp__audit_line_read(arcp_buf_span(&other), &view)) {
            fail_msg("%s is read", bad[i]);
        }
        arcp_buf_fini(&other);
    }
    arcp_buf_fini(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_the_hash_that_any_sha256_program_gives),
        cmocka_unit_test(an_unchanged_log_has_no_findings),
        cmocka_unit_test(any_changed_byte_of_any_line_is_found_in_its_line),
        cmocka_unit_test(an_edited_line_whose_hash_was_made_anew_shows_in_the_next),
        cmocka_unit_test(a_removed_line_is_missing_at_its_place),
        cmocka_unit_test(lines_that_changed_places_are_found_at_both),
        cmocka_unit_test(a_repeated_line_is_out_of_order),
        cmocka_unit_test(a_line_of_ones_own_is_found),
        cmocka_unit_test(a_file_that_ends_within_a_line_is_truncated),
        cmocka_unit_test(a_file_without_a_line_was_emptied),
        cmocka_unit_test(lines_cut_off_the_end_show_when_the_last_one_is_known),
        cmocka_unit_test(lines_cut_off_the_beginning_are_missing),
        cmocka_unit_test(a_chain_made_anew_shows_when_one_line_is_known),
        cmocka_unit_test(files_follow_each_other_and_each_can_be_checked_alone),
        cmocka_unit_test(a_torn_line_that_the_next_one_vouches_for_is_no_problem),
        cmocka_unit_test(a_line_of_another_kind_is_not_read_as_one_of_the_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
