#include "store/postgres_connection.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/postgres.h"

#define SERVER_VERSION_MIN 140000
#define PARAMS_MAX         6u
#define KEYWORDS_MAX       96u

/* Set by us, whatever the server's configuration says: what was committed is durable, a prepared
 * statement is planned once, and only our own deadlines end a statement. */
#define SETUP                                                                                      \
    "SET synchronous_commit = on; SET plan_cache_mode = force_generic_plan; SET jit = off;"        \
    "SET default_transaction_isolation = 'read committed'; SET statement_timeout = 0;"             \
    "SET lock_timeout = 0; SET client_encoding = 'UTF8'; SET client_min_messages = warning;"       \
    "SET search_path = pg_catalog"

static const char *const statements[] = {
#define ARCP__PG_STATEMENT(name, text) [ARCP__PG_##name] = (text),
#include "store/postgres_statement.def"
#undef ARCP__PG_STATEMENT
};

static const char *const names[] = {
#define ARCP__PG_STATEMENT(name, text) [ARCP__PG_##name] = #name,
#include "store/postgres_statement.def"
#undef ARCP__PG_STATEMENT
};

/* ---- errors ---- */

/* The first line of a message of libpq, which ends with a line feed. */
static arcp_status set_error(arcp_error *err, arcp_status status, const char *message)
{
    const size_t size = strcspn(message, "\n");
    return arcp_error_set(err, status, "postgres: %.*s", (int)(size < 400 ? size : 400), message);
}

/* The classes of SQLSTATE for which another connection may help: connection, resources, operator
 * intervention, system. A server that has become read-only is a standby now. */
static bool is_of_connection(const char *state)
{
    return strncmp(state, "08", 2) == 0 || strncmp(state, "53", 2) == 0 ||
           strncmp(state, "57", 2) == 0 || strncmp(state, "58", 2) == 0 ||
           strcmp(state, "25006") == 0;
}

arcp__pg_trouble arcp__pg_judge(arcp__pg *pg, const PGresult *result, arcp_error *err)
{
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_PIPELINE_SYNC) {
        return ARCP__PG_FINE;
    }
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const bool is_damage = state != NULL && strncmp(state, "XX00", 4) == 0 && state[4] != '0';
    (void)set_error(err, is_damage ? ARCP_E_CORRUPT : ARCP_E_IO,
                    primary != NULL ? primary : PQerrorMessage(pg->conn));
    if (state == NULL || PQstatus(pg->conn) == CONNECTION_BAD || is_of_connection(state)) {
        return ARCP__PG_LOST;
    }
    if (strcmp(state, "ARCP1") == 0) {
        return ARCP__PG_FENCED;
    }
    return strcmp(state, "55P03") == 0 ? ARCP__PG_LOCKED : ARCP__PG_FAILED;
}

static void on_notice(void *user, const PGresult *notice)
{
    arcp__pg *pg = user;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    /* A wait for the standby that is cancelled answers COMMIT with a WARNING. */
    pg->is_doubtful = pg->is_doubtful || severity == NULL || strcmp(severity, "WARNING") == 0;
}

/* ---- the URL ---- */

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
    for (; options->keyword != NULL; options++) {
        if (strcmp(options->keyword, keyword) == 0) {
            return options->val;
        }
    }
    return NULL;
}

/* NULL: ARCP_E_USAGE. The caller frees it by PQconninfoFree. */
static PQconninfoOption *parse_url(const char *url, arcp_error *err)
{
    char *why = NULL;
    PQconninfoOption *options = NULL;
    if (strncmp(url, ARCP__POSTGRES_SCHEME, strlen(ARCP__POSTGRES_SCHEME)) != 0) {
        (void)arcp_error_set(err, ARCP_E_USAGE, "the store's URL must begin with %s",
                             ARCP__POSTGRES_SCHEME);
        return NULL;
    }
    options = PQconninfoParse(url, &why);
    if (options == NULL) { /* the message may quote the URL, but no password is accepted anyway */
        (void)arcp_error_set(err, ARCP_E_USAGE, "the store's URL cannot be read by libpq");
    } else if (value_of(options, "password") != NULL) {
        (void)arcp_error_set(err, ARCP_E_USAGE,
                             "the store's URL has a password: put it into a passfile, and name "
                             "that with passfile= or PGPASSFILE");
    } else if (value_of(options, "sslpassword") != NULL) {
        (void)arcp_error_set(err, ARCP_E_USAGE,
                             "the store's URL has an sslpassword: use a key without a password");
    }
    if (err->status != ARCP_OK) {
        PQconninfoFree(options);
        options = NULL;
    }
    PQfreemem(why);
    return options;
}

