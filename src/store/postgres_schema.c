/* Schema `arcp`, version 1. */
#include "store/postgres_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "1"
#define SHARDS  "1"

/* Under this lock a node creates the schema. */
#define CREATE_LOCK "4707171"

/* The fence is the first statement of each transaction that writes.
 *
 * FOR SHARE, and nothing weaker: takeover and batch must wait for each other. The batch before must
 * be there: two transactions are under way, and when the first one is refused, the second must not
 * pass it. OFFSET 0 keeps the planner from a join that reads all rows of a shard. Numbers of
 * batches are inserted and deleted in blocks; a counter that is updated becomes slower with each
 * commit while a snapshot is open. */
#define FENCE                                                                                      \
    "CREATE FUNCTION arcp.fence(shards int[], epochs bigint[], batches bigint[]) RETURNS void"     \
    " LANGUAGE plpgsql AS $$\n"                                                                    \
    "DECLARE n bigint;\n"                                                                          \
    "BEGIN\n"                                                                                      \
    "  PERFORM 1 FROM arcp.shard h JOIN unnest(shards, epochs) AS t(s, e)\n"                       \
    "    ON h.id = t.s AND h.epoch = t.e FOR SHARE OF h;\n"                                        \
    "  GET DIAGNOSTICS n = ROW_COUNT;\n"                                                           \
    "  IF n < cardinality(shards) THEN\n"                                                          \
    "    RAISE 'another node, or another connection, owns the shard' USING ERRCODE = 'ARCP1';\n"   \
    "  END IF;\n"                                                                                  \
    "  INSERT INTO arcp.commits SELECT t.s, t.b FROM unnest(shards, batches) AS t(s, b)\n"         \
    "    WHERE EXISTS (SELECT FROM arcp.commits c\n"                                               \
    "      WHERE c.shard = t.s AND c.batch = t.b - 1 OFFSET 0);\n"                                 \
    "  GET DIAGNOSTICS n = ROW_COUNT;\n"                                                           \
    "  IF n < cardinality(shards) THEN\n"                                                          \
    "    RAISE 'the batch before is not there' USING ERRCODE = 'ARCP1';\n"                         \
    "  END IF;\n"                                                                                  \
    "  DELETE FROM arcp.commits c USING unnest(shards, batches) AS t(s, b)\n"                      \
    "    WHERE t.b % 256 = 0 AND c.shard = t.s AND c.batch >= t.b - 512 AND c.batch < t.b - "      \
    "256;\n"                                                                                       \
    "END $$"

static const char *const creation[] = {
    "CREATE SCHEMA arcp",
    "CREATE TABLE arcp.settings(name text PRIMARY KEY, value text NOT NULL)",
    "CREATE TABLE arcp.node(name text PRIMARY KEY, home text NOT NULL, incarnation text NOT NULL,"
    " beat bigint NOT NULL, url text, version text, draining boolean NOT NULL DEFAULT false,"
    " config_hash text, shards int, sessions bigint, jobs bigint) WITH (fillfactor=10)",
    "CREATE TABLE arcp.shard(id int PRIMARY KEY, owner text, incarnation text,"
    " epoch bigint NOT NULL DEFAULT 0, wanted text) WITH (fillfactor=10)",
    "CREATE TABLE arcp.commits(shard int, batch bigint, PRIMARY KEY(shard, batch))",
    "CREATE TABLE arcp.streams(shard int, id bigint, key text COLLATE \"C\","
    " PRIMARY KEY(shard, id), UNIQUE(shard, key))",
    "CREATE TABLE arcp.runs(shard int, stream bigint, first bigint, count int NOT NULL,"
    " data text NOT NULL, crc int NOT NULL, PRIMARY KEY(shard, stream, first)) WITH"
    " (toast_tuple_target=8160, autovacuum_vacuum_scale_factor=0.02,"
    " autovacuum_vacuum_cost_delay=0)",
    "ALTER TABLE arcp.runs ALTER data SET STORAGE EXTERNAL",
    "CREATE TABLE arcp.rows(shard int, tab smallint, key text COLLATE \"C\", value text NOT NULL,"
    " crc int NOT NULL, PRIMARY KEY(shard, tab, key)) WITH (fillfactor=70,"
    " autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0)",
    FENCE,
#define ARCP_STORE_TABLE(name, number, text)                                                       \
    "CREATE VIEW arcp." text                                                                       \
    " AS SELECT shard, key, value, crc FROM arcp.rows WHERE tab = " #number,
#include <arcp/sys/store_table.def>
#undef ARCP_STORE_TABLE
    "CREATE VIEW arcp.stream_runs AS SELECT s.shard, s.key AS stream, r.first, r.count,"
    " octet_length(r.data) AS bytes, r.data FROM arcp.streams s JOIN arcp.runs r"
    " ON r.shard = s.shard AND r.stream = s.id",
    "INSERT INTO arcp.settings VALUES ('schema', '" VERSION "'), ('shards', '" SHARDS "'),"
    " ('cluster', gen_random_uuid()::text)",
    "INSERT INTO arcp.shard(id) SELECT generate_series(0, " SHARDS " - 1)",
};

