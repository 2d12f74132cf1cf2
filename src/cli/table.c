#include "cli/cli.h"

/* The columns of the terminal that a cell may take. 0: it is not cut. */
static size_t width_of(const arcp__table *table, size_t column, size_t width, size_t used)
{
    if (column + 1 == table->count && width != 0) {
        return width > used ? width - used : 1;
    }
    return column == 0 && width != 0 && width < table->short_below ? table->short_size
                                                                   : table->columns[column].width;
}

void arcp__append_row(const arcp__table *table, size_t width, const arcp_span *cells, arcp_buf *out)
{
    size_t used = 0;
    for (size_t i = 0; i < table->count; i++) {
        const arcp__column *column = &table->columns[i];
        const size_t room = width_of(table, i, width, used);
        if (width != 0 && width < column->from) {
            continue;
        }
        arcp_span cell = cells == NULL ? arcp_span_cstr(column->title) : cells[i];
        if (cell.size == 0) {
            cell = ARCP_SPAN_LITERAL("-");
        }
        if (i == 0 && width != 0 && width < table->short_below && cell.size > room) {
            cell = arcp_span_from(cell, cell.size - room); /* the beginnings of ids are alike */
        }
        arcp__append_cell(out, cell, room, i + 1 == table->count);
        used += room + 1;
    }
}

bool arcp__print_table_row(arcp__program *program, const arcp__table *table, size_t width,
                           const arcp_span *cells)
{
    arcp_buf line = arcp_buf_init();
    arcp__append_row(table, width, cells, &line);
    return arcp__program_print_buf_line(program, &line);
}
