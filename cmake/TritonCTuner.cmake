# triton_add_tuner(<exe>
#   FROM <target>...          kernels of triton_add_kernels()
# )
#
# Makes a program of these kernels that says which variants there are, compares their results and measures them: for
# `tritonc tune` and `tritonc bench`. It needs no more of a machine than any program with these kernels: a GPU and its
# driver, or the emulator (TRITONC_DRIVER).
#
#   triton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES 90a TUNING gemm.tune.json)
#   triton_add_tuner(gemm_tuner FROM gemm)
#
#   tritonc tune build/gemm_tuner --problems "M,N,K=64,512,4096; lda=K; ldb,ldc=N; A=M*K; B=K*N; C=M*N" -o gemm.tune.json
#
# gemm.tune.json belongs to the sources: the next build chooses by it.

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

function(triton_add_tuner exe)
  set(call "triton_add_tuner(${exe})")
  cmake_parse_arguments(arg "" "" "FROM" ${ARGN})
  _tritonc_check_keywords("${call}" "" "FROM" "${ARGN}" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_FROM)
    message(FATAL_ERROR "${call}: FROM is missing; name targets of triton_add_kernels()")
  endif()
  if(NOT TARGET TritonC::tuner)
    message(FATAL_ERROR "${call}: this TritonC was built without CLI11, and so without TritonC::tuner")
  endif()
  set(text "// Written by CMake: the kernels of a runner.\n")
  foreach(target IN LISTS arg_FROM)
    set(registration "")
    if(TARGET "${target}")
      get_target_property(registration ${target} TRITONC_REGISTRATION)
    endif()
    if(NOT registration)
      message(FATAL_ERROR "${call}: FROM ${target}: this is no target of triton_add_kernels()")
    endif()
    get_target_property(header ${target} TRITONC_HEADER)
    string(APPEND text "#include \"${header}\"\n#include \"${registration}\"\n")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${exe}.tuner.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "${text}" @ONLY)
  add_executable(${exe} "${source}")
  target_link_libraries(${exe} PRIVATE ${arg_FROM} TritonC::tuner)
endfunction()

cmake_policy(POP)