arcp_status arcp__pg_check_url(const char *url, arcp_error *err)
{
    arcp_error failure = {0};
    PQconninfoFree(parse_url(url, &failure));
    return failure.status == ARCP_OK ? ARCP_OK : arcp_error_copy(err, &failure);
}

/* ---- connecting ---- */

/* The URL's settings with ours, which count more; the TLS mode is the URL's, if it names one. */
static PGconn *connect_to(const arcp__pg *pg, const PQconninfoOption *options)
{
    static const char *const ours[][2] = {{"target_session_attrs", "read-write"},
                                          {"connect_timeout", "2"},
                                          {"tcp_user_timeout", "3000"},
                                          {"keepalives", "1"},
                                          {"keepalives_idle", "10"},
                                          {"keepalives_interval", "3"},
                                          {"keepalives_count", "3"},
                                          {"client_encoding", "UTF8"}};
    const char *keywords[KEYWORDS_MAX];
    const char *values[KEYWORDS_MAX];
    size_t count = 0;
    keywords[count] = "sslmode";
    values[count++] = "verify-full"; /* not used for a Unix socket */
    for (; options->keyword != NULL && count < KEYWORDS_MAX - 12; options++) {
        if (options->val != NULL) {
            keywords[count] = options->keyword;
            values[count++] = options->val;
        }
    }
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        keywords[count] = ours[i][0];
        values[count++] = ours[i][1];
    }
    keywords[count] = "application_name";
    values[count++] = pg->name;
    keywords[count] = NULL;
    values[count] = NULL;
    return PQconnectdbParams(keywords, values, 0);
}

static arcp_status check_server(arcp__pg *pg, arcp_error *err)
{
    const char *encoding = PQparameterStatus(pg->conn, "server_encoding");
    if (PQserverVersion(pg->conn) < SERVER_VERSION_MIN) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "postgres: the server is version %d; the store "
                              "needs 14 or later",
                              PQserverVersion(pg->conn) / 10000);
    }
    if (encoding == NULL || strcmp(encoding, "UTF8") != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "postgres: the database's encoding is %s; it must be UTF8",
                              encoding == NULL ? "unknown" : encoding);
    }
    return ARCP_OK;
}

/* All in one round trip. */
static arcp_status prepare_all(arcp__pg *pg, arcp_error *err)
{
    bool is_sent = true;
    for (size_t i = 0; i < ARCP__PG_STATEMENT_COUNT; i++) {
        is_sent = is_sent && PQsendPrepare(pg->conn, names[i], statements[i], 0, NULL) == 1;
    }
    if (!is_sent || !arcp__pg_sync(pg)) {
        return set_error(err, ARCP_E_IO, PQerrorMessage(pg->conn));
    }
    const int64_t deadline = arcp__clock_ns(CLOCK_MONOTONIC) + pg->answer_ns;
    for (bool is_end = false; !is_end && err->status == ARCP_OK;) {
        PGresult *result = NULL;
        if (arcp__pg_next(pg, deadline, -1, &result, err) == ARCP__PG_RESULT) {
            is_end = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
            (void)arcp__pg_judge(pg, result, err);
            PQclear(result);
        }
    }
    return err->status;
}

/* The connection is blocking until it is set up; connect_timeout bounds that for each host, and the
 * server's answer to SETUP by its own, as nothing waits for a lock or a standby in it. */
