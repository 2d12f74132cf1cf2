#include "store/sqlite_sums.h"

#include "store/sqlite_crc.h"

const char *arcp__sqlite_sum_name(int which)
{
    return which == ARCP__SQLITE_SUM_STREAMS ? "streams"
                                             : arcp_store_table_name((arcp_store_table)which);
}

arcp_status arcp__sqlite_sum_read(arcp__sqlite *sqlite, int which, arcp__sqlite_sum *out,
                                  arcp_error *err)
{
    arcp_span name = arcp_span_cstr(arcp__sqlite_sum_name(which));
    sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_SUM_READ, err);
    if (statement == NULL) {
        return err->status;
    }
    arcp__sqlite_bind_text(statement, 1, name);
    bool has_row = false;
    arcp_status status = arcp__sqlite_next(sqlite, statement, &has_row, err);
    if (has_row) {
        *out = (arcp__sqlite_sum){sqlite3_column_int64(statement, 0),
                                  sqlite3_column_int64(statement, 1),
                                  sqlite3_column_int64(statement, 2)};
        if (arcp__sqlite_crc_sum(name, out->count, out->sum, out->changes) !=
            sqlite3_column_int64(statement, 3)) {
            status = arcp_error_set(err, ARCP_E_CORRUPT,
                                    "%s: damaged: what table \"sums\" says of \"%s\" does not "
                                    "match its checksum",
                                    sqlite->path, name.data);
        }
    } else if (status == ARCP_OK) {
        status = arcp_error_set(err, ARCP_E_CORRUPT,
                                "%s: damaged: table \"sums\" says nothing of \"%s\"", sqlite->path,
                                name.data);
    }
    arcp__sqlite_reset(statement);
    return status;
}

arcp_status arcp__sqlite_sums_load(arcp__sqlite *sqlite, arcp__sqlite_sums *out, arcp_error *err)
{
    for (int which = 0; which < ARCP__SQLITE_SUM_COUNT; which++) {
        arcp_status status = arcp__sqlite_sum_read(sqlite, which, &out->now[which], err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    arcp__sqlite_sums_committed(out);
    return ARCP_OK;
}

void arcp__sqlite_sum_add(arcp__sqlite_sum *sum, int64_t crc)
{
    sum->count++;
    sum->sum = (int64_t)(((uint64_t)sum->sum + (uint64_t)crc) & INT64_MAX);
    sum->changes++;
}

void arcp__sqlite_sum_remove(arcp__sqlite_sum *sum, int64_t crc)
{
    sum->count--;
    sum->sum = (int64_t)(((uint64_t)sum->sum - (uint64_t)crc) & INT64_MAX);
    sum->changes++;
}

bool arcp__sqlite_sum_is_same(const arcp__sqlite_sum *left, const arcp__sqlite_sum *right)
{
    return left->count == right->count && left->sum == right->sum;
}

arcp_status arcp__sqlite_sum_error(const arcp__sqlite *sqlite, int which,
                                   const arcp__sqlite_sum *found, const arcp__sqlite_sum *want,
                                   arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "%s: damaged: table \"%s\" has %lld rows%s where %lld were written",
                          sqlite->path, arcp__sqlite_sum_name(which), (long long)found->count,
                          found->count == want->count ? " (others)" : "", (long long)want->count);
}

arcp_status arcp__sqlite_sums_flush(arcp__sqlite *sqlite, const arcp__sqlite_sums *sums,
                                    arcp_error *err)
{
    for (int which = 0; which < ARCP__SQLITE_SUM_COUNT; which++) {
        const arcp__sqlite_sum *sum = &sums->now[which];
        if (sum->changes == sums->stored[which].changes) {
            continue;
        }
        sqlite3_stmt *statement = arcp__sqlite_get(sqlite, ARCP__SQLITE_SUM_WRITE, err);
        if (statement == NULL) {
            return err->status;
        }
        arcp_span name = arcp_span_cstr(arcp__sqlite_sum_name(which));
        arcp__sqlite_bind_text(statement, 1, name);
        sqlite3_bind_int64(statement, 2, sum->count);
        sqlite3_bind_int64(statement, 3, sum->sum);
        sqlite3_bind_int64(statement, 4, sum->changes);
        sqlite3_bind_int64(statement, 5,
                           arcp__sqlite_crc_sum(name, sum->count, sum->sum, sum->changes));
        arcp_status status = arcp__sqlite_run(sqlite, statement, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}

void arcp__sqlite_sums_committed(arcp__sqlite_sums *sums)
{
    memcpy(sums->stored, sums->now, sizeof(sums->stored));
}

void arcp__sqlite_sums_abandoned(arcp__sqlite_sums *sums)
{
    memcpy(sums->now, sums->stored, sizeof(sums->now));
}
