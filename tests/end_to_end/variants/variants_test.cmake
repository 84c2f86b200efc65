# Compiles variants of a matmul for six GPUs and checks the report for each GPU:
#
#     - every variant has a baseline image
#     - half variants have on average at least `min_schedules` images with other schedules
#     - no image spills, and each image fits the shared memory of the GPU
#
# For each type and layout, it compiles TILES of the 36 tiles (all: 36). TRITONC_SEED chooses them.
#
#   cmake -D TRITONC=<tool> -D SOURCE=<matmul.tc> -D OUT=<folder> -D TILES=<n> -D JOBS=<n> -P variants_test.cmake

set(seed "$ENV{TRITONC_SEED}")
if(seed STREQUAL "")
  set(seed 1)
endif()
message("${TILES} of 36 tiles for each type and layout, chosen by TRITONC_SEED=${seed}")

# Each entry begins with its hash, so the order is random and independent of the other entries.
execute_process(COMMAND "${TRITONC}" plan "${SOURCE}" --arch 75 --json OUTPUT_VARIABLE plan COMMAND_ERROR_IS_FATAL ANY)
string(JSON variants GET "${plan}" sources 0 variants)
string(JSON count LENGTH "${variants}")
if(NOT count EQUAL 288)
  message(FATAL_ERROR "${count} variants, not 288; adapt this test")
endif()
set(entries "")
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON values GET "${variants}" ${i} values)
  string(SHA256 hash "${seed} ${values}")
  list(APPEND entries "${hash} ${values}")
endforeach()
list(SORT entries)

# The first TILES entries of each type and layout.
set(chosen "")
set(half_count 0)
foreach(entry IN LISTS entries)
  string(REGEX REPLACE "^[0-9a-f]+ " "" values "${entry}")
  set(group "group")
  foreach(axis TYPE A B)
    string(JSON value GET "${values}" ${axis})
    string(APPEND group "_${value}")
  endforeach()
  if(NOT DEFINED ${group})
    set(${group} 0)
  endif()
  if(${group} LESS TILES)
    math(EXPR ${group} "${${group}} + 1")
    list(APPEND chosen "${values}")
    if(group MATCHES "half")
      math(EXPR half_count "${half_count} + 1")
    endif()
  endif()
endforeach()
list(LENGTH chosen chosen_count)
math(EXPR expected_count "8 * ${TILES}")
if(NOT chosen_count EQUAL expected_count OR half_count EQUAL 0)
  message(FATAL_ERROR "${chosen_count} variants, of which ${half_count} are half")
endif()

file(MAKE_DIRECTORY "${OUT}")
list(JOIN chosen "," chosen)
file(WRITE "${OUT}/variants.json" "[${chosen}]")
execute_process(COMMAND "${TRITONC}" compile "${SOURCE}" --arch 75,80,86,89,90a,100 --variant-file "${OUT}/variants.json"
  --header "${OUT}/matmul.hpp" --object "${OUT}/matmul.o" --report "${OUT}/matmul.txt" --quiet --jobs ${JOBS}
  COMMAND_ERROR_IS_FATAL ANY)

function(check_gpu gpu shared_limit min_schedules)
  file(STRINGS "${OUT}/matmul.txt" rows REGEX " sm_${gpu} ")
  set(baseline ${rows})
  list(FILTER baseline EXCLUDE REGEX " sm_${gpu} +[0-9]+x")
  list(LENGTH baseline baseline_count)
  list(LENGTH rows count)
  math(EXPR schedules "${count} - ${baseline_count}")
  math(EXPR min_count "${half_count} * ${min_schedules}")
  if(NOT baseline_count EQUAL chosen_count OR schedules LESS min_count)
    message(FATAL_ERROR "${count} images for sm_${gpu}, of which ${baseline_count} are baseline; "
      "${chosen_count} variants, of which ${half_count} are half")
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
# From sm_80 on, half variants also run coarsened programs.
check_gpu(80 166912 1)
check_gpu(86 101376 1)
check_gpu(89 101376 1)
check_gpu(90a 232448 5) # warp-specialized schedules of several sizes
check_gpu(100 232448 2)
message("${chosen_count} variants, no spills")
