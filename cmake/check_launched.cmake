# Fails if a call of the tool by TritonC_LAUNCHER did not come to its end, whatever the launcher says: the stamp, which was
# removed before, is missing then. TritonCKernels.cmake calls this.
#
#   cmake -D STAMP=<file> -P check_launched.cmake

if(NOT EXISTS "${STAMP}")
  message(FATAL_ERROR "TritonC_LAUNCHER says that all is well, but what it launched has not written ${STAMP}. "
    "If it may lose machines, put launch_again before it.")
endif()
