// A fake driver from before CUDA 12: it returns its version and has no cuGetProcAddress_v2.

extern "C" {

int old_driver_version = 11080; // a test may set another

int cuDriverGetVersion(int *version) {
  *version = old_driver_version;
  return 0;
}

int cuInit(unsigned) { __builtin_trap(); } // the runtime must not call it

} // extern "C"