arcp_status arcp__pg_connect(arcp__pg *pg, bool prepares, arcp_error *err)
{
    arcp__pg_close(pg);
    PQconninfoOption *options = parse_url(pg->url, err);
    if (options == NULL) {
        return err->status;
    }
    pg->conn = connect_to(pg, options);
    PQconninfoFree(options);
    if (pg->conn == NULL || PQstatus(pg->conn) != CONNECTION_OK) {
        (void)set_error(err, ARCP_E_IO,
                        pg->conn == NULL ? "out of memory" : PQerrorMessage(pg->conn));
        arcp__pg_close(pg);
        return err->status;
    }
    (void)PQsetNoticeReceiver(pg->conn, on_notice, pg);
    if (check_server(pg, err) == ARCP_OK) {
        PGresult *result = NULL;
        (void)PQsetnonblocking(pg->conn, 1);
        const int64_t deadline = arcp__clock_ns(CLOCK_MONOTONIC) + pg->answer_ns;
        if (PQsendQuery(pg->conn, SETUP) != 1 || !arcp__pg_flush(pg)) {
            (void)set_error(err, ARCP_E_IO, PQerrorMessage(pg->conn));
        }
        /* One result for each SET, then none. */
        while (err->status == ARCP_OK &&
               arcp__pg_next(pg, deadline, -1, &result, err) == ARCP__PG_RESULT && result != NULL) {
            (void)arcp__pg_judge(pg, result, err);
            PQclear(result);
        }
    }
    if (err->status == ARCP_OK && PQenterPipelineMode(pg->conn) != 1) {
        (void)set_error(err, ARCP_E_IO, PQerrorMessage(pg->conn));
    }
    if (err->status == ARCP_OK && prepares) {
        (void)prepare_all(pg, err);
    }
    pg->is_doubtful = false;
    if (err->status != ARCP_OK) {
        arcp__pg_close(pg);
    }
    return err->status;
}

void arcp__pg_close(arcp__pg *pg)
{
    PQfinish(pg->conn);
    pg->conn = NULL;
    pg->is_doubtful = false;
}

/* ---- sending and waiting ---- */

bool arcp__pg_flush(arcp__pg *pg)
{
    return PQflush(pg->conn) >= 0;
}

bool arcp__pg_send(arcp__pg *pg, arcp__pg_statement statement, arcp__pg_array *params, size_t count)
{
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
    int formats[PARAMS_MAX];
    for (size_t i = 0; i < count; i++) {
        if (!arcp__pg_array_finish(&params[i])) {
            return false;
        }
        values[i] = params[i].bytes.data;
        lengths[i] = (int)params[i].bytes.size;
        formats[i] = 1;
    }
    return PQsendQueryPrepared(pg->conn, names[statement], (int)count, values, lengths, formats,
                               1) == 1;
}

bool arcp__pg_sync(arcp__pg *pg)
{
    return PQpipelineSync(pg->conn) == 1 && arcp__pg_flush(pg);
}

/* Waits for the socket. False: `wake_fd` is readable, or the deadline has passed. */
static bool wait_for_socket(const arcp__pg *pg, bool must_write, int64_t deadline_ns, int wake_fd,
                            bool *is_woken)
{
    const short wanted = (short)(POLLIN | (must_write ? POLLOUT : 0));
    struct pollfd fds[2] = {{.fd = PQsocket(pg->conn), .events = wanted},
                            {.fd = wake_fd, .events = POLLIN}};
    const int64_t left_ns = deadline_ns - arcp__clock_ns(CLOCK_MONOTONIC);
    const int64_t left_ms = left_ns <= 0 ? 0 : left_ns / ARCP_NS_PER_MS + 1;
    const int count = poll(fds, 2, left_ms > 60000 ? 60000 : (int)left_ms);
    *is_woken = count > 0 && fds[1].revents != 0 && fds[0].revents == 0;
    return count > 0 ? fds[0].revents != 0 : (count < 0 && errno == EINTR) || left_ms > 60000;
}

