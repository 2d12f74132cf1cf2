#include "arcp/run_rows.h"

/* Removes the line about the environment, which every command that fails gets. */
static void remove_sentence(arcp_buf *text)
{
    char *line = memmem(text->data, text->size, " of the environment w", 21);
    if (line != NULL) {
        const char *end = text->data + text->size;
        const char *next = memchr(line, '\n', (size_t)(end - line));
        while (line > text->data && line[-1] != '\n') {
            line--;
        }
        const size_t rest = next == NULL ? 0 : (size_t)(end - next - 1);
        memmove(line, end - rest, rest);
        text->size = (size_t)(line - text->data) + rest;
    }
}

static bool is_text(const run_fixture *f, const run_row *row, const char *what,
                    const arcp_buf *text, const char *want)
{
    arcp_buf masked = arcp_buf_init();
    run_fixture_mask(f, text, &masked);
    if (masked.size != 0 && strstr(want, " of the environment") == NULL) {
        remove_sentence(&masked);
    }
    arcp_buf_append_byte(&masked, '\0');
    const bool is_right =
        want[0] == '~' ? strstr(masked.data, want + 1) != NULL : strcmp(masked.data, want) == 0;
    if (!is_right) {
        print_error("%s: %s is\n%s\nnot\n%s\n", row->name, what, masked.data, want);
    }
    arcp_buf_fini(&masked);
    return is_right;
}

static const char *text_of(const arcp_buf *text)
{
    return text->size == 0 ? "" : text->data;
}

static bool is_as_written(const run_fixture *f, const run_row *row, const char *const *environment)
{
    process p;
    const int status = run_fixture_shell(f, &p, row->script, environment);
    bool is_right = status == row->status;
    if (!is_right) {
        print_error("%s: status %d, not %d:\n%s%s\n", row->name, status, row->status,
                    text_of(&p.out), text_of(&p.err));
    }
    if (is_right && row->out != NULL) {
        is_right = is_text(f, row, "the output", &p.out, row->out);
    }
    if (is_right && row->err != NULL) {
        is_right = is_text(f, row, "standard error", &p.err, row->err);
    }
    if (row->absent != NULL && run_fixture_has(f, row->absent)) {
        print_error("%s: %s was made\n", row->name, row->absent);
        is_right = false;
    }
    if (row->present != NULL && !run_fixture_has(f, row->present)) {
        print_error("%s: %s was not made\n", row->name, row->present);
        is_right = false;
    }
    process_fini(&p);
    return is_right;
}

void run_rows_check(const run_fixture *f, const run_row *rows, size_t count,
                    const char *const *environment)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        print_message("  %s\n", rows[i].name);
        wrong += !is_as_written(f, &rows[i], environment);
    }
    assert_int_equal(wrong, 0);
}
