/* The start of a confined program, and its network. */
#include "hosting/confinement.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/directory.h"
#include "base/hash.h"
#include "launch/sandbox_record.h"
#include "stream/tls_ca.h"

/* How long the prepared /etc is used without looking at the host's files again. */
#define ETC_TRUSTED_NS ARCP_NS_PER_SEC

/* ---- /etc ---- */

static arcp__prepared_etc *find_etc(arcp__hosting *hosting, const char *user, bool has_ca)
{
    for (arcp__prepared_etc *etc = hosting->prepared_etcs; etc != NULL; etc = etc->next) {
        if (etc->has_ca == has_ca &&
            arcp_span_equal(arcp_span_cstr(etc->user), arcp_span_cstr(user))) {
            return etc;
        }
    }
    arcp__prepared_etc *etc = arcp__alloc(sizeof *etc);
    char *copy = user == NULL ? NULL : arcp__copy_cstr(user, strlen(user));
    if (etc == NULL || (user != NULL && copy == NULL)) {
        arcp__free(etc);
        return NULL;
    }
    etc->user = copy;
    etc->has_ca = has_ca;
    etc->path = arcp_buf_init();
    LL_PREPEND(hosting->prepared_etcs, etc);
    return etc;
}

void arcp__prepared_etcs_free(arcp__hosting *hosting)
{
    while (hosting->prepared_etcs != NULL) {
        arcp__prepared_etc *etc = hosting->prepared_etcs;
        hosting->prepared_etcs = etc->next;
        arcp_buf_fini(&etc->path);
        arcp__free(etc->user);
        arcp__free(etc);
    }
}

static arcp_status find_user(const char *user, arcp__sandbox_etc *request, arcp_error *err)
{
    char buffer[16384];
    struct passwd entry;
    struct passwd *found = NULL;
    request->uid = geteuid();
    request->gid = getegid();
    if (user == NULL) {
        return ARCP_OK;
    }
    if (getpwnam_r(user, &entry, buffer, sizeof buffer, &found) != 0 || found == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "there is no user \"%s\"", user);
    }
    request->uid = found->pw_uid;
    request->gid = found->pw_gid;
    return ARCP_OK;
}

/* Appends the path. The directory is one of our own, which no program may write. */
static arcp_status prepare_etc(arcp__hosting *hosting, const char *user, bool has_ca, arcp_buf *out,
                               arcp_error *err)
{
    const int64_t now_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    arcp__prepared_etc *etc = find_etc(hosting, user, has_ca);
    arcp_buf directory = arcp_buf_init();
    arcp__sandbox_etc request = {.home = ARCP__AGENT_HOME,
                                 .ca_link = has_ca ? ARCP__TLS_CA_LINK : NULL};
    if (etc == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = ARCP_OK;
    if (etc->path.size == 0 || now_ns - etc->looked_mono_ns > ETC_TRUSTED_NS) {
        status = arcp__sandbox_etc_directory(arcp__process_table_base(hosting->processes),
                                             &directory, err);
        request.directory = arcp_buf_cstr(&directory);
        if (status == ARCP_OK) {
            status = find_user(user, &request, err);
        }
        arcp_buf_clear(&etc->path);
        if (status == ARCP_OK) {
            status = arcp__sandbox_etc_prepare(&request, &etc->path, err);
            etc->looked_mono_ns = now_ns;
        }
    }
    if (status == ARCP_OK) {
        arcp_buf_append(out, arcp_buf_span(&etc->path));
        status = arcp_buf_cstr(out) == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                            : ARCP_OK;
    }
    arcp_buf_fini(&directory);
    return status;
}

void arcp__confinement_warm_etc(arcp__hosting *hosting, const char *user)
{
    arcp_buf path = arcp_buf_init();
    const arcp_status ignored = prepare_etc(hosting, user, false, &path, NULL);
    (void)ignored; /* a start tries again, and reports it */
    arcp_buf_fini(&path);
}

/* ---- the start ---- */

/* The authority that ends TLS for one start, valid as long as the lease, at most
 * ARCP__TLS_CA_DAYS_MAX days. */
static arcp_status make_ca(arcp__confined_start *start, const arcp_lease *lease, arcp_error *err)
{
    const arcp_status status =
        arcp__tls_ca_new(arcp__clock_ns(CLOCK_REALTIME) / ARCP_NS_PER_SEC,
                         arcp_lease_expires_wall_ns(lease) / ARCP_NS_PER_SEC, &start->ca, err);
    start->confinement.ca_certificate =
        start->ca == NULL ? NULL : arcp__tls_ca_certificate(start->ca);
    return status;
}

arcp_status arcp__confined_start_init(arcp__confined_start *start, arcp__hosting *hosting,
                                      const char *user, const arcp__job_plan *plan,
                                      const arcp_lease *lease, arcp_error *err)
{
    const bool has_ca = arcp__sandbox_terminates(plan->plan);
    *start = (arcp__confined_start){
        .confinement = {.plan = arcp_buf_span(&plan->text),
                        .has_processes = plan->plan->level == ARCP__SANDBOX_LEVEL_FULL,
                        .is_late = plan->plan->is_late,
                        .has_network = plan->plan->port_count != 0 || plan->plan->has_proxy,
                        .scratch = plan->scratch,
                        .limits = arcp__cgroup_limits_of(&plan->plan->limits)},
        .etc = arcp_buf_init()};
    arcp_status status = arcp__sandbox_make_own(plan->plan, err);
    if (status == ARCP_OK && arcp__sandbox_needs_etc(plan->plan)) {
        status = prepare_etc(hosting, user, has_ca, &start->etc, err);
        start->confinement.etc = start->etc.data;
    }
    return status == ARCP_OK && has_ca ? make_ca(start, lease, err) : status;
}

void arcp__confined_start_fini(arcp__confined_start *start)
{
    arcp_buf_fini(&start->etc);
    arcp__tls_ca_free(start->ca);
}

void arcp__confined_environment(const arcp__job_plan *plan, arcp__environment *environment)
{
    arcp__environment_set(environment, "HOME", plan->plan->home);
    arcp__environment_set(environment, "TMPDIR", plan->plan->tmp);
    if (plan->plan->port_count != 0) {
        arcp_buf proxy = arcp_buf_init();
        arcp_buf_append_format(&proxy, "http://127.0.0.1:%d", ARCP__EGRESS_PROXY_PORT);
        arcp__environment_set(environment, "ARCP_PROXY", arcp_buf_span(&proxy));
        environment->failed = environment->failed || proxy.failed;
        arcp_buf_fini(&proxy);
    }
    arcp__environment_set(environment, ARCP__SANDBOX_MARK, ARCP_SPAN_LITERAL("1"));
}

/* ---- its network ---- */

/* A pattern of a lease within the engine has no NUL behind it. */
static void allow(arcp_lease_builder *builder, arcp_span pattern)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append(&text, pattern);
    const char *copy = arcp_buf_cstr(&text);
    /* Without memory the pattern is one that no lease may have, and the build fails. */
    arcp_lease_allow(builder, "net.fetch", copy == NULL ? "" : copy);
    arcp_buf_fini(&text);
}

