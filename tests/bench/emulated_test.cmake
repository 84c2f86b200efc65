# Runs the benchmark on the emulator with each kind of row, and checks its output.
#
#   cmake -D PROGRAM=<file> -D CUBLAS=<file> -D OUT=<folder> -P emulated_test.cmake

cmake_minimum_required(VERSION 3.25)

set(triton "${OUT}/emulated_triton.txt")
file(WRITE "${triton}" "# versions triton of a test\nhalf NN 128 128 128 2 1 a configuration\n")
execute_process(
  COMMAND "${PROGRAM}" --largest 128 --repeat 2 --cublas "${CUBLAS}" --triton "${triton}"
    --rows "big/.* 8192|odd/|forms/.* 8192|types/(tf32|float|double|int8)|launch"
    --json "${OUT}/emulated.json" --svg "${OUT}/emulated.svg"
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
)
message("${output}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "bench_emulated ended with ${status}")
endif()

file(READ "${OUT}/emulated.json" json)
string(JSON count LENGTH "${json}" rows)
math(EXPR last "${count} - 1")
set(measured 0)
foreach(i RANGE ${last})
  string(JSON name GET "${json}" rows ${i} name)
  string(JSON state GET "${json}" rows ${i} state)
  if(NOT state STREQUAL "measured")
    message(FATAL_ERROR "${name} is ${state}")
  endif()
  math(EXPR measured "${measured} + 1")
endforeach()
if(measured LESS 16)
  message(FATAL_ERROR "only ${measured} rows were measured")
endif()
if(NOT output MATCHES "ours / Triton: geometric mean")
  message(FATAL_ERROR "nothing is said of Triton")
endif()
