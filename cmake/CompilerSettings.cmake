# Sets the compiler and linker options of TritonC: warnings, dead code elimination, a fast linker,
# ccache. The top CMakeLists.txt includes it before any target.

# g++ 12 reports the disabled warnings in its own standard library when it optimizes. LLVM disables
# them too.
set(TritonC_WARNINGS -Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND TritonC_WARNINGS -Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
    -Wno-stringop-overread)
endif()
set(CMAKE_COMPILE_WARNING_AS_ERROR ${TritonC_WARNINGS_AS_ERRORS})

# The tool links LLVM and clang statically. Without these options it would contain all their passes
# and targets.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)

# The linker reads hundreds of megabytes: lld takes one second, GNU ld takes ten.
find_program(TritonC_LLD NAMES ld.lld-22 ld.lld)
mark_as_advanced(TritonC_LLD)
if(TritonC_LLD)
  cmake_path(GET TritonC_LLD FILENAME lld)
  if(lld STREQUAL "ld.lld")
    add_link_options(-fuse-ld=lld)
  else()
    # g++ only finds lld under the name `ld.lld`, so this creates a folder with such a link.
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/linker")
    file(CREATE_LINK "${TritonC_LLD}" "${PROJECT_BINARY_DIR}/linker/ld.lld" SYMBOLIC)
    add_link_options(-fuse-ld=lld "-B${PROJECT_BINARY_DIR}/linker")
  endif()
endif()

# ccache accepts precompiled headers only with these sloppiness settings.
find_program(TritonC_CCACHE NAMES ccache)
mark_as_advanced(TritonC_CCACHE)
if(TritonC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${TritonC_CCACHE}")
endif()
