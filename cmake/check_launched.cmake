# Fails if a call of the tool with TritonC_LAUNCHER did not finish, also if the launcher exits with
# 0. The build removes the stamp before the call, so the stamp is then missing. TritonCKernels.cmake
# calls this script.
#
#   cmake -D STAMP=<file> -P check_launched.cmake

if(NOT EXISTS "${STAMP}")
  message(FATAL_ERROR "TritonC_LAUNCHER says that all is well, but what it launched has not written ${STAMP}. "
    "If it may lose machines, put launch_again before it.")
endif()
