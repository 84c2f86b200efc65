# triton_add_kernel_test(<name> FROM <target> [MANIFEST <file.json>] [SOURCES <file.cpp>...]
#                        [LINK_LIBRARIES <library>...])
#
# Adds tests for CTest that need no GPU: <name>, <name>_manifest, <name>_program. See
# docs/pages/reference/cmake.md.

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

set(TritonC_COMPARE_BUILDS "${CMAKE_CURRENT_LIST_DIR}/compare_builds.cmake")

function(triton_add_kernel_test name)
  set(call "triton_add_kernel_test(${name})")
  set(table
    "one FROM gemm"
    "one MANIFEST gemm.manifest.json"
    "some SOURCES main.cpp"
    "any LINK_LIBRARIES m")
  set(arguments "${ARGN}")
  set(other_words "")
  _tritonc_parse_arguments()
  if(NOT arg_FROM)
    message(FATAL_ERROR "${call}: FROM is missing; name a target of triton_add_kernels()")
  endif()
  set(command "")
  if(TARGET "${arg_FROM}")
    get_target_property(command ${arg_FROM} TRITONC_COMMAND)
  endif()
  if(NOT command)
    message(FATAL_ERROR "${call}: FROM ${arg_FROM} is not a target of triton_add_kernels()")
  endif()
  get_target_property(tool ${arg_FROM} TRITONC_TOOL)
  get_target_property(outputs ${arg_FROM} TRITONC_OUTPUTS)
  get_target_property(manifest ${arg_FROM} TRITONC_MANIFEST)

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.test")
  set(script "${folder}/compare.cmake")
  file(MAKE_DIRECTORY "${folder}")
  file(GENERATE OUTPUT "${script}" CONTENT "set(TOOL [==[${tool}]==])
set(COMMAND_OPTIONS [==[${command}]==])
set(OUTPUTS [==[${outputs}]==])
set(FOLDER [==[${folder}]==])
include([==[${TritonC_COMPARE_BUILDS}]==])
")
  add_test(NAME ${name} COMMAND "${CMAKE_COMMAND}" -P "${script}")

  if(arg_MANIFEST)
    cmake_path(ABSOLUTE_PATH arg_MANIFEST NORMALIZE)
    add_test(NAME ${name}_manifest COMMAND "${CMAKE_COMMAND}" -E compare_files "${manifest}" "${arg_MANIFEST}")
  endif()

  if(arg_SOURCES)
    get_target_property(emulate ${arg_FROM} TRITONC_EMULATE)
    if(NOT emulate)
      message(FATAL_ERROR "${call}: SOURCES requires EMULATE; add EMULATE ON to triton_add_kernels(${arg_FROM})")
    endif()
    if(NOT TARGET TritonC::emulator)
      message(FATAL_ERROR "${call}: SOURCES requires the emulator, but TritonC was built without it; "
        "install Boost.Context (Debian: libboost-context-dev) and build TritonC again")
    endif()
    add_executable(${name}_program ${arg_SOURCES})
    target_link_libraries(${name}_program PRIVATE ${arg_FROM} ${arg_LINK_LIBRARIES})
    add_test(NAME ${name}_program COMMAND ${name}_program)
    set_tests_properties(${name}_program PROPERTIES ENVIRONMENT "TRITONC_DRIVER=$<TARGET_FILE:TritonC::emulator>")
  elseif(arg_LINK_LIBRARIES)
    message(FATAL_ERROR "${call}: LINK_LIBRARIES requires SOURCES; add SOURCES or remove LINK_LIBRARIES")
  endif()
endfunction()

cmake_policy(POP)
