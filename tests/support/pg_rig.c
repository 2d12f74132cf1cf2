#include "support/pg_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/remove_tree.h"

#define BINARIES "/usr/lib/postgresql/15/bin/"
#define WAIT_SEC 60

/* In a child: becomes user `postgres` if it is root. */
static void drop_root(void)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    if (geteuid() == 0 && (user == NULL || setgroups(0, NULL) != 0 || setgid(user->pw_gid) != 0 ||
                           setuid(user->pw_uid) != 0)) {
        _exit(126);
    }
}

/* Starts a program with its output in the file `log` of the directory. */
static pid_t start(const pg_rig *rig, char *const argv[])
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setsid();
        drop_root();
        (void)prctl(PR_SET_PDEATHSIG, SIGQUIT); /* a test that is killed leaves no server */
        const int log =
            chdir(rig->path) == 0 ? open("log", O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
        if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) {
            _exit(126);
        }
        execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

static void run(const pg_rig *rig, char *const argv[])
{
    int status = 0;
    assert_int_equal(waitpid(start(rig, argv), &status, 0) > 0, 1);
    if (status != 0) {
        fail_msg("%s failed: see %s/log", argv[0], rig->path);
    }
}

static PGconn *connect_to(const pg_rig *rig, const char *database)
{
    char info[400];
    snprintf(info, sizeof info, "host=%s user=arcp dbname=%s", rig->path, database);
    return PQconnectdb(info);
}

void pg_rig_start(pg_rig *rig)
{
    char data[300];
    char socket[300];
    char set[] = "-c";
    char settings[6][64] = {"listen_addresses=",  "shared_buffers=16MB",
                            "max_connections=40", "autovacuum=off",
                            "fsync=off",          "wal_retrieve_retry_interval=100ms"};
    char *argv[20] = {(char[]){BINARIES "postgres"}, (char[]){"-D"}, data, (char[]){"-k"}, socket};
    snprintf(data, sizeof data, "%s/data", rig->path);
    snprintf(socket, sizeof socket, "%s", rig->path);
    if (rig->is_durable) {
        snprintf(settings[4], sizeof settings[4], "fsync=on");
    }
    for (size_t i = 0; i < 6; i++) {
        argv[5 + 2 * i] = set;
        argv[6 + 2 * i] = settings[i];
    }
    /* A socket's lock that a killed server has left is removed by the next one. */
    rig->pid = start(rig, argv);
    for (int i = 0; i < WAIT_SEC * 50; i++) {
        PGconn *conn = connect_to(rig, "postgres");
        const bool is_ready = PQstatus(conn) == CONNECTION_OK;
        PQfinish(conn);
        if (is_ready) {
            return;
        }
        /* It ends while a process of a killed server still has the shared memory. */
        if (waitpid(rig->pid, NULL, WNOHANG) == rig->pid) {
            rig->pid = start(rig, argv);
        }
        const struct timespec pause = {0, 20000000};
        nanosleep(&pause, NULL);
    }
    fail_msg("PostgreSQL does not start: see %s/log", rig->path);
}

