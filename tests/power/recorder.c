/* Records what a process asks the system to do to the files below one directory.

   Loaded with LD_PRELOAD. POWER_ROOT is the directory, without symbolic links; POWER_LOG the log,
   outside of it. Processes share the log: a POSIX lock on it is held from before each operation
   until its entry is written, so that entries stand in the order in which the operations happened.
   A sync has two entries, one before it and one after: what was written between them may or may
   not have reached the disk.

   Memory maps are not seen; of SQLite's files only -shm is mapped, whose content means nothing
   after a restart. Other calls that are not seen here are found out by the tests, which compare
   the replayed log with the real files. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int log_fd = -1;
static char root[PATH_MAX];
static size_t root_length;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
    const char *place = getenv("POWER_ROOT"), *log = getenv("POWER_LOG");
    if (!place || !log) return;
    snprintf(root, sizeof root, "%s", place);
    root_length = strlen(root);
    int fd = REAL(open)(log, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 500); /* out of the way of numbers that programs expect */
    /* fd stays open: closing it would drop the locks of this process on the log */
}

static void lock(void) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    pthread_mutex_lock(&mutex);
    while (fcntl(log_fd, F_SETLKW, &whole) != 0) {}
}

static void unlock(void) {
    struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(log_fd, F_SETLK, &whole);
    pthread_mutex_unlock(&mutex);
}

struct entry {
    char kind, pad[3];
    uint32_t path_bytes;
    uint64_t inode;
    int64_t at, bytes;
};

static void put(char kind, uint64_t inode, int64_t at, const char *path, const void *data,
                size_t bytes) {
    size_t path_bytes = path ? strlen(path) : 0, size = sizeof(struct entry) + path_bytes + bytes;
    char *whole = malloc(size);
    struct entry entry = {kind, "", path_bytes, inode, at, bytes};
    memcpy(whole, &entry, sizeof entry);
    if (path_bytes) memcpy(whole + sizeof entry, path, path_bytes);
    if (bytes) memcpy(whole + sizeof entry + path_bytes, data, bytes);
    if (REAL(write)(log_fd, whole, size) != (ssize_t)size) abort();
    free(whole);
}

/* What stands behind the root in a path; NULL if the path leads elsewhere. */
static const char *below(const char *path) {
    if (log_fd < 0 || strncmp(path, root, root_length)) return NULL;
    if (path[root_length] == 0) return path + root_length;
    return path[root_length] == '/' ? path + root_length + 1 : NULL;
}

static int watched(int fd, char *path) {
    char link[40];
    if (log_fd < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path) != NULL;
}

static uint64_t inode_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

static int opened(int (*call)(const char *, int, ...), const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    if (log_fd < 0 || !(flags & (O_CREAT | O_TRUNC)) || (flags & O_TMPFILE) == O_TMPFILE)
        return call(path, flags, mode);
    lock();
    int fd = call(path, flags, mode);
    if (fd >= 0 && watched(fd, full))
        put('o', inode_of(fd), (flags & O_TRUNC) != 0, below(full), NULL, 0);
    unlock();
    return fd;
}

static mode_t mode_of(int flags, va_list rest) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name)                                      \
    int name(const char *path, int flags, ...) {        \
        va_list rest;                                   \
        va_start(rest, flags);                          \
        mode_t mode = mode_of(flags, rest);             \
        va_end(rest);                                   \
        return opened(REAL(name), path, flags, mode);   \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                     \
    int name(int place, const char *path, int flags, ...) {              \
        va_list rest;                                                    \
        va_start(rest, flags);                                           \
        mode_t mode = mode_of(flags, rest);                              \
        va_end(rest);                                                    \
        if (place == AT_FDCWD || path[0] == '/')                         \
            return opened(REAL(open), path, flags, mode);                \
        return REAL(name)(place, path, flags, mode);                     \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t bytes) {
    char path[PATH_MAX];
    if (!watched(fd, path)) return REAL(write)(fd, data, bytes);
    lock();
    ssize_t done = REAL(write)(fd, data, bytes);
    if (done > 0) put('w', inode_of(fd), lseek(fd, 0, SEEK_CUR) - done, NULL, data, done);
    unlock();
    return done;
}

#define PWRITE(name)                                                  \
    ssize_t name(int fd, const void *data, size_t bytes, off_t at) {  \
        char path[PATH_MAX];                                          \
        if (!watched(fd, path)) return REAL(name)(fd, data, bytes, at); \
        lock();                                                       \
        ssize_t done = REAL(name)(fd, data, bytes, at);               \
        if (done > 0) put('w', inode_of(fd), at, NULL, data, done);   \
        unlock();                                                     \
        return done;                                                  \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define FTRUNCATE(name)                                         \
    int name(int fd, off_t size) {                              \
        char path[PATH_MAX];                                    \
        if (!watched(fd, path)) return REAL(name)(fd, size);    \
        lock();                                                 \
        int failed = REAL(name)(fd, size);                      \
        if (!failed) put('t', inode_of(fd), size, NULL, NULL, 0); \
        unlock();                                               \
        return failed;                                          \
    }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

#define SYNC(name)                                    \
    int name(int fd) {                                \
        char path[PATH_MAX];                          \
        if (!watched(fd, path)) return REAL(name)(fd); \
        uint64_t inode = inode_of(fd);                \
        lock();                                       \
        int64_t mark = lseek(log_fd, 0, SEEK_END);    \
        put('s', inode, mark, NULL, NULL, 0);         \
        unlock();                                     \
        int failed = REAL(name)(fd);                  \
        lock();                                       \
        if (!failed) put('S', inode, mark, NULL, NULL, 0); \
        unlock();                                     \
        return failed;                                \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
    if (log_fd < 0 || !below(path)) return REAL(unlink)(path);
    lock();
    int failed = REAL(unlink)(path);
    if (!failed) put('u', 0, 0, below(path), NULL, 0);
    unlock();
    return failed;
}

int rename(const char *from, const char *to) {
    if (log_fd < 0 || !below(from) || !below(to)) return REAL(rename)(from, to);
    lock();
    int failed = REAL(rename)(from, to);
    if (!failed) put('r', 0, 0, below(from), below(to), strlen(below(to)));
    unlock();
    return failed;
}

int mkdir(const char *path, mode_t mode) {
    struct stat made;
    if (log_fd < 0 || !below(path)) return REAL(mkdir)(path, mode);
    lock();
    int failed = REAL(mkdir)(path, mode);
    if (!failed && !stat(path, &made)) put('m', made.st_ino, 0, below(path), NULL, 0);
    unlock();
    return failed;
}

/* What the program itself has to say, at its place among the operations. */
void power_note(const char *text) {
    lock();
    put('n', 0, 0, NULL, text, strlen(text));
    unlock();
}
