#include "arcp_worker/arguments.h"

#include <getopt.h>
#include <stdio.h>

#include "worker/worker_place.h"

static const char help[] =
    "arcp-worker - run the programs of jobs for arcpd, also while arcpd is away\n"
    "\n"
    "usage: arcp-worker --local STATE [--store ID] [--work DIRECTORY]\n"
    "       arcp-worker --config FILE\n"
    "\n"
    "  --local STATE       connect to the arcpd with the state directory STATE\n"
    "  --store ID          only to the one with this store (default: the first that is found)\n"
    "  --work DIRECTORY    make the directories of jobs in DIRECTORY (default: STATE/work)\n"
    "  --config FILE       connect to an arcpd of another machine, as FILE (worker.yaml) says\n"
    "  -V, --version       print the version and exit\n"
    "  -h, --help          print this summary and exit\n"
    "\n"
    "With --local arcpd or a supervisor starts it. SIGTERM ends it: running jobs get\n"
    "shutdown.grace_sec. SIGHUP has it read FILE again. See arcp-worker(8), arcpd.yaml(5).\n";

arcp_status arcp__worker_arguments_read(int argc, char **argv, arcp__worker_arguments *out,
                                        arcp_error *err)
{
    static const struct option options[] = {{"local", required_argument, NULL, 'l'},
                                            {"store", required_argument, NULL, 's'},
                                            {"work", required_argument, NULL, 'w'},
                                            {"config", required_argument, NULL, 'c'},
                                            {"version", no_argument, NULL, 'V'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *work = NULL;
    out->place.lock = out->place.jobs = -1;
    opterr = 0;
    for (int option = getopt_long(argc, argv, "Vh", options, NULL); option != -1;
         option = getopt_long(argc, argv, "Vh", options, NULL)) {
        switch (option) {
        case 'l':
            out->place.state = optarg;
            break;
        case 's':
            if (!arcp__worker_is_store(optarg)) {
                return arcp_error_set(err, ARCP_E_USAGE, "--store: \"%.100s\" is not a store's id",
                                      optarg);
            }
            (void)snprintf(out->place.store, sizeof out->place.store, "%s", optarg);
            break;
        case 'w':
            work = optarg;
            break;
        case 'c':
            out->config = optarg;
            break;
        case 'V':
            out->text = "arcp-worker " ARCP_VERSION_STRING "\n";
            return ARCP_OK;
        case 'h':
            out->text = help;
            return ARCP_OK;
        default:
            return arcp_error_set(err, ARCP_E_USAGE, "unknown option or missing value: %.200s",
                                  argv[optind - 1]);
        }
    }
    if (optind != argc) {
        return arcp_error_set(err, ARCP_E_USAGE, "unexpected argument: %.200s", argv[optind]);
    }
    if (out->config != NULL) {
        return out->place.state == NULL && out->place.store[0] == '\0' && work == NULL
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_USAGE, "--config has no other option beside it");
    }
    if (out->place.state == NULL || out->place.state[0] != '/') {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "expected --config, or --local with the absolute path of a state "
                              "directory");
    }
    if (work != NULL && work[0] != '/') {
        return arcp_error_set(err, ARCP_E_USAGE, "--work: \"%.200s\" is not an absolute path",
                              work);
    }
    const int size = snprintf(out->place.work, sizeof out->place.work, "%s%s",
                              work == NULL ? out->place.state : work, work == NULL ? "/work" : "");
    return size > 0 && (size_t)size < sizeof out->place.work
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "the path of the work directory is too long");
}
