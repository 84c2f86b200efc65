# Wrong calls of triton_add_kernels(): each must stop the configuration with a message that tells what to write instead.

set(failures 0)

# wrong(<expected text> <argument>...): the call triton_add_kernels(gemm <argument>...) fails with this text.
function(wrong expected)
  set(call "triton_add_kernels(gemm")
  foreach(argument IN LISTS ARGN)
    string(APPEND call " \"${argument}\"")
  endforeach()
  file(WRITE "${WORK}/CMakeLists.txt"
    "cmake_minimum_required(VERSION 3.25)\n"
    "project(wrong LANGUAGES NONE)\n"
    "set(TritonC_KNOWN_ARCHITECTURES 75 80 86 90 90a 100)\n"
    "include(\"${ROOT}/cmake/TritonCKernels.cmake\")\n"
    "${call})\n")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${WORK}" -B "${WORK}/build"
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}") # messages are wrapped
  string(FIND "${output}" "triton_add_kernels(gemm): ${expected}" place)
  if(result EQUAL 0 OR place EQUAL -1)
    message("${call})\n  expected: ${expected}\n  got: ${output}\n")
    math(EXPR failures "${failures} + 1")
    set(failures ${failures} PARENT_SCOPE)
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
file(WRITE "${WORK}/matmul.tc" "")
set(good SOURCES matmul.tc ARCHITECTURES 80)

wrong("SOURCES is missing; name at least one .tc file" ARCHITECTURES 80)
wrong("SOURCES is missing; name at least one .tc file" SOURCES ARCHITECTURES 80)
wrong("there is no source ${WORK}/matmull.tc; did you mean matmul.tc?" SOURCES matmull.tc ARCHITECTURES 80)
wrong("there is no source /nowhere/matmul.tc" SOURCES /nowhere/matmul.tc ARCHITECTURES 80)
wrong("ARCHITECTURES is missing and CMAKE_CUDA_ARCHITECTURES is not set; name GPUs such as 80 90a" SOURCES matmul.tc)
wrong("unknown architecture 81; did you mean 80? There are: 75 80 86 90 90a 100" SOURCES matmul.tc ARCHITECTURES 81)
wrong("unknown architecture sm_90b; did you mean 90?" SOURCES matmul.tc ARCHITECTURES 80 sm_90b)
wrong("unknown architecture 80-virtual" SOURCES matmul.tc ARCHITECTURES 80-virtual)
wrong("unknown architecture native" SOURCES matmul.tc ARCHITECTURES native)
wrong("unknown keyword SOURCE; did you mean SOURCES?" SOURCE matmul.tc ARCHITECTURES 80)
wrong("unknown keyword ARCHITECTURE; did you mean ARCHITECTURES?" SOURCES matmul.tc ARCHITECTURE 80)
wrong("unknown keyword ARCH; did you mean ARCHITECTURES?" ARCH 80 SOURCES matmul.tc)
wrong("unknown keyword VARIANT; did you mean VARIANTS?" ${good} VARIANT TM=32)
wrong("unknown keyword DEFINE; did you mean DEFINES?" ${good} DEFINE X=1)
wrong("unknown keyword INCLUDE_DIRECTORY; did you mean INCLUDE_DIRECTORIES?" ${good} INCLUDE_DIRECTORY .)
wrong("VARIANTS \"TM\": write it as TM=32,64" ${good} VARIANTS TM)
wrong("VARIANTS \"=32\": write it as TM=32,64" ${good} VARIANTS =32)
wrong("VARIANTS \"TM=\": write it as TM=32,64" ${good} VARIANTS TM=)
wrong("DEFINES \"3=4\": write it as NAME or NAME=value" ${good} DEFINES 3=4)
wrong("EMBED OBJEKT: did you mean OBJECT?" ${good} EMBED OBJEKT)
wrong("EMBED has no value" ${good} EMBED)
wrong("EMULATE needs EMBED OBJECT; code for the CPU cannot be in a header" ${good} EMULATE ON EMBED HEADER)
wrong("EMULATE 90a: ARCHITECTURES are 75 80" SOURCES matmul.tc ARCHITECTURES 75 80 EMULATE 80 90a)
wrong("EMULATE is ON, OFF or a list of architectures" ${good} EMULATE ON 80)
wrong("unknown architecture YES; did you mean" ${good} EMULATE YES)
wrong("unknown keyword EMULATED; did you mean EMULATE?" ${good} EMULATED ON)

if(failures)
  message(FATAL_ERROR "${failures} wrong calls are not reported as they should be")
endif()
