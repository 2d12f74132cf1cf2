/* A program outside the tree that decides by a lease: what the install test builds, and a
 * first example of libarcp. Prints what the gate says of two reads. */
#include <stdio.h>

#include <arcp/gate.h>
#include <arcp/lease.h>

/* Asks for one target and prints the answer; whether it was allowed. */
static bool ask(const arcp_authority *authority, const char *path)
{
    arcp_time now = {0, 0};
    arcp_target_scratch scratch;
    arcp_decision decision;
    bool allowed = arcp_authorize(authority, now, arcp_span_cstr("fs.read"), arcp_span_cstr(path),
                                  &scratch, &decision);
    printf("%s: %s\n", path, allowed ? "allowed" : arcp_status_name(decision.code));
    return allowed;
}

int main(void)
{
    arcp_error err = {0};
    const arcp_lease_limits limits = arcp_lease_limits_init();
    arcp_lease *lease = NULL;
    if (arcp_lease_parse(arcp_span_cstr("{\"fs.read\":[\"/srv/**\"]}"), arcp_span_make(NULL, 0),
                         &limits, &lease, &err) != ARCP_OK) {
        fprintf(stderr, "lease: %s\n", err.message);
        return 1;
    }
    arcp_authority_options options = arcp_authority_options_init();
    arcp_authority *authority = NULL;
    int status = 1;
    if (arcp_authority_new(lease, &options, &authority, &err) == ARCP_OK) {
        /* The second one leaves /srv as soon as its dots are resolved. */
        bool inside = ask(authority, "/srv/data.txt");
        bool outside = ask(authority, "/srv/../etc/passwd");
        status = inside && !outside ? 0 : 1;
    }
    arcp_authority_unref(authority);
    arcp_lease_unref(lease);
    return status;
}
