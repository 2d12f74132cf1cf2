#include "arcpd/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef ARCP_MODULE_DIRECTORY
#define ARCP_MODULE_DIRECTORY "/usr/lib/arcp"
#endif

/* Beside the program in a build tree, else where it was installed. */
static void *load(const char *name)
{
    char path[4096];
    char self[3072];
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    void *module = NULL;
    if (size > 0) {
        self[size] = '\0';
        char *slash = strrchr(self, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        static const char *const places[] = {"../lib/arcp", "../modules"};
        for (size_t at = 0; at < 2 && module == NULL; at++) {
            (void)snprintf(path, sizeof(path), "%s/%s/%s.so", self, places[at], name);
            if (access(path, R_OK) == 0) {
                module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            }
        }
    }
    if (module == NULL) {
        (void)snprintf(path, sizeof(path), ARCP_MODULE_DIRECTORY "/%s.so", name);
        module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return module;
}

arcp_status arcp__module_open(const char *name, const char *symbol, const char *key, void **module,
                              void **function, arcp_error *err)
{
    void *loaded = load(name);
    void *found = loaded == NULL ? NULL : dlsym(loaded, symbol);
    if (found == NULL) {
        const char *why = dlerror();
        arcp_status status =
            arcp_error_set(err, ARCP_E_USAGE, "%s: its module cannot be loaded: %s", key,
                           why == NULL ? name : why);
        arcp__module_close(loaded);
        return status;
    }
    *module = loaded;
    *function = found;
    return ARCP_OK;
}

void arcp__module_close(void *module)
{
    if (module != NULL) {
        (void)dlclose(module);
    }
}
