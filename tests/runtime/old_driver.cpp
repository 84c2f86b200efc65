// A driver from before CUDA 12: it says its version, and has no cuGetProcAddress_v2.

extern "C" int cuDriverGetVersion(int *version) {
  *version = 11080;
  return 0;
}

extern "C" int cuInit(unsigned) { __builtin_trap(); } // nobody has a reason to call it
