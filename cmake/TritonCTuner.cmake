# triton_add_tuner(<exe> FROM <target>... [PROBLEMS <file.json> OUTPUT <file.json> [PARTS <number>]])
#
# Adds a tuner: a program that lists the variants of these kernels, compares their results and
# measures them. With PROBLEMS, the target tune_<exe> runs it. See docs/pages/reference/cmake.md.

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

function(triton_add_tuner exe)
  set(call "triton_add_tuner(${exe})")
  set(table
    "some FROM gemm"
    "one PROBLEMS problems.json"
    "one OUTPUT gemm.tune.json"
    "one PARTS 4")
  set(arguments "${ARGN}")
  set(other_words "")
  _tritonc_parse_arguments()
  if(NOT arg_FROM)
    message(FATAL_ERROR "${call}: FROM is missing; name targets of triton_add_kernels()")
  endif()
  if(NOT TARGET TritonC::tuner)
    message(FATAL_ERROR "${call}: TritonC was built without TritonC::tuner, which requires CLI11; "
      "install CLI11 (Debian: libcli11-dev) and build TritonC again")
  endif()
  if("${arg_PROBLEMS}" STREQUAL "" AND NOT "${arg_OUTPUT}${arg_PARTS}" STREQUAL "" OR
     NOT "${arg_PROBLEMS}" STREQUAL "" AND "${arg_OUTPUT}" STREQUAL "")
    message(FATAL_ERROR "${call}: PROBLEMS requires OUTPUT, and OUTPUT and PARTS require PROBLEMS; add PROBLEMS and OUTPUT")
  endif()
  if(DEFINED arg_PARTS AND NOT arg_PARTS MATCHES "^[1-9][0-9]*$")
    message(FATAL_ERROR "${call}: PARTS ${arg_PARTS}: expected a positive number; write it as 4")
  endif()
  set(text "// Written by CMake: the kernels of a tuner.\n")
  foreach(target IN LISTS arg_FROM)
    set(registration "")
    if(TARGET "${target}")
      get_target_property(registration ${target} TRITONC_REGISTRATION)
    endif()
    if(NOT registration)
      message(FATAL_ERROR "${call}: FROM ${target} is not a target of triton_add_kernels()")
    endif()
    get_target_property(header ${target} TRITONC_HEADER)
    if(header MATCHES "\"")
      message(FATAL_ERROR "${call}: cannot use `\"` in ${header}: C++ ends the name of an included file there; "
        "rename the file or folder")
    endif()
    string(APPEND text "#include \"${header}\"\n#include \"${registration}\"\n")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${exe}.tuner.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "@text@" @ONLY) # a path in the text may contain @...@
  add_executable(${exe} "${source}")
  target_link_libraries(${exe} PRIVATE ${arg_FROM} TritonC::tuner)
  if(NOT arg_PROBLEMS)
    return()
  endif()

  cmake_path(ABSOLUTE_PATH arg_PROBLEMS NORMALIZE)
  cmake_path(ABSOLUTE_PATH arg_OUTPUT NORMALIZE)
  if(NOT EXISTS "${arg_PROBLEMS}")
    message(FATAL_ERROR "${call}: PROBLEMS file ${arg_PROBLEMS} does not exist")
  endif()
  set(options "")
  foreach(word IN LISTS TritonC_LAUNCHER)
    list(APPEND options --launcher "${word}")
  endforeach()
  if(arg_PARTS)
    list(APPEND options --parts "${arg_PARTS}")
  endif()
  add_custom_target(tune_${exe}
    COMMAND "$<TARGET_FILE:TritonC::tritonc>" tune "$<TARGET_FILE:${exe}>" --problem-file "${arg_PROBLEMS}" -o "${arg_OUTPUT}"
            ${options}
    DEPENDS ${exe}
    COMMENT "Measuring kernels of ${exe}"
    USES_TERMINAL
    VERBATIM)
endfunction()

cmake_policy(POP)