arcp__pg_wait arcp__pg_next(arcp__pg *pg, int64_t deadline_ns, int wake_fd, PGresult **out,
                            arcp_error *err)
{
    for (bool is_woken = false;;) {
        const int left = PQflush(pg->conn);
        if (left < 0 || PQconsumeInput(pg->conn) != 1) {
            break;
        }
        if (PQisBusy(pg->conn) == 0) {
            *out = PQgetResult(pg->conn);
            /* Between the answers of a pipeline there is an end of each. */
            if (*out != NULL || PQpipelineStatus(pg->conn) == PQ_PIPELINE_OFF) {
                return ARCP__PG_RESULT;
            }
            if (PQstatus(pg->conn) == CONNECTION_BAD) {
                break;
            }
            continue;
        }
        if (!wait_for_socket(pg, left > 0, deadline_ns, wake_fd, &is_woken)) {
            if (is_woken) {
                return ARCP__PG_WOKEN;
            }
            (void)arcp_error_set(err, ARCP_E_IO, "postgres: the server does not answer");
            return ARCP__PG_BROKEN;
        }
        /* A long answer, or a long statement, is on its way. */
        const int64_t extended_ns = arcp__clock_ns(CLOCK_MONOTONIC) + pg->answer_ns;
        deadline_ns = deadline_ns > extended_ns ? deadline_ns : extended_ns;
    }
    (void)set_error(err, ARCP_E_IO, PQerrorMessage(pg->conn));
    return ARCP__PG_BROKEN;
}

/* Waits for the answers up to the end of a transaction. */
static arcp__pg_trouble take_answer(arcp__pg *pg, PGresult **out, arcp_error *err)
{
    const int64_t deadline = arcp__clock_ns(CLOCK_MONOTONIC) + pg->answer_ns;
    arcp__pg_trouble trouble = ARCP__PG_FINE;
    PGresult *kept = NULL;
    for (bool is_end = false; !is_end && trouble != ARCP__PG_LOST;) {
        PGresult *result = NULL;
        if (arcp__pg_next(pg, deadline, -1, &result, err) != ARCP__PG_RESULT) {
            trouble = ARCP__PG_LOST;
        } else if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            is_end = true;
        } else if (trouble == ARCP__PG_FINE) {
            trouble = arcp__pg_judge(pg, result, err);
        }
        if (result != NULL && kept == NULL && !is_end) {
            kept = result;
        } else {
            PQclear(result);
        }
    }
    if (trouble == ARCP__PG_FINE && pg->is_doubtful) {
        trouble = ARCP__PG_LOST;
        (void)arcp_error_set(err, ARCP_E_IO, "postgres: the server answered with a warning");
    }
    if (trouble == ARCP__PG_FINE && out != NULL) {
        *out = kept;
        kept = NULL;
    }
    PQclear(kept);
    return trouble;
}

static arcp__pg_trouble answer_to(arcp__pg *pg, bool is_sent, PGresult **out, arcp_error *err)
{
    if (!is_sent || !arcp__pg_sync(pg)) {
        (void)set_error(err, ARCP_E_IO, PQerrorMessage(pg->conn));
        return ARCP__PG_LOST;
    }
    return take_answer(pg, out, err);
}

arcp__pg_trouble arcp__pg_run(arcp__pg *pg, const char *sql, const char *const *values,
                              size_t count, PGresult **out, arcp_error *err)
{
    const bool is_sent =
        PQsendQueryParams(pg->conn, sql, (int)count, NULL, values, NULL, NULL, 0) == 1;
    return answer_to(pg, is_sent, out, err);
}

arcp__pg_trouble arcp__pg_run_prepared(arcp__pg *pg, arcp__pg_statement statement,
                                       arcp__pg_array *params, size_t count, PGresult **out,
                                       arcp_error *err)
{
    return answer_to(pg, arcp__pg_send(pg, statement, params, count), out, err);
}

arcp__pg_trouble arcp__pg_end_sessions(arcp__pg *pg, const char *session_names, arcp_error *err)
{
    return arcp__pg_run(pg,
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE usename = current_user AND pid <> pg_backend_pid()"
                        " AND application_name LIKE $1",
                        &session_names, 1, NULL, err);
}

int64_t arcp__pg_integer(const PGresult *result, int row, int column)
{
    const char *bytes = PQgetvalue(result, row, column);
    uint64_t value = 0;
    const size_t size = (size_t)PQgetlength(result, row, column);
    if (size > sizeof value) {
        return 0;
    }
    memcpy((char *)&value + sizeof value - size, bytes, size);
    value = be64toh(value);
    /* Extend the sign of a shorter integer. */
    const unsigned unused = (unsigned)(64 - 8 * size);
    return size == 0 ? 0 : (int64_t)(value << unused) >> unused;
}
