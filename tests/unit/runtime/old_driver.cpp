// A fake driver from before CUDA 12: it returns its version and has no cuGetProcAddress_v2.

extern "C" int cuDriverGetVersion(int *version) {
  *version = 11080;
  return 0;
}

extern "C" int cuInit(unsigned) { __builtin_trap(); } // the runtime must not call it
