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

arcp_status arcp__module_open(const char *name, const char *symbol, const char *key, void **module,
                              void *function, arcp_error *err)
{
    static const char *const places[] = {"../lib/arcp", "../modules"};
    char self[3072];
    char directory[3200];
    char path[4096];
    char unsafe[sizeof directory] = "";
    void *loaded = NULL;
    const ssize_t self_size = readlink("/proc/self/exe", self, sizeof self - 1);
    self[self_size > 0 ? self_size : 0] = '\0';
    const char *slash = strrchr(self, '/');
    /* Where it was installed beside the program, or in a build tree. What a directory has that
     * others may write to would run with our rights: it is passed over. */
    for (size_t i = 0; slash != NULL && i < 2 && loaded == NULL; i++) {
        (void)snprintf(directory, sizeof directory, "%.*s/%s", (int)(slash - self), self,
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
        memcpy(function, &found, sizeof found); /* ISO C has no cast for this */
        return ARCP_OK;
    }
    const char *why = dlerror();
    const arcp_status status =
        unsafe[0] != '\0'
            ? arcp_error_set(err, ARCP_E_USAGE,
                             "%s: its module is not loaded from %s, which others may write to", key,
                             unsafe)
            : arcp_error_set(err, ARCP_E_USAGE, "%s: its module cannot be loaded: %s", key,
                             why == NULL ? name : why);
    arcp__module_close(loaded);
    return status;
}

void arcp__module_close(void *module)
{
    if (module != NULL) {
        (void)dlclose(module);
    }
}
