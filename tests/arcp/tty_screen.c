#include "arcp/tty_screen.h"

#include "support/check.h"

enum { ROWS_MAX = 200, COLUMNS_MAX = 200 };

typedef struct cell {
    char text[5]; /* one character; "" is blank */
    unsigned char color;
} cell;

typedef struct tty {
    cell cells[ROWS_MAX][COLUMNS_MAX];
    unsigned columns;
    unsigned row, column; /* of the cursor */
    unsigned rows;        /* reached so far */
    unsigned char color;
} tty;

static void go_down(tty *t)
{
    t->row++;
    assert_true(t->row < ROWS_MAX);
    t->rows = t->row >= t->rows ? t->row + 1 : t->rows;
}

static size_t character_size(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static size_t put(tty *t, arcp_span rest)
{
    size_t size = character_size((unsigned char)rest.data[0]);
    size = size < rest.size ? size : rest.size;
    if (t->column == t->columns) { /* terminals wrap at the next character */
        t->column = 0;
        go_down(t);
    }
    cell *c = &t->cells[t->row][t->column++];
    memcpy(c->text, rest.data, size);
    c->text[size] = '\0';
    c->color = t->color;
    return size;
}

static void erase_to_end(tty *t)
{
    for (unsigned column = t->column; column < t->columns; column++) {
        t->cells[t->row][column] = (cell){"", 0};
    }
}

/* Parses \033[ number letter; returns its size, 0 if it is incomplete. */
static size_t escape(tty *t, arcp_span rest)
{
    unsigned number = 0;
    size_t i = 2;
    while (i < rest.size && rest.data[i] >= '0' && rest.data[i] <= '9') {
        number = number * 10 + (unsigned)(rest.data[i++] - '0');
    }
    if (i >= rest.size) {
        return 0;
    }
    assert_int_equal(rest.data[1], '[');
    switch (rest.data[i]) {
    case 'm':
        t->color = (unsigned char)number;
        break;
    case 'K':
        assert_int_equal(number, 0);
        erase_to_end(t);
        break;
    case 'A':
        assert_true(t->row >= 1);
        t->row--;
        break;
    default:
        fail_msg("unexpected sequence ESC%.*s", (int)i, rest.data + 1);
    }
    return i + 1;
}

static void append_row(const tty *t, unsigned row, arcp_buf *out)
{
    unsigned char color = 0;
    unsigned used = t->columns;
    while (used > 0 &&
           (t->cells[row][used - 1].text[0] == '\0' ||
            (t->cells[row][used - 1].text[0] == ' ' && t->cells[row][used - 1].color == 0))) {
        used--;
    }
    for (unsigned column = 0; column < used; column++) {
        const cell *c = &t->cells[row][column];
        if (c->color != color) {
            arcp_buf_append_format(out, "{%u}", (unsigned)c->color);
            color = c->color;
        }
        arcp_buf_append_cstr(out, c->text[0] == '\0' ? " " : c->text);
    }
    arcp_buf_append_cstr(out, color != 0 ? "{0}\n" : "\n");
}

void tty_render(arcp_span bytes, unsigned columns, arcp_buf *out)
{
    static tty t;
    t = (tty){.columns = columns, .rows = 1};
    assert_true(columns <= COLUMNS_MAX);
    while (bytes.size != 0) {
        size_t used = 1;
        const unsigned char byte = (unsigned char)bytes.data[0];
        if (byte == '\n') {
            go_down(&t);
        } else if (byte == '\r') {
            t.column = 0;
        } else if (byte == 033) {
            used = escape(&t, bytes);
        } else {
            assert_true(byte >= ' ');
            used = put(&t, bytes);
        }
        if (used == 0) {
            break;
        }
        bytes = arcp_span_from(bytes, used);
    }
    for (unsigned row = 0; row < t.rows; row++) {
        const bool is_last = row + 1 == t.rows;
        if (is_last && t.row == row && t.column == 0) {
            arcp_buf_append_cstr(out, "_\n");
        } else {
            append_row(&t, row, out);
        }
    }
}
