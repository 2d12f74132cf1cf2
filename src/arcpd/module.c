#include "arcpd/arcpd.h"

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

/* Beside the program in a build tree, else where it was installed. What a directory has that others
 * may write to would run with our rights: it is passed over, and kept in *unsafe. */
static void *load(const char *name, char *unsafe, size_t size)
{
    static const char *const places[] = {"../lib/arcp", "../modules"};
    char self[3072];
    char directory[3200];
    char path[4096];
    void *module = NULL;
    ssize_t self_size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[self_size > 0 ? self_size : 0] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t at = 0; slash != NULL && at < 2 && module == NULL; at++) {
        (void)snprintf(directory, sizeof(directory), "%.*s/%s", (int)(slash - self), self,
                       places[at]);
        (void)snprintf(path, sizeof(path), "%s/%s.so", directory, name);
        if (access(path, R_OK) != 0) {
            continue;
        }
        if (arcp__module_directory_is_safe(directory)) {
            module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        } else {
            (void)snprintf(unsafe, size, "%s", directory);
        }
    }
    if (module == NULL) {
        (void)snprintf(path, sizeof(path), ARCP_MODULE_DIRECTORY "/%s.so", name);
        module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return module;
}

arcp_status arcp__module_open(const char *name, const char *symbol, const char *key, void **module,
                              void *function, arcp_error *err)
{
    char unsafe[3200] = "";
    void *loaded = load(name, unsafe, sizeof(unsafe));
    void *found = loaded == NULL ? NULL : dlsym(loaded, symbol);
    if (found == NULL) {
        const char *why = dlerror();
        const arcp_status status =
            unsafe[0] != '\0'
                ? arcp_error_set(err, ARCP_E_USAGE,
                                 "%s: its module is not loaded from %s, which others may write to",
                                 key, unsafe)
                : arcp_error_set(err, ARCP_E_USAGE, "%s: its module cannot be loaded: %s", key,
                                 why == NULL ? name : why);
        arcp__module_close(loaded);
        return status;
    }
    *module = loaded;
    memcpy(function, &found, sizeof found); /* ISO C has no cast for this */
    return ARCP_OK;
}

void arcp__module_close(void *module)
{
    if (module != NULL) {
        (void)dlclose(module);
    }
}
