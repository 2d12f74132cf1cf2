#include "store/fault_vfs.h"

#include <pthread.h>
#include <sqlite3.h>

#include "support/check.h"

typedef struct fault_handle {
    sqlite3_file base;
    sqlite3_file *real; /* after this struct */
    fault_file file;
} fault_handle;

static struct {
    pthread_mutex_t mutex;
    fault_file file;
    fault_kind kind;
    int after;
    int count;
    int failed;
    bool log_is_dirty;
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    sqlite3_mem_methods real_memory;
} faults = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void fault_vfs_arm(fault_file file, fault_kind kind, int after, int count)
{
    pthread_mutex_lock(&faults.mutex);
    faults.file = file;
    faults.kind = kind;
    faults.after = after;
    faults.count = count;
    faults.failed = 0;
    pthread_mutex_unlock(&faults.mutex);
}

int fault_vfs_heal(void)
{
    pthread_mutex_lock(&faults.mutex);
    const int failed = faults.failed;
    faults.count = 0;
    pthread_mutex_unlock(&faults.mutex);
    return failed;
}

bool fault_vfs_log_is_dirty(void)
{
    pthread_mutex_lock(&faults.mutex);
    const bool is_dirty = faults.log_is_dirty;
    pthread_mutex_unlock(&faults.mutex);
    return is_dirty;
}

static bool must_fail(fault_file file, fault_kind kind)
{
    bool fails = false;
    pthread_mutex_lock(&faults.mutex);
    if (faults.count > 0 && faults.kind == kind &&
        (faults.file == FAULT_ANY_FILE || faults.file == file)) {
        if (faults.after > 0) {
            faults.after--;
        } else {
            faults.count--;
            faults.failed++;
            fails = true;
        }
    }
    pthread_mutex_unlock(&faults.mutex);
    return fails;
}

static void note_log(fault_file file, bool is_dirty)
{
    if (file == FAULT_LOG) {
        pthread_mutex_lock(&faults.mutex);
        faults.log_is_dirty = is_dirty;
        pthread_mutex_unlock(&faults.mutex);
    }
}

/* ---- files ---- */

static fault_handle *handle_of(sqlite3_file *file)
{
    return (fault_handle *)file;
}

#define REAL(file) (handle_of(file)->real)

static int on_close(sqlite3_file *file)
{
    return REAL(file)->pMethods->xClose(REAL(file));
}

static int on_read(sqlite3_file *file, void *out, int size, sqlite3_int64 offset)
{
    if (must_fail(handle_of(file)->file, FAULT_READ)) {
        return SQLITE_IOERR_READ;
    }
    return REAL(file)->pMethods->xRead(REAL(file), out, size, offset);
}

static int on_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset)
{
    const fault_file which = handle_of(file)->file;
    if (must_fail(which, FAULT_WRITE_FULL)) {
        /* A full disk takes what still fits. */
        (void)REAL(file)->pMethods->xWrite(REAL(file), data, size / 2, offset);
        return SQLITE_FULL;
    }
    if (must_fail(which, FAULT_WRITE)) {
        return SQLITE_IOERR_WRITE;
    }
    note_log(which, true);
    return REAL(file)->pMethods->xWrite(REAL(file), data, size, offset);
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (must_fail(handle_of(file)->file, FAULT_WRITE)) {
        return SQLITE_IOERR_TRUNCATE;
    }
    return REAL(file)->pMethods->xTruncate(REAL(file), size);
}

static int on_sync(sqlite3_file *file, int flags)
{
    if (must_fail(handle_of(file)->file, FAULT_SYNC)) {
        return SQLITE_IOERR_FSYNC;
    }
    note_log(handle_of(file)->file, false);
    return REAL(file)->pMethods->xSync(REAL(file), flags);
}

static int on_file_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return REAL(file)->pMethods->xFileSize(REAL(file), out);
}

static int on_lock(sqlite3_file *file, int level)
{
    return REAL(file)->pMethods->xLock(REAL(file), level);
}

static int on_unlock(sqlite3_file *file, int level)
{
    return REAL(file)->pMethods->xUnlock(REAL(file), level);
}

static int on_check_lock(sqlite3_file *file, int *out)
{
    return REAL(file)->pMethods->xCheckReservedLock(REAL(file), out);
}

static int on_control(sqlite3_file *file, int op, void *arg)
{
    return REAL(file)->pMethods->xFileControl(REAL(file), op, arg);
}

static int on_sector_size(sqlite3_file *file)
{
    return REAL(file)->pMethods->xSectorSize(REAL(file));
}

static int on_characteristics(sqlite3_file *file)
{
    return REAL(file)->pMethods->xDeviceCharacteristics(REAL(file));
}

static int on_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return REAL(file)->pMethods->xShmMap(REAL(file), page, size, extend, out);
}

static int on_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return REAL(file)->pMethods->xShmLock(REAL(file), offset, count, flags);
}

static void on_shm_barrier(sqlite3_file *file)
{
    REAL(file)->pMethods->xShmBarrier(REAL(file));
}

static int on_shm_unmap(sqlite3_file *file, int delete_flag)
{
    return REAL(file)->pMethods->xShmUnmap(REAL(file), delete_flag);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_file_size,
    .xLock = on_lock,
    .xUnlock = on_unlock,
    .xCheckReservedLock = on_check_lock,
    .xFileControl = on_control,
    .xSectorSize = on_sector_size,
    .xDeviceCharacteristics = on_characteristics,
    .xShmMap = on_shm_map,
    .xShmLock = on_shm_lock,
    .xShmBarrier = on_shm_barrier,
    .xShmUnmap = on_shm_unmap,
};

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    fault_handle *handle = handle_of(file);
    handle->real = (sqlite3_file *)(handle + 1);
    handle->file = (flags & SQLITE_OPEN_WAL) != 0 ? FAULT_LOG : FAULT_DATABASE;
    const int code = faults.real->xOpen(faults.real, name, handle->real, flags, out);
    handle->base.pMethods = handle->real->pMethods == NULL ? NULL : &methods;
    return code;
}

/* ---- memory ---- */

static void *on_malloc(int size)
{
    return must_fail(FAULT_ANY_FILE, FAULT_MEMORY) ? NULL : faults.real_memory.xMalloc(size);
}

static void *on_realloc(void *memory, int size)
{
    return must_fail(FAULT_ANY_FILE, FAULT_MEMORY) ? NULL
                                                   : faults.real_memory.xRealloc(memory, size);
}

void fault_vfs_install(void)
{
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &faults.real_memory), SQLITE_OK);
    sqlite3_mem_methods memory = faults.real_memory;
    memory.xMalloc = on_malloc;
    memory.xRealloc = on_realloc;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &memory), SQLITE_OK);
    faults.real = sqlite3_vfs_find(NULL);
    assert_non_null(faults.real);
    faults.vfs = *faults.real;
    faults.vfs.zName = "arcp-fault";
    faults.vfs.szOsFile = (int)sizeof(fault_handle) + faults.real->szOsFile;
    faults.vfs.xOpen = on_open;
    faults.vfs.pNext = NULL;
    assert_int_equal(sqlite3_vfs_register(&faults.vfs, 1), SQLITE_OK);
}
