#include "setup/setup.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef ARCP_MODULE_DIRECTORY
#define ARCP_MODULE_DIRECTORY "/usr/lib/arcp"
#endif

bool arcp__module_directory_is_safe(const char *path)
{
    struct stat about;
    struct stat program;
    if (stat(path, &about) != 0 || (about.st_mode & S_IWOTH) != 0) {
        return false;
    }
    return about.st_uid == 0 || about.st_uid == geteuid() ||
           (stat("/proc/self/exe", &program) == 0 && about.st_uid == program.st_uid);
}

arcp_status arcp__module_open(const char *name, const char *symbol, const char *key, void **module,
                              void *function, arcp_error *err)
{
    static const char *const places[] = {"../lib/arcp", "../modules"};
    char program[3072];
    char directory[3200];
    char path[4096];
    char unsafe[sizeof directory] = "";
    void *loaded = NULL;
    const ssize_t program_size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[program_size > 0 ? program_size : 0] = '\0';
    const char *slash = strrchr(program, '/');
    /* Relative to the program: an installation, then a build tree. A directory that others can
     * write to is skipped, because a module runs with this program's rights. */
    for (size_t i = 0; slash != NULL && i < 2 && loaded == NULL; i++) {
        (void)snprintf(directory, sizeof directory, "%.*s/%s", (int)(slash - program), program,
                       places[i]);
        (void)snprintf(path, sizeof path, "%s/%s.so", directory, name);
        if (access(path, R_OK) == 0 && !arcp__module_directory_is_safe(directory)) {
            (void)snprintf(unsafe, sizeof unsafe, "%s", directory);
        } else if (access(path, R_OK) == 0) {
            loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    }
    if (loaded == NULL) {
        (void)snprintf(path, sizeof path, ARCP_MODULE_DIRECTORY "/%s.so", name);
        loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    void *found = loaded == NULL ? NULL : dlsym(loaded, symbol);
    if (found != NULL) {
        *module = loaded;
        memcpy(function, &found, sizeof found); /* ISO C has no cast to a function pointer */
        return ARCP_OK;
    }
    const char *why = dlerror();
    const arcp_status status =
        unsafe[0] != '\0'
            ? arcp_error_set(err, ARCP_E_USAGE,
                             "%s: the module %s.so is not loaded from %s, because other users can "
                             "write to that directory",
                             key, name, unsafe)
            : arcp_error_set(err, ARCP_E_USAGE, "%s: the module %s.so cannot be loaded: %s", key,
                             name, why == NULL ? "unknown reason" : why);
    arcp__module_close(loaded);
    return status;
}

void arcp__module_close(void *module)
{
    if (module != NULL) {
        (void)dlclose(module);
    }
}
