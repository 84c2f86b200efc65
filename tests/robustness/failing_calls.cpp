// A library for LD_PRELOAD that lets the n-th system call of one kind fail in the tool. Used by
// faults_test.cpp.
//
// TRITONC_FAULT=<kind>:<n>:<how> selects the call and the failure:
//   - `write:3:28`: the third write fails with errno 28;
//   - `write:3:short`: the third write writes only half of its bytes;
//   - `write:3:kill`: SIGKILL ends the tool before the third write;
//   - `write:0:28`: each write fails with errno 28.
//
// The kinds are:
//   - open: also mkdir, mkdtemp and mkostemp;
//   - mkdtemp: only mkdtemp;
//   - write, fsync, rename;
//   - access, statvfs;
//   - exec: clone, which starts a child process.
//
// The library appends the path of the failed call to the file that TRITONC_FAULT_REPORT names. The
// report is empty if the tool makes fewer calls.
//
// The library counts only calls of the tool: child processes do not get LD_PRELOAD.

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

template <typename Function> Function *original(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

struct Fault {
  std::string kind;
  int number = 0, error = 0;
  bool is_short = false, is_deadly = false;
};

Fault read_fault() {
  Fault fault;
  const char *text = std::getenv("TRITONC_FAULT");
  char kind[16], how[16];
  if (!text || std::sscanf(text, "%15[a-z]:%d:%15s", kind, &fault.number, how) != 3)
    return fault;
  fault.kind = kind;
  fault.is_short = std::strcmp(how, "short") == 0;
  fault.is_deadly = std::strcmp(how, "kill") == 0;
  fault.error = std::atoi(how);
  return fault;
}

const Fault &fault() {
  static const Fault fault = read_fault();
  return fault;
}

std::atomic<int> calls = 0;

void report(const char *path) {
  const char *file = std::getenv("TRITONC_FAULT_REPORT");
  int fd = int(syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND, 0666));
  std::string line = std::string(path) + "\n";
  syscall(SYS_write, fd, line.data(), line.size());
  syscall(SYS_close, fd);
}

// Whether this call is the selected call. Counts the calls of the kind.
bool is_hit(const char *kind, const char *path) {
  if (fault().kind != kind || (++calls != fault().number && fault().number != 0))
    return false;
  report(path);
  if (fault().is_deadly)
    kill(getpid(), SIGKILL);
  return true;
}

bool fails(const char *kind, const char *path) {
  if (!is_hit(kind, path))
    return false;
  errno = fault().error;
  return true;
}

std::string path_of(int fd) {
  char path[4096];
  std::string link = "/proc/self/fd/" + std::to_string(fd);
  ssize_t length = readlink(link.c_str(), path, sizeof path);
  return std::string(path, length > 0 ? size_t(length) : 0);
}

} // namespace

extern "C" {

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  if (fails("open", path))
    return -1;
  return int(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return open64(path, flags, mode);
}

FILE *fopen64(const char *path, const char *mode) {
  static auto *next = original<FILE *(const char *, const char *)>("fopen64");
  return fails("open", path) ? nullptr : next(path, mode);
}

FILE *fopen(const char *path, const char *mode) { return fopen64(path, mode); }

char *mkdtemp(char *path) {
  static auto *next = original<char *(char *)>("mkdtemp");
  return fails("open", path) || fails("mkdtemp", path) ? nullptr : next(path);
}

int mkostemp(char *path, int flags) {
  static auto *next = original<int(char *, int)>("mkostemp");
  return fails("open", path) ? -1 : next(path, flags);
}

int mkdir(const char *path, mode_t mode) {
  return fails("open", path) ? -1 : int(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

ssize_t write(int fd, const void *bytes, size_t count) {
  if (fault().kind == "write" && is_hit("write", path_of(fd).c_str())) {
    if (!fault().is_short) {
      errno = fault().error;
      return -1;
    }
    count = (count + 1) / 2;
  }
  return syscall(SYS_write, fd, bytes, count);
}

ssize_t writev(int fd, const iovec *parts, int count) {
  if (fault().kind == "write" && is_hit("write", path_of(fd).c_str())) {
    if (!fault().is_short) {
      errno = fault().error;
      return -1;
    }
    return syscall(SYS_write, fd, parts[0].iov_base, (parts[0].iov_len + 1) / 2);
  }
  return syscall(SYS_writev, fd, parts, count);
}

int fsync(int fd) {
  if (fault().kind == "fsync" && fails("fsync", path_of(fd).c_str()))
    return -1;
  return int(syscall(SYS_fsync, fd));
}

int rename(const char *from, const char *to) {
  return fails("rename", to) ? -1 : int(syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

int access(const char *path, int mode) noexcept {
  return fails("access", path) ? -1 : int(syscall(SYS_faccessat, AT_FDCWD, path, mode));
}

int statvfs(const char *path, struct statvfs *status) noexcept {
  static auto *next = original<int(const char *, struct statvfs *)>("statvfs");
  return fails("statvfs", path) ? -1 : next(path, status);
}

int clone(int (*function)(void *), void *stack, int flags, void *argument, ...) noexcept {
  using Clone = int(int (*)(void *), void *, int, void *, ...);
  static auto *next = original<Clone>("clone");
  return fails("exec", "clone") ? -1 : next(function, stack, flags, argument);
}

} // extern "C"