/* The lease of a network: what the job's lease grants there, and the pattern. */
static arcp_status add_pattern(const arcp_lease *lease, arcp_span pattern, arcp_lease **out,
                               arcp_error *err)
{
    arcp_lease_builder *builder = arcp_lease_builder_new();
    if (builder == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < arcp_lease_capability_count(lease); i++) {
        if (!arcp_span_equal_cstr(arcp_lease_capability_name(lease, i), "net.fetch")) {
            continue;
        }
        for (size_t j = 0; j < arcp_lease_pattern_count(lease, i); j++) {
            allow(builder, arcp_lease_pattern(lease, i, j));
        }
    }
    allow(builder, pattern);
    return arcp_lease_build(builder, out, err);
}

/* The authority of the job's network: the job's own, with the endpoint of its credential as if
 * net.fetch named it. Budget and deadline are those of the job. The caller unrefs *out. */
static arcp_status network_authority(const arcp_authority *own, const arcp__job_plan *plan,
                                     arcp_authority **out, arcp_error *err)
{
    const arcp_span pattern =
        plan == NULL ? arcp_span_make(NULL, 0) : arcp__sandbox_credential(plan->plan);
    if (pattern.size == 0) {
        *out = arcp_authority_ref(own);
        return ARCP_OK;
    }
    arcp_lease *lease = NULL;
    arcp_status status = add_pattern(arcp_authority_lease(own), pattern, &lease, err);
    if (status == ARCP_OK) {
        arcp_authority_options options = arcp_authority_options_init();
        options.budget = arcp_authority_budget(own);
        options.parent = own;
        status = arcp_authority_new(lease, &options, out, err);
    }
    arcp_lease_unref(lease);
    return status;
}

static void drop_sockets(const arcp__agent_network_options *options)
{
    for (size_t i = 0; i < options->socket_count; i++) {
        arcp__close(options->sockets[i]);
    }
    arcp__tls_ca_free(options->ca);
}

arcp_status arcp__confinement_serve_network(arcp__hosting *hosting,
                                            arcp__agent_network_options *options,
                                            arcp__agent_network_job **out, arcp_error *err)
{
    /* Without a confinement the options were reloaded after the job had begun. */
    const arcp__confinement *confinement = hosting->confinement;
    options->egress = (arcp__egress_options){
        .private_hosts = confinement == NULL ? NULL : confinement->private_hosts,
        .private_host_count = confinement == NULL ? 0 : confinement->private_host_count,
        .model_hosts = confinement == NULL ? NULL : confinement->model_hosts,
        .model_host_count = confinement == NULL ? 0 : confinement->model_host_count,
        .idle_ms = (uint32_t)(hosting->enforce.egress_idle_sec * 1000)};
    const arcp_status status = hosting->network == NULL
                                   ? arcp__agent_network_new(hosting->wake, &hosting->network, err)
                                   : ARCP_OK;
    if (status != ARCP_OK) {
        drop_sockets(options);
        return status;
    }
    return arcp__agent_network_open(hosting->network, options, out, err);
}

arcp_status arcp__confinement_open_network(arcp__hosting *hosting, const arcp_authority *own,
                                           const arcp__job_plan *plan,
                                           arcp__agent_network_options *options,
                                           arcp__agent_network_job **out, arcp_error *err)
{
    arcp_authority *authority = NULL;
    arcp_status status = network_authority(own, plan, &authority, err);
    if (status != ARCP_OK) {
        drop_sockets(options);
        return status;
    }
    options->authority = authority;
    status = arcp__confinement_serve_network(hosting, options, out, err);
    arcp_authority_unref(authority);
    return status;
}
