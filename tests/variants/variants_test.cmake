# Builds the 288 variants for six GPUs and reads the report: each one is there, none spills, and all fit the shared
# memory of their GPU.
#
#   cmake -D BUILD=<folder> -D REPORT=<file> -P variants_test.cmake

execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" --target every_matmul COMMAND_ERROR_IS_FATAL ANY)

function(check_gpu gpu shared_limit)
  file(STRINGS "${REPORT}" rows REGEX " sm_${gpu} ")
  list(LENGTH rows count)
  if(NOT count EQUAL 288)
    message(FATAL_ERROR "${count} variants for sm_${gpu}, not 288")
  endif()
  foreach(row IN LISTS rows)
    #       gpu       threads  registers  shared   spilled  cubin embedded
    if(NOT row MATCHES "sm_[0-9a-z]+ +([0-9]+) +([0-9]+) +([0-9]+) +([0-9]+) +[0-9]+ +[0-9]+$")
      message(FATAL_ERROR "cannot read the row: ${row}")
    endif()
    if(CMAKE_MATCH_3 GREATER shared_limit)
      message(FATAL_ERROR "more shared memory than sm_${gpu} has: ${row}")
    endif()
    if(CMAKE_MATCH_4 GREATER 0)
      message(FATAL_ERROR "spills: ${row}")
    endif()
  endforeach()
endfunction()

check_gpu(75 65536)
check_gpu(80 166912)
check_gpu(86 101376)
check_gpu(89 101376)
check_gpu(90a 232448)
check_gpu(100 232448)
message("1728 variants, no spills")
