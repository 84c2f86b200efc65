# Fails if a call of the tool with TritonC_LAUNCHER did not finish, even if the launcher exits with
# 0. The build removes the stamp before the call. If the call does not finish, the stamp is missing.
# TritonCKernels.cmake calls this script.
#
#   cmake -D STAMP=<file> -P check_launched.cmake

if(NOT EXISTS "${STAMP}")
  message(FATAL_ERROR "TritonC_LAUNCHER exited with 0, but its command did not write ${STAMP}; "
    "if the launcher can lose machines, put launch_again before it")
endif()