/* Leaves the transaction open on failure; the caller closes the connection. */
static arcp_status create(arcp__pg *pg, arcp_error *err)
{
    PGresult *found = NULL;
    if (arcp__pg_run(pg, "BEGIN", NULL, 0, NULL, err) != ARCP__PG_FINE ||
        arcp__pg_run(pg, "SELECT pg_advisory_xact_lock(" CREATE_LOCK ")", NULL, 0, NULL, err) !=
            ARCP__PG_FINE ||
        arcp__pg_run(pg, "SELECT 1 WHERE to_regnamespace('arcp') IS NOT NULL", NULL, 0, &found,
                     err) != ARCP__PG_FINE) {
        return err->status;
    }
    const bool is_there = PQntuples(found) != 0; /* another node was faster */
    PQclear(found);
    for (size_t i = 0; !is_there && i < sizeof creation / sizeof creation[0]; i++) {
        if (arcp__pg_run(pg, creation[i], NULL, 0, NULL, err) != ARCP__PG_FINE) {
            return err->status;
        }
    }
    (void)arcp__pg_run(pg, "COMMIT", NULL, 0, NULL, err);
    return err->status;
}

static arcp_status check_setting(const char *name, const char *value, bool *has_version,
                                 arcp_error *err)
{
    if (strcmp(name, "schema") == 0) {
        *has_version = true;
        if (strcmp(value, VERSION) != 0) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "postgres: the database has schema %.20s, which a newer version "
                                  "has written; this one knows schema " VERSION,
                                  value);
        }
    } else if (strcmp(name, "shards") == 0 && strcmp(value, SHARDS) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "postgres: the store was made with %.20s shards; this version works "
                              "with " SHARDS,
                              value);
    }
    return ARCP_OK;
}

static arcp_status check(arcp__pg *pg, arcp_error *err)
{
    PGresult *settings = NULL;
    bool has_version = false;
    const arcp__pg_trouble trouble =
        arcp__pg_run(pg, "SELECT name, value FROM arcp.settings", NULL, 0, &settings, err);
    if (trouble == ARCP__PG_LOST) {
        return err->status;
    }
    const arcp_error why = *err;
    *err = (arcp_error){0};
    if (trouble != ARCP__PG_FINE) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "postgres: schema \"arcp\" is not one of arcpd, or not this user's: "
                              "%.300s",
                              why.message);
    }
    for (int i = 0; i < PQntuples(settings) && err->status == ARCP_OK; i++) {
        (void)check_setting(PQgetvalue(settings, i, 0), PQgetvalue(settings, i, 1), &has_version,
                            err);
    }
    PQclear(settings);
    if (err->status == ARCP_OK && !has_version) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "postgres: schema \"arcp\" is not one of arcpd: it has no version");
    }
    return err->status;
}

/* -1: `err` is set. */
static int has_schema(arcp__pg *pg, arcp_error *err)
{
    PGresult *found = NULL;
    if (arcp__pg_run(pg, "SELECT 1 WHERE to_regnamespace('arcp') IS NOT NULL", NULL, 0, &found,
                     err) != ARCP__PG_FINE) {
        return -1;
    }
    const int has = PQntuples(found);
    PQclear(found);
    return has;
}

arcp_status arcp__pg_schema_check(arcp__pg *pg, arcp_error *err)
{
    const int has = has_schema(pg, err);
    if (has == 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "postgres: the database has no store (schema \"arcp\")");
    }
    return has < 0 ? err->status : check(pg, err);
}

arcp_status arcp__pg_schema_open(arcp__pg *pg, arcp_error *err)
{
    const int has = has_schema(pg, err);
    if (has < 0 || (has == 0 && create(pg, err) != ARCP_OK)) {
        return err->status;
    }
    return check(pg, err);
}
