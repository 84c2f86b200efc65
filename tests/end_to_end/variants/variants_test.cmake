# Builds the 288 variants for six GPUs and checks the report for each GPU:
#
#     - every variant has a baseline image
#     - there are at least `min_schedules` images with other schedules
#     - no image spills, and each image fits the shared memory of the GPU
#
#   cmake -D BUILD=<folder> -D REPORT=<file> -P variants_test.cmake

execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" --target every_matmul COMMAND_ERROR_IS_FATAL ANY)

function(check_gpu gpu shared_limit min_schedules)
  file(STRINGS "${REPORT}" rows REGEX " sm_${gpu} ")
  set(baseline ${rows})
  list(FILTER baseline EXCLUDE REGEX " sm_${gpu} +[0-9]+x")
  list(LENGTH baseline baseline_count)
  list(LENGTH rows count)
  math(EXPR schedules "${count} - ${baseline_count}")
  if(NOT baseline_count EQUAL 288 OR schedules LESS min_schedules)
    message(FATAL_ERROR "${count} images for sm_${gpu}, of which ${baseline_count} are baseline")
  endif()
  foreach(row IN LISTS rows)
    #       gpu           schedule             threads  registers  shared   spilled  cubin embedded
    if(NOT row MATCHES "sm_[0-9a-z]+ +(baseline|[0-9]+x[0-9]+x[0-9]+( [A-Za-z0-9, -]*[A-Za-z0-9])?) +([0-9]+) +([0-9]+) +([0-9]+) +([0-9]+) +[0-9]+ +[0-9]+$")
      message(FATAL_ERROR "cannot read the row: ${row}")
    endif()
    if(CMAKE_MATCH_5 GREATER shared_limit)
      message(FATAL_ERROR "more shared memory than sm_${gpu} has: ${row}")
    endif()
    if(CMAKE_MATCH_6 GREATER 0)
      message(FATAL_ERROR "spills: ${row}")
    endif()
  endforeach()
endfunction()

check_gpu(75 65536 0)
# From sm_80 on, half variants also run coarsened programs, except variants that would spill or have
# no room for the circular buffer.
check_gpu(80 166912 72)
check_gpu(86 101376 72)
check_gpu(89 101376 72)
check_gpu(90a 232448 544) # also half variants in up to five specialized schedules
check_gpu(100 232448 216)
message("1728 variants, no spills")