pg_rig *pg_rig_new(bool is_durable)
{
    if (access(BINARIES "initdb", X_OK) != 0 || (geteuid() == 0 && getpwnam("postgres") == NULL)) {
        print_message("not run: no PostgreSQL here (Debian's postgresql-15)\n");
        return NULL;
    }
    pg_rig *rig = calloc(1, sizeof *rig);
    const char *base = getenv("TMPDIR");
    char data[300];
    assert_non_null(rig);
    rig->is_durable = is_durable;
    snprintf(rig->path, sizeof rig->path, "%s/arcp-pg-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(rig->path));
    if (geteuid() == 0) {
        const struct passwd *user = getpwnam("postgres");
        assert_int_equal(chown(rig->path, user->pw_uid, user->pw_gid), 0);
    }
    snprintf(data, sizeof data, "%s/data", rig->path);
    char *argv[] = {(char[]){BINARIES "initdb"},
                    (char[]){"-D"},
                    data,
                    (char[]){"-U"},
                    (char[]){"arcp"},
                    (char[]){"-E"},
                    (char[]){"UTF8"},
                    (char[]){"--locale=C"},
                    (char[]){"-N"},
                    (char[]){"--auth=trust"},
                    (char[]){"--no-instructions"},
                    NULL};
    run(rig, argv);
    pg_rig_start(rig);
    snprintf(rig->url, sizeof rig->url, "postgres://arcp@/arcp?host=%s", rig->path);
    (void)pg_rig_run_outside(rig, "CREATE DATABASE arcp");
    return rig;
}

/* Each backend has a session of its own, so they are found as the children of the server. */
void pg_rig_signal_all(const pg_rig *rig, int number)
{
    char line[64];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)rig->pid, (int)rig->pid);
    if (number == SIGSTOP) {
        (void)kill(rig->pid, number); /* first, so that it starts no others */
    }
    FILE *children = fopen(path, "re");
    while (children != NULL && fscanf(children, "%60s", line) == 1) {
        (void)kill((pid_t)strtol(line, NULL, 10), number);
    }
    if (children != NULL) {
        (void)fclose(children);
    }
    if (number != SIGSTOP) {
        (void)kill(rig->pid, number); /* last: when it is dead, its children are not listed */
    }
}

void pg_rig_kill(pg_rig *rig)
{
    if (rig->pid != 0) {
        (void)kill(rig->pid, SIGSTOP);
        pg_rig_signal_all(rig, SIGKILL);
        (void)waitpid(rig->pid, NULL, 0);
        rig->pid = 0;
    }
}

void pg_rig_free(pg_rig *rig)
{
    if (rig != NULL) {
        pg_rig_kill(rig);
        (void)remove_tree(rig->path);
        free(rig);
    }
}

static const char *run_in(const pg_rig *rig, const char *database, const char *sql)
{
    static char value[1024];
    PGconn *conn = connect_to(rig, database);
    PGresult *result = PQexec(conn, sql);
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    }
    snprintf(value, sizeof value, "%s",
             PQntuples(result) != 0 ? PQgetvalue(result, 0, 0) : PQcmdTuples(result));
    PQclear(result);
    PQfinish(conn);
    return value;
}

const char *pg_rig_run(const pg_rig *rig, const char *sql)
{
    return run_in(rig, "arcp", sql);
}

long pg_rig_number(const pg_rig *rig, const char *sql)
{
    return strtol(pg_rig_run(rig, sql), NULL, 10);
}

const char *pg_rig_run_outside(const pg_rig *rig, const char *sql)
{
    return run_in(rig, "postgres", sql);
}

void pg_rig_follow(pg_rig *rig, const pg_rig *primary)
{
    char data[300];
    char from[300];
    char *argv[] = {(char[]){BINARIES "pg_basebackup"},
                    (char[]){"-D"},
                    data,
                    (char[]){"-h"},
                    from,
                    (char[]){"-U"},
                    (char[]){"arcp"},
                    (char[]){"-R"},
                    (char[]){"-N"},
                    (char[]){"-c"},
                    (char[]){"fast"},
                    NULL};
    snprintf(data, sizeof data, "%s/data", rig->path);
    snprintf(from, sizeof from, "%s", primary->path);
    (void)remove_tree(data);
    run(rig, argv);
    pg_rig_start(rig);
    (void)pg_rig_run(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    (void)pg_rig_run(primary, "SELECT pg_reload_conf()");
    while (strcmp(pg_rig_run(primary, "SELECT count(*) FROM pg_stat_replication"
                                      " WHERE sync_state = 'sync'"),
                  "1") != 0) {
        const struct timespec pause = {0, 20000000};
        nanosleep(&pause, NULL);
    }
}

void pg_rig_promote(const pg_rig *rig)
{
    (void)pg_rig_run(rig, "ALTER SYSTEM RESET synchronous_standby_names");
    (void)pg_rig_run(rig, "SELECT pg_reload_conf()");
    (void)pg_rig_run(rig, "SELECT pg_promote()");
}

void pg_rig_clear(const pg_rig *rig)
{
    (void)pg_rig_run(rig, "SET client_min_messages = error; DROP SCHEMA IF EXISTS arcp CASCADE");
}
