// The options of AddressSanitizer in each program of a build with sanitizers. Tests start programs
// with a minimal environment, so ASAN_OPTIONS would not reach them.
//
// Debian's libraries of LLVM and clang have no instrumentation. AddressSanitizer sees only our
// accesses to a container or memory pool that both share, so its checks of containers and of
// poisoned memory are off. The tool does not free what it needs until its end.
extern "C" const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0";
}
