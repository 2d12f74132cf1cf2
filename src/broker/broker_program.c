/* The interpreter of a program: the kernel opens it without a call that the broker sees. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "broker/broker_task.h"

enum { LINE_BYTES = 256 /* of a first line, as in the kernel */, HEADERS_MAX = 64 };

/* The path behind "#!". */
static bool read_line(const char *line, size_t size, char *out, size_t room)
{
    size_t begin = 2;
    while (begin < size && (line[begin] == ' ' || line[begin] == '\t')) {
        begin++;
    }
    size_t end = begin;
    while (end < size && strchr(" \t\n", line[end]) == NULL) { /* a NUL ends it, too */
        end++;
    }
    if (end == begin || end - begin >= room || line[begin] != '/') {
        return false;
    }
    memcpy(out, line + begin, end - begin);
    out[end - begin] = '\0';
    return true;
}

/* The path of the segment PT_INTERP. */
static bool read_elf(int fd, const Elf64_Ehdr *header, char *out, size_t room)
{
    for (size_t i = 0; i < header->e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr segment;
        const off_t at = (off_t)(header->e_phoff + i * sizeof segment);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment) {
            return false;
        }
        if (segment.p_type == PT_INTERP) {
            const size_t size = segment.p_filesz;
            return size > 1 && size < room &&
                   pread(fd, out, size, (off_t)segment.p_offset) == (ssize_t)size &&
                   out[size - 1] == '\0' && out[0] == '/';
        }
    }
    return false;
}

bool arcp__broker_interpreter(int program, char *out, size_t room)
{
    char name[64];
    union {
        char bytes[LINE_BYTES];
        Elf64_Ehdr elf;
    } begin = {.bytes = {0}};
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", program);
    const int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return false; /* it can be executed, but not read */
    }
    const ssize_t got = pread(fd, &begin, sizeof begin, 0);
    bool is_found = false;
    if (got > 2 && memcmp(begin.bytes, "#!", 2) == 0) {
        is_found = read_line(begin.bytes, (size_t)got, out, room);
    } else if (got >= (ssize_t)sizeof begin.elf &&
               memcmp(begin.elf.e_ident, ELFMAG, SELFMAG) == 0 &&
               begin.elf.e_ident[EI_CLASS] == ELFCLASS64 &&
               begin.elf.e_phentsize == sizeof(Elf64_Phdr)) {
        is_found = read_elf(fd, &begin.elf, out, room);
    }
    (void)close(fd);
    return is_found;
}
