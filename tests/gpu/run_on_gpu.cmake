# Builds TARGET in BUILD and runs PROGRAM. Without a GPU, it does neither and prints [SKIP].
#
#   cmake -D BUILD=<folder> -D TARGET=<target> -D PROGRAM=<file> [-D ARGUMENTS=<argument>...]
#     -P run_on_gpu.cmake

if(NOT EXISTS /dev/nvidiactl)
  message("[SKIP] no GPU here")
  return()
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" --target "${TARGET}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS} RESULT_VARIABLE result)
if(result EQUAL 77)
  message("[SKIP] no GPU here")
elseif(NOT result EQUAL 0)
  message(FATAL_ERROR "${TARGET} failed")
endif()
