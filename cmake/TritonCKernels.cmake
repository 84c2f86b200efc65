# triton_add_kernels(<target> SOURCES <file.tc>... [ARCHITECTURES <arch>...] [<keyword> <value>...]...)
#
# Compiles kernels for all variants and GPUs during the build, without a GPU. <target> becomes a
# library: after target_link_libraries(app PRIVATE <target>) a program can #include <target>.hpp.
#
# docs/pages/reference/cmake.md describes all keywords, and the variables and properties.

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

include("${CMAKE_CURRENT_LIST_DIR}/TritonCKernelTest.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TritonCInstallKernels.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TritonCTuner.cmake")

function(triton_add_kernels target)
  set(call "triton_add_kernels(${target})")
  set(table
    "some SOURCES ${target}.tc"
    "some KERNELS matmul"
    "any VARIANTS TM=32,64 TN=64"
    "one VARIANT_FILE variants.json"
    "any WHERE \"TM * TN <= 16384\""
    "any SPECIALIZE \"lda % 8 && n == 1\""
    "some DEFAULT_VARIANT TM=64"
    "some GRID \"M / TM\""
    "any DEFINES NAME=value"
    "any INCLUDE_DIRECTORIES include"
    "any TUNING ${target}.tune.json"
    "some ARCHITECTURES 80 90a"
    "some PTX AUTO"
    "one EMBED BUNDLE"
    "some EMULATE ON"
    "one COMPRESS speed"
    "one MIN_DRIVER 12.2"
    "one CHECKS ON"
    "one LINEINFO ON"
    "any PTXAS_OPTIONS -O2"
    "any REQUIRE \"spills == 0\""
    "flag WERROR"
    "one NAMESPACE a::b"
    "one HEADER my/${target}.hpp"
    "one C_HEADER my/${target}.h"
    "one OUTPUT_DIR ${target}"
    "any KEEP ptx"
    "one KEPT kept_folder"
    "one MANIFEST manifest_path"
    "one REPORT report_path"
    "one SHARDS AUTO"
    "one JOB_POOL kernels"
    "one CACHE OFF"
    "one TIMEOUT 120"
    "flag QUIET"
    "any COMPILE_OPTIONS -Wno-spills"
    "any DEPENDS ${target}.tch"
    "one TOOL TritonC::tritonc"
    "one RUNTIME TritonC::runtime")
  _tritonc_check_name("${call}" "${CMAKE_CURRENT_SOURCE_DIR}")
  _tritonc_check_name("${call}" "${CMAKE_CURRENT_BINARY_DIR}")
  set(before "")
  math(EXPR last "${ARGC} - 1")
  foreach(i RANGE ${last})
    # A value with a `;` becomes several values below. After a keyword with several values, the
    # value counts as one name only if a file with this name exists.
    string(REPLACE "\\;" ";" argument "${ARGV${i}}")
    _tritonc_check_brackets("${call}" "${argument}")
    foreach(name IN LISTS ARGV${i} ITEMS "${argument}")
      cmake_path(ABSOLUTE_PATH name OUTPUT_VARIABLE path)
      if("${table}" MATCHES "(^|;)one ${before} " OR EXISTS "${path}")
        _tritonc_check_name("${call}" "${name}")
      endif()
    endforeach()
    set(before "")
    if(argument MATCHES "^[A-Z_]+$")
      string(CONCAT before "${argument}") # set() would read CACHE
    endif()
  endforeach()
  # HEADER is a keyword, and also a value of EMBED. As a value it would end the EMBED list.
  string(REGEX REPLACE "(^|;)EMBED;HEADER(;|$)" "\\1EMBED;header\\2" arguments "${ARGN}")
  # Each VARIANTS[...] and SPECIALIZE[...] becomes a keyword with a name that is valid for a
  # variable.
  foreach(keyword IN ITEMS VARIANTS SPECIALIZE)
    set(${keyword}_scopes "")
    string(REGEX MATCHALL "(^|;)${keyword}\\[[^];]*\\]" scoped_keywords "${arguments}")
    foreach(scoped_keyword IN LISTS scoped_keywords)
      string(REGEX REPLACE "^;?${keyword}\\[(.*)\\]$" "\\1" scope "${scoped_keyword}")
      if(scoped_keyword STREQUAL "" OR scope IN_LIST ${keyword}_scopes)
        continue()
      endif()
      list(LENGTH ${keyword}_scopes number)
      list(APPEND ${keyword}_scopes "${scope}")
      list(APPEND table "any ${keyword}_${number}")
      string(REPLACE "${keyword}[${scope}]" "${keyword}_${number}" arguments "${arguments}")
    endforeach()
  endforeach()
  # Keywords of other tools, as pairs: the keyword, and the fix. No fix is a keyword alone, because
  # list(FIND) would find it.
  set(other_words
    MAX_IMAGE_SIZE "write REQUIRE \"embedded <= 100k\" for each image, \"total <= 4000k\" for all images"
    PTX_FILES "write KEEP ptx KEPT <variable>"
    SASS "write KEEP cubin sass-stats KEPT <variable>"
    LLVM_IR "write KEEP llvm KEPT <variable>"
    TILE_IR "write KEEP tile-ir KEPT <variable>"
    EXPORT "write triton_install_kernels(<target> EXPORT <set>)"
    CACHE_DIR "write CACHE"
    OUTPUT_DIRECTORY "write OUTPUT_DIR"
    REGISTRATION "remove it: every program that links the target contains its kernels"
    FMAD "remove it: the compiler keeps arithmetic as written and never fuses operations"
    FAST_MATH "remove it: the compiler keeps arithmetic as written and never fuses operations")
  _tritonc_parse_arguments()
  if(TARGET "${target}")
    message(FATAL_ERROR "${call}: target ${target} already exists; choose another name")
  endif()
  if(NOT target MATCHES "^[A-Za-z_][A-Za-z0-9_]*$" AND NOT arg_NAMESPACE)
    message(FATAL_ERROR "${call}: target name ${target} is not a C++ identifier; set NAMESPACE")
  endif()

  _tritonc_check_sources("${call}" "${arg_SOURCES}" sources)
  _tritonc_check_architectures("${call}" "${arg_ARCHITECTURES}" architectures)
  _tritonc_check_ptx("${call}" "${arg_PTX}" ptx)
  _tritonc_check_assignments("${call}" VARIANTS "=.+" "TM=32,64" "${arg_VARIANTS}")
  set(scoped_variants "")
  set(number 0)
  foreach(scope IN LISTS VARIANTS_scopes)
    _tritonc_check_scope("${call}" "${scope}" "${architectures}" "${sources}")
    _tritonc_check_assignments("${call}" "VARIANTS[${scope}]" "=.+" "TM=32,64" "${arg_VARIANTS_${number}}")
    foreach(assignment IN LISTS arg_VARIANTS_${number})
      string(APPEND scoped_variants ";[${scope}]${assignment}")
    endforeach()
    math(EXPR number "${number} + 1")
  endforeach()
  foreach(kernel IN LISTS arg_KERNELS)
    _tritonc_check_kernel("${call}" KERNELS "${kernel}" "${sources}")
  endforeach()
  if(arg_VARIANT_FILE)
    cmake_path(ABSOLUTE_PATH arg_VARIANT_FILE NORMALIZE)
    get_source_file_property(generated "${arg_VARIANT_FILE}" GENERATED)
    if(NOT EXISTS "${arg_VARIANT_FILE}" AND NOT generated)
      message(FATAL_ERROR "${call}: VARIANT_FILE ${arg_VARIANT_FILE} does not exist")
    endif()
  endif()
  set(tuning "")
  set(tuning_options "")
  foreach(file IN LISTS arg_TUNING)
    cmake_path(ABSOLUTE_PATH file NORMALIZE)
    get_source_file_property(generated "${file}" GENERATED)
    if(NOT EXISTS "${file}" AND NOT generated)
      message(FATAL_ERROR "${call}: TUNING file ${file} does not exist; build without TUNING and write the file with tritonc tune")
    endif()
    list(APPEND tuning "${file}")
    list(APPEND tuning_options --tuning "${file}")
  endforeach()
  _tritonc_check_limits("${call}" "${arg_REQUIRE}")
  _tritonc_check_specializations("${call}" SPECIALIZE "${arg_SPECIALIZE}")
  set(specializations ${arg_SPECIALIZE})
  set(number 0)
  foreach(kernel IN LISTS SPECIALIZE_scopes)
    set(keyword "SPECIALIZE[${kernel}]")
    if(kernel MATCHES "^sm_|,")
      message(FATAL_ERROR "${call}: ${keyword}: expected one kernel, because a specialization applies to all GPUs; "
        "write SPECIALIZE[kernel]")
    endif()
    _tritonc_check_kernel("${call}" "${keyword}" "${kernel}" "${sources}")
    _tritonc_check_specializations("${call}" "${keyword}" "${arg_SPECIALIZE_${number}}")
    if("${arg_SPECIALIZE_${number}}" STREQUAL "")
      list(APPEND specializations "[${kernel}]")
    endif()
    foreach(one IN LISTS arg_SPECIALIZE_${number})
      list(APPEND specializations "[${kernel}]${one}")
    endforeach()
    math(EXPR number "${number} + 1")
  endforeach()
  _tritonc_check_assignments("${call}" DEFAULT_VARIANT "=[^,]+" "TM=64" "${arg_DEFAULT_VARIANT}")
  _tritonc_check_assignments("${call}" DEFINES "(=.*)?" "NAME or NAME=value" "${arg_DEFINES}")
  if(NOT arg_NAMESPACE)
    set(arg_NAMESPACE "${target}")
  endif()
  if(NOT arg_NAMESPACE MATCHES "^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$")
    message(FATAL_ERROR "${call}: NAMESPACE ${arg_NAMESPACE} is not a C++ namespace; write it as a::b")
  endif()
  if(NOT arg_HEADER)
    set(arg_HEADER "${target}.hpp")
  endif()
  if(arg_HEADER MATCHES "^/|(^|/)\\.\\.(/|$)|/$")
    message(FATAL_ERROR "${call}: cannot use HEADER ${arg_HEADER}; write the path in the application's #include, such as "
      "my/${target}.hpp")
  endif()
  if(arg_C_HEADER MATCHES "^/|(^|/)\\.\\.(/|$)|/$" OR arg_C_HEADER STREQUAL arg_HEADER)
    message(FATAL_ERROR "${call}: cannot use C_HEADER ${arg_C_HEADER}; write the path in the application's #include, "
      "different from HEADER, such as my/${target}.h")
  endif()
  if(NOT arg_EMBED)
    set(arg_EMBED OBJECT)
  endif()
  string(TOUPPER "${arg_EMBED}" arg_EMBED)
  _tritonc_check_choice("${call}" EMBED "${arg_EMBED}" "OBJECT;HEADER;BUNDLE")

  if(arg_C_HEADER AND arg_EMBED STREQUAL "HEADER")
    message(FATAL_ERROR "${call}: cannot use C_HEADER with EMBED HEADER: a C header contains no GPU code; use EMBED OBJECT or BUNDLE")
  endif()

  if(DEFINED arg_MIN_DRIVER AND NOT arg_MIN_DRIVER MATCHES "^(1[2-9]|[2-9][0-9])\\.[0-9]+$")
    message(FATAL_ERROR "${call}: MIN_DRIVER ${arg_MIN_DRIVER}: expected a CUDA version, 12.0 or later; write it as 12.2")
  endif()
  if(NOT arg_LINEINFO)
    set(arg_LINEINFO OFF)
  endif()
  if(NOT arg_CHECKS)
    set(arg_CHECKS OFF)
  endif()
  if(arg_COMPRESS)
    _tritonc_check_choice("${call}" COMPRESS "${arg_COMPRESS}" "none;speed;balance;size")
  endif()
  _tritonc_check_choice("${call}" LINEINFO "${arg_LINEINFO}" "ON;OFF")
  _tritonc_check_choice("${call}" CHECKS "${arg_CHECKS}" "ON;OFF")
  foreach(form IN LISTS arg_KEEP)
    _tritonc_check_choice("${call}" KEEP "${form}" "tile-ir;llvm;ptx;cubin;sass-stats")
  endforeach()
  if(arg_KEPT AND NOT arg_KEEP)
    message(FATAL_ERROR "${call}: KEPT requires KEEP; name the formats to keep, such as KEEP ptx")
  endif()
  if(arg_SHARDS STREQUAL "AUTO")
    cmake_host_system_information(RESULT arg_SHARDS QUERY NUMBER_OF_LOGICAL_CORES)
  elseif(DEFINED arg_SHARDS AND NOT arg_SHARDS MATCHES "^[1-9][0-9]?[0-9]?$")
    message(FATAL_ERROR "${call}: SHARDS ${arg_SHARDS}: write AUTO or a number from 1 to 999")
  endif()
  if(DEFINED arg_TIMEOUT AND NOT arg_TIMEOUT MATCHES "^[1-9][0-9]*$")
    message(FATAL_ERROR "${call}: TIMEOUT ${arg_TIMEOUT}: expected a number of seconds; write it as 120")
  endif()

  _tritonc_check_emulate("${call}" "${arg_EMULATE}" "${architectures}" emulate)
  if(emulate AND CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "${call}: cannot use EMULATE in a cross-compiled project: emulator code is for this machine's CPU; "
      "remove EMULATE")
  endif()
  if(emulate AND arg_EMBED STREQUAL "HEADER")
    message(FATAL_ERROR "${call}: cannot use EMULATE with EMBED HEADER: a header cannot contain CPU code; use EMBED OBJECT or BUNDLE")
  endif()

  if(NOT arg_OUTPUT_DIR)
    set(arg_OUTPUT_DIR "${target}.kernels")
  endif()
  cmake_path(ABSOLUTE_PATH arg_OUTPUT_DIR BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)
  get_property(taken GLOBAL PROPERTY TRITONC_OUTPUT_DIRS)
  if(arg_OUTPUT_DIR IN_LIST taken)
    message(FATAL_ERROR "${call}: another target already uses OUTPUT_DIR ${arg_OUTPUT_DIR}; choose another folder")
  endif()
  set_property(GLOBAL APPEND PROPERTY TRITONC_OUTPUT_DIRS "${arg_OUTPUT_DIR}")
  cmake_path(RELATIVE_PATH arg_OUTPUT_DIR BASE_DIRECTORY "${CMAKE_BINARY_DIR}" OUTPUT_VARIABLE relative_dir)
  if(CMAKE_GENERATOR MATCHES "Makefiles" AND relative_dir MATCHES "%")
    message(FATAL_ERROR "${call}: cannot use `%` in OUTPUT_DIR ${relative_dir}: make reads the name of a built file as a pattern; "
      "rename the folder, or use Ninja")
  endif()
  set(include_dir "${arg_OUTPUT_DIR}/include")
  set(header "${include_dir}/${arg_HEADER}")
  set(base "${arg_OUTPUT_DIR}/${target}")
  cmake_path(GET header PARENT_PATH header_dir)
  file(MAKE_DIRECTORY "${header_dir}")

  # `outputs`: the files that a test compares, as pairs of an option and a file.
  string(TOLOWER "${arg_EMBED}" embed)
  set(options --name "${target}" --namespace "${arg_NAMESPACE}")
  set(library_options --embed "${embed}") # not for shards, which write machine code
  set(outputs --header "${header}" --registration "${base}.tuner.inc" --manifest "${base}.manifest.json")
  set(byproducts "${header}" "${base}.tuner.inc" "${base}.manifest.json" "${base}.report.txt")
  if(arg_EMBED STREQUAL "BUNDLE")
    list(APPEND outputs --bundle "${base}.tcb")
    list(APPEND byproducts "${base}.tcb")
  endif()
  if(NOT arg_EMBED STREQUAL "HEADER")
    list(APPEND outputs --object "${base}.o")
    list(APPEND byproducts "${base}.o")
    _tritonc_target_triple("${call}" triple)
    if(triple)
      list(APPEND options --target "${triple}")
    endif()
  endif()
  set(c_header "")
  if(arg_C_HEADER)
    set(c_header "${include_dir}/${arg_C_HEADER}")
    cmake_path(GET c_header PARENT_PATH header_dir)
    file(MAKE_DIRECTORY "${header_dir}")
    list(APPEND outputs --c-header "${c_header}")
    list(APPEND byproducts "${c_header}")
  endif()
  if(emulate)
    string(REPLACE ";" "," emulate_list "${emulate}")
    list(APPEND library_options --emulate "${emulate_list}")
    list(APPEND outputs --host-code "${base}.host.a")
    list(APPEND byproducts "${base}.host.a")
  endif()
  string(REPLACE ";" "," architecture_list "${architectures}")
  list(APPEND options --arch "${architecture_list}")
  if(ptx)
    string(REPLACE ";" "," ptx_list "${ptx}")
    list(APPEND options --ptx "${ptx_list}")
  endif()
  string(JOIN "$<SEMICOLON>" variants ${arg_VARIANTS})
  string(REPLACE ";" "$<SEMICOLON>" scoped_variants "${scoped_variants}")
  if(variants OR scoped_variants)
    list(APPEND options --variants "${variants}${scoped_variants}")
  endif()
  if(arg_VARIANT_FILE)
    list(APPEND options --variant-file "${arg_VARIANT_FILE}")
  endif()
  foreach(condition IN LISTS arg_WHERE)
    list(APPEND options --where "${condition}")
  endforeach()
  foreach(one IN LISTS specializations)
    list(APPEND options --specialize "${one}")
  endforeach()
  if(arg_DEFAULT_VARIANT)
    string(JOIN "$<SEMICOLON>" default_variant ${arg_DEFAULT_VARIANT})
    list(APPEND options --default-variant "${default_variant}")
  endif()
  foreach(limit IN LISTS arg_REQUIRE)
    list(APPEND options --require "${limit}")
  endforeach()
  if(arg_KERNELS)
    string(REPLACE ";" "," kernels "${arg_KERNELS}")
    list(APPEND options --kernels "${kernels}")
  endif()
  if(arg_GRID)
    string(REPLACE ";" ", " grid "${arg_GRID}")
    list(APPEND options --grid "${grid}")
  endif()
  foreach(define IN LISTS arg_DEFINES)
    list(APPEND options "-D${define}")
  endforeach()
  foreach(dir IN LISTS arg_INCLUDE_DIRECTORIES)
    cmake_path(ABSOLUTE_PATH dir NORMALIZE)
    list(APPEND options "-I${dir}")
  endforeach()
  if(TritonC_PTXAS)
    list(APPEND options --ptxas "${TritonC_PTXAS}")
  endif()
  foreach(option IN LISTS arg_PTXAS_OPTIONS)
    list(APPEND options "--ptxas-option=${option}")
  endforeach()
  if(arg_COMPRESS)
    list(APPEND options --compress "${arg_COMPRESS}")
  endif()
  if(arg_MIN_DRIVER)
    list(APPEND options --min-driver "${arg_MIN_DRIVER}")
  endif()
  if(arg_LINEINFO STREQUAL "ON")
    list(APPEND options --line-info)
  endif()
  if(arg_CHECKS STREQUAL "ON")
    list(APPEND options --checks)
  endif()
  if(arg_TIMEOUT)
    list(APPEND options --timeout "${arg_TIMEOUT}")
  endif()
  list(APPEND options ${arg_COMPILE_OPTIONS})

  # Options that do not change the output.
  set(calling_options "")
  if(arg_WERROR)
    list(APPEND calling_options --werror)
  endif()
  if(arg_QUIET)
    list(APPEND calling_options --quiet)
  endif()
  if("${arg_CACHE}" STREQUAL "") # OFF is a value
    set(arg_CACHE "${TritonC_CACHE_DIR}")
  endif()
  string(TOUPPER "${arg_CACHE}" cache)
  if(cache STREQUAL "OFF")
    list(APPEND calling_options --cache-dir off)
  elseif(NOT cache STREQUAL "")
    cmake_path(ABSOLUTE_PATH arg_CACHE BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)
    list(APPEND calling_options --cache-dir "${arg_CACHE}")
  endif()
  if(TritonC_CACHE_LIMIT)
    list(APPEND calling_options --cache-limit "${TritonC_CACHE_LIMIT}")
  endif()
  if(NOT arg_TOOL)
    set(arg_TOOL TritonC::tritonc)
    set(tool "$<TARGET_FILE:TritonC::tritonc>")
  elseif(TARGET "${arg_TOOL}")
    set(tool "$<TARGET_FILE:${arg_TOOL}>")
  elseif(EXISTS "${arg_TOOL}" AND NOT IS_DIRECTORY "${arg_TOOL}")
    cmake_path(ABSOLUTE_PATH arg_TOOL NORMALIZE)
    set(tool "${arg_TOOL}")
  else()
    message(FATAL_ERROR "${call}: TOOL ${arg_TOOL} is neither a target nor a program; remove TOOL to use TritonC::tritonc")
  endif()
  if(NOT arg_RUNTIME)
    set(arg_RUNTIME TritonC::runtime)
  elseif(NOT TARGET "${arg_RUNTIME}")
    message(FATAL_ERROR "${call}: RUNTIME ${arg_RUNTIME} is not a target; remove RUNTIME to use TritonC::runtime")
  endif()

  set(keep_options "")
  if(arg_KEEP)
    set(kept "${arg_OUTPUT_DIR}/kept")
    file(MAKE_DIRECTORY "${kept}")
    string(REPLACE ";" "," keep "${arg_KEEP}")
    set(keep_options --keep "${keep}" --keep-in "${kept}")
    list(APPEND byproducts "${kept}/index.json")
  endif()
  set(job_pool "")
  if(arg_JOB_POOL)
    get_property(pools GLOBAL PROPERTY JOB_POOLS)
    string(REGEX REPLACE "=[0-9]+" "" pools "${pools}")
    if(NOT arg_JOB_POOL IN_LIST pools AND NOT arg_JOB_POOL STREQUAL "console")
      string(REPLACE ";" " " known "${pools}")
      message(FATAL_ERROR "${call}: JOB_POOL ${arg_JOB_POOL} is not in the global property JOB_POOLS [${known}]; "
        "add ${arg_JOB_POOL}=<number> there")
    endif()
    set(job_pool JOB_POOL "${arg_JOB_POOL}")
  endif()
  string(REPLACE "$<SEMICOLON>" "\\;" command "${sources};${options};${tuning_options};${library_options}")

  # CMake rewrites depfiles for Ninja, but does not escape # and $ as \# and $$. If a known name has
  # such a character, Ninja reads the depfile of the tool. This depfile must use Ninja's name for
  # the stamp.
  cmake_policy(PUSH)
  set(depfile_target "")
  if(CMAKE_GENERATOR MATCHES "Ninja" AND "${sources};${arg_INCLUDE_DIRECTORIES};${base}" MATCHES "['\"&*?<>|`]")
    message(WARNING "${call}: Ninja cannot read names with any of '\"&*?<>|` in depfiles, so every build compiles the kernels "
      "again; rename the file or folder with ${CMAKE_MATCH_0}")
  endif()
  if(CMAKE_GENERATOR MATCHES "Ninja" AND "${sources};${arg_INCLUDE_DIRECTORIES};${base}" MATCHES "[#$]")
    cmake_policy(SET CMP0116 OLD)
    cmake_path(RELATIVE_PATH base BASE_DIRECTORY "${CMAKE_BINARY_DIR}" OUTPUT_VARIABLE relative)
    set(depfile_target --depfile-target "${relative}.stamp")
  endif()

  # The build system compares the stamp. The tool writes the other files only if they change.
  string(REPLACE ";" " " architecture_text "${architectures}")
  set(tool_program "${tool}")
  set(tool ${TritonC_LAUNCHER} "${tool}" compile)
  set(codes "")
  set(shard_stamps "")
  if(arg_SHARDS)
    set(shard_sources "")
    foreach(source IN LISTS sources)
      if(NOT depfile_target)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
      endif()
      list(APPEND shard_sources "${source}")
    endforeach()
    set(shard_options "")
    foreach(option IN LISTS options)
      if(NOT depfile_target AND option MATCHES "^(-I)?(/.*)$")
        set(path "${CMAKE_MATCH_2}")
        set(prefix "${CMAKE_MATCH_1}")
        cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
        set(option "${prefix}${path}")
      endif()
      list(APPEND shard_options "${option}")
    endforeach()
    math(EXPR last "${arg_SHARDS} - 1")
    foreach(shard RANGE ${last})
      set(part "${base}.${shard}")
      set(path "${part}")
      set(shard_target "")
      if(depfile_target)
        set(shard_target --depfile-target "${relative}.${shard}.stamp")
      else()
        cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
      endif()
      math(EXPR number "${shard} + 1")
      _tritonc_guard_launch("${part}.stamp")
      add_custom_command(
        OUTPUT "${part}.stamp"
        BYPRODUCTS "${part}.codes"
        ${before}
        COMMAND ${tool} ${shard_sources} ${shard_options} ${calling_options} --jobs 1 --shard "${shard}/${arg_SHARDS}" --codes-to "${path}.codes"
                --depfile "${path}.d" ${shard_target} --stamp "${path}.stamp"
        ${after}
        WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
        DEPENDS ${sources} ${arg_VARIANT_FILE} ${arg_DEPENDS} ${arg_TOOL}
        DEPFILE "${part}.d"
        ${job_pool}
        COMMENT "Compiling kernels ${target} for ${architecture_text}, part ${number} of ${arg_SHARDS}"
        VERBATIM)
      list(APPEND codes --codes "${part}.codes")
      list(APPEND shard_stamps "${part}.stamp")
    endforeach()
  endif()
  _tritonc_guard_launch("${base}.stamp")
  add_custom_command(
    OUTPUT "${base}.stamp"
    BYPRODUCTS ${byproducts}
    ${before}
    COMMAND ${tool} ${sources} ${options} ${tuning_options} ${library_options} ${outputs} ${codes} ${calling_options}
            ${keep_options} --report "${base}.report.txt"
            --depfile "${base}.d" ${depfile_target} --stamp "${base}.stamp"
    ${after}
    DEPENDS ${sources} ${arg_VARIANT_FILE} ${tuning} ${arg_DEPENDS} ${shard_stamps} ${arg_TOOL}
    DEPFILE "${base}.d"
    ${job_pool}
    COMMENT "Compiling kernels ${target} for ${architecture_text}"
    VERBATIM)
  cmake_policy(POP)

  if(NOT arg_EMBED STREQUAL "HEADER")
    set_source_files_properties("${base}.o" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    add_library(${target} STATIC "${base}.o" "${base}.stamp")
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    add_custom_target(${target}_kernels ALL DEPENDS "${base}.stamp")
    add_dependencies(${target} ${target}_kernels)
    set(scope INTERFACE)
  endif()
  string(REPLACE ">" "$<ANGLE-R>" interface_dir "${include_dir}") # `>` would end the expression
  target_include_directories(${target} ${scope} "$<BUILD_INTERFACE:${interface_dir}>")
  target_compile_features(${target} ${scope} cxx_std_17)
  target_link_libraries(${target} ${scope} ${arg_RUNTIME})
  if(emulate)
    # Link order: the object refers to the host code, and the host code to <math.h>.
    target_link_libraries(${target} ${scope} "${base}.host.a" m)
  endif()

  set_target_properties(${target} PROPERTIES
    TRITONC_COMMAND "${command}"
    TRITONC_TOOL "${tool_program}"
    TRITONC_OUTPUTS "${outputs}"
    TRITONC_MANIFEST "${base}.manifest.json"
    TRITONC_EMULATE "${emulate}"
    TRITONC_HEADER "${header}"
    TRITONC_REGISTRATION "${base}.tuner.inc"
    TRITONC_C_HEADER "${c_header}"
    TRITONC_INCLUDE_DIR "${include_dir}")
  if(arg_EMBED STREQUAL "BUNDLE")
    set_target_properties(${target} PROPERTIES TRITONC_BUNDLE "${base}.tcb")
    _tritonc_add_bundle(${target})
  endif()

  if(arg_KEPT)
    set(${arg_KEPT} "${kept}" PARENT_SCOPE)
  endif()
  if(arg_MANIFEST)
    set(${arg_MANIFEST} "${base}.manifest.json" PARENT_SCOPE)
  endif()
  if(arg_REPORT)
    set(${arg_REPORT} "${base}.report.txt" PARENT_SCOPE)
  endif()
endfunction()

# Sets `before` and `after` to the commands before and after a call of the tool with
# TritonC_LAUNCHER. A launcher may exit with 0 although it lost the machine. Without these commands,
# the build would then accept an old stamp and old outputs as new.
function(_tritonc_guard_launch stamp)
  set(before "")
  set(after "")
  if(TritonC_LAUNCHER)
    set(before COMMAND "${CMAKE_COMMAND}" -E rm -f "${stamp}")
    set(after COMMAND "${CMAKE_COMMAND}" -D "STAMP=${stamp}" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/check_launched.cmake")
  endif()
  set(before "${before}" PARENT_SCOPE)
  set(after "${after}" PARENT_SCOPE)
endfunction()

# Rejects a name that CMake, make or Ninja do not pass on as it stands: they would miss a change of
# the file.
function(_tritonc_check_name call name)
  set(fix "rename the file or folder")
  string(ASCII 1 first)
  string(ASCII 31 last)
  string(REGEX REPLACE "[${first}-${last}]" "?" shown "${name}")
  if(NOT shown STREQUAL name)
    message(FATAL_ERROR "${call}: cannot use a control character in ${shown}: CMake, make and Ninja end a name there; ${fix}")
  endif()
  if(name MATCHES ";")
    message(FATAL_ERROR "${call}: cannot use `;` in ${name}: CMake, make and Ninja end a name there; ${fix}")
  endif()
  if(name MATCHES "\\\\")
    message(FATAL_ERROR "${call}: cannot use `\\` in ${name}: CMake reads it as `/`; ${fix}")
  endif()
  if(name MATCHES "\\$<")
    message(FATAL_ERROR "${call}: cannot use `$<` in ${name}: CMake reads it as a generator expression; ${fix}")
  endif()
  _tritonc_check_brackets("${call}" "${name}")
endfunction()

# CMake does not split a list after a `[` without a `]`.
function(_tritonc_check_brackets call text)
  string(REGEX REPLACE "[^[]" "" open "${text}")
  string(REGEX REPLACE "[^]]" "" closed "${text}")
  string(LENGTH "${open}" open)
  string(LENGTH "${closed}" closed)
  if(NOT open EQUAL closed)
    message(FATAL_ERROR "${call}: cannot use `[` or `]` alone in ${text}: CMake ends no list element after it; "
      "rename the file or folder, or write both brackets")
  endif()
endfunction()

# Parses the arguments of a function of this package, and sets arg_<KEYWORD>. It is a macro without
# arguments, because CMake evaluates the arguments of a macro twice. It reads these variables:
#
#   call         the call, for messages
#   arguments    the arguments
#   table        rows "<kind> <KEYWORD> <example of its values>". Kinds: `flag` takes no value, `one`
#                one value, `some` at least one, `any` any number. A row "rest" accepts arguments
#                without a keyword.
#   other_words  keywords of other tools, as pairs: the keyword, and the fix
macro(_tritonc_parse_arguments)
  foreach(kind IN ITEMS flag one some any)
    set(${kind}_keywords "${table}")
    list(FILTER ${kind}_keywords INCLUDE REGEX "^${kind} ")
    list(TRANSFORM ${kind}_keywords REPLACE "^${kind} ([A-Z0-9_]+).*$" "\\1")
  endforeach()
  cmake_parse_arguments(arg "${flag_keywords}" "${one_keywords}" "${some_keywords};${any_keywords}" ${arguments})
  _tritonc_check_keywords("${call}" "${table}" "${arguments}" "${other_words}")
  _tritonc_check_missing_values("${call}" "${table}" "${arg_KEYWORDS_MISSING_VALUES}")
endmacro()

# Rejects a keyword without a value. A list of kind `any` may be empty: VARIANTS ${perhaps_some}
function(_tritonc_check_missing_values call table missing)
  foreach(row IN LISTS table)
    if(row MATCHES "^(one|some) (([A-Z_]+) .*)$" AND CMAKE_MATCH_3 IN_LIST missing)
      message(FATAL_ERROR "${call}: ${CMAKE_MATCH_3} has no value; write it as ${CMAKE_MATCH_2}")
    endif()
  endforeach()
endfunction()

# Rejects unknown keywords. CMake takes an unknown keyword as a value of the keyword before it, so
# this function looks at each value.
function(_tritonc_check_keywords call table arguments other_words)
  set(keyword "") # the keyword before the value
  set(kind "")
  set(position 0)
  if("rest" IN_LIST table)
    set(kind some)
  endif()
  foreach(argument IN LISTS arguments)
    if(argument STREQUAL "") # CMake passes no empty arguments
      continue()
    endif()
    _tritonc_kind_of("${table}" "${argument}" kind_of_argument)
    if(kind_of_argument)
      string(CONCAT keyword "${argument}") # set() would read CACHE
      set(kind "${kind_of_argument}")
      set(position 0)
      continue()
    endif()
    math(EXPR position "${position} + 1")
    if(kind STREQUAL "one" AND position GREATER 1)
      set(kind "")
      if("rest" IN_LIST table)
        set(kind some)
      endif()
    endif()
    if(NOT kind STREQUAL "one") # one value may be any word
      _tritonc_check_other_words("${call}" "${argument}" "${other_words}")
      _tritonc_check_value("${call}" "${table}" "${argument}" "${keyword}" "${kind}" ${position})
    endif()
  endforeach()
endfunction()

# Sets <out> to the kind of the keyword; empty if the word is no keyword.
function(_tritonc_kind_of table word out)
  set(${out} "" PARENT_SCOPE)
  foreach(row IN LISTS table)
    if(row MATCHES "^([a-z]+) ([A-Z0-9_]+)" AND CMAKE_MATCH_2 STREQUAL word)
      set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Rejects a keyword of another tool, with the fix.
function(_tritonc_check_other_words call argument other_words)
  list(FIND other_words "${argument}" place)
  if(place GREATER -1 AND argument MATCHES "^[A-Z_]+$")
    math(EXPR place "${place} + 1")
    list(GET other_words ${place} fix)
    message(FATAL_ERROR "${call}: unknown keyword ${argument}; ${fix}")
  endif()
endfunction()

# Rejects a value that is an unknown keyword:
#
#   - a word in upper case that is similar to a keyword,
#   - a word in upper case where no value is such a word: ARCHITECTURES 80 FOO
#   - a value that belongs to no keyword.
#
# `keyword` is the keyword before the value, `kind` its kind, or empty if it takes no more values.
function(_tritonc_check_value call table value keyword kind position)
  _tritonc_keywords("${table}" keywords)
  if(value MATCHES "^([A-Z_]+)\\[.*\\]$" AND "VARIANTS" IN_LIST keywords)
    _tritonc_nearest("${CMAKE_MATCH_1}" "VARIANTS;SPECIALIZE" nearest)
    message(FATAL_ERROR "${call}: unknown keyword ${value}; did you mean ${nearest}[...]?")
  endif()
  if(value MATCHES "^[A-Z_]+\\[.*\\]$")
    _tritonc_unknown_keyword("${call}" "${table}" "${value}" "${keyword}")
  endif()
  if(value MATCHES "^[A-Z_]+$" AND NOT value MATCHES "^(ON|OFF)$" AND NOT TARGET "${value}")
    _tritonc_similar("${value}" "${keywords}" similar)
    if(similar)
      _tritonc_unknown_keyword("${call}" "${table}" "${value}" "${keyword}")
    endif()
  endif()
  if(kind STREQUAL "flag" AND position EQUAL 1)
    message(FATAL_ERROR "${call}: ${keyword} takes no value; remove ${value}")
  endif()
  if(NOT kind MATCHES "^(some|any)$")
    _tritonc_unknown_keyword("${call}" "${table}" "${value}" "")
  endif()

  # These lists may contain any words; and a value of VARIANTS may lack only its `=`.
  set(any_words KERNELS VARIANTS WHERE DEFAULT_VARIANT GRID DEFINES PTXAS_OPTIONS COMPILE_OPTIONS DEPENDS LINK_LIBRARIES)
  string(REGEX REPLACE "_[0-9]+$" "" name "${keyword}")
  if(name IN_LIST any_words OR NOT value MATCHES "^[A-Z][A-Z0-9_]*$")
    return()
  endif()
  # These keywords have words of their own, which _tritonc_check_first_word() checks.
  if(keyword MATCHES "^(EMULATE|PTX)$" AND (position EQUAL 1 OR value MATCHES "^(ON|OFF|NONE|AUTO)$"))
    return()
  endif()
  if(keyword MATCHES "^(SOURCES|TUNING|INCLUDE_DIRECTORIES)$" AND EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${value}")
    return()
  endif()
  if(NOT TARGET "${value}")
    _tritonc_unknown_keyword("${call}" "${table}" "${value}" "${keyword}")
  endif()
endfunction()

# Sets <out> to the keywords, without VARIANTS_0 and so on, which stand for VARIANTS[...].
function(_tritonc_keywords table out)
  list(TRANSFORM table REPLACE "^[a-z]+ ?([A-Z_]*).*$" "\\1")
  list(FILTER table EXCLUDE REGEX "^$|_$")
  set(${out} "${table}" PARENT_SCOPE)
endfunction()

# Stops with a message about an argument that is no keyword of the function. `keyword` is the
# keyword before it, or empty.
function(_tritonc_unknown_keyword call table argument keyword)
  _tritonc_keywords("${table}" keywords)
  _tritonc_similar("${argument}" "${keywords}" similar)
  if(similar)
    message(FATAL_ERROR "${call}: unknown keyword ${argument}; did you mean ${similar}?")
  endif()
  string(REPLACE ";" " " all "${keywords}")
  if(NOT argument MATCHES "^[A-Z][A-Z0-9_]*(\\[.*\\])?$")
    message(FATAL_ERROR "${call}: expected a keyword but found ${argument}; keywords: ${all}")
  endif()
  set(values "")
  foreach(row IN LISTS table)
    if(row MATCHES "^(some|any) (${keyword} .*)$")
      set(values "; write the values of ${keyword} as ${CMAKE_MATCH_2}")
    endif()
  endforeach()
  message(FATAL_ERROR "${call}: unknown keyword ${argument}${values}; keywords: ${all}")
endfunction()

# Sets <out> to the keyword that the user may have meant by this word; empty if none is similar. A
# word of one or two letters is similar to none: DEFINES N.
function(_tritonc_similar word keywords out)
  _tritonc_nearest("${word}" "${keywords}" nearest distance)
  math(EXPR twice "2 * ${distance}")
  string(LENGTH "${word}" length)
  set(${out} "" PARENT_SCOPE)
  if(length GREATER 2 AND distance LESS_EQUAL 3 AND twice LESS_EQUAL length)
    set(${out} "${nearest}" PARENT_SCOPE)
  endif()
endfunction()

function(_tritonc_check_sources call sources out)
  if(NOT sources)
    message(FATAL_ERROR "${call}: SOURCES is missing; name at least one .tc file")
  endif()
  set(absolute "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    get_source_file_property(generated "${path}" GENERATED)
    if(NOT EXISTS "${path}" AND NOT generated)
      cmake_path(GET path PARENT_PATH dir)
      string(REGEX REPLACE "([][*?])" "[\\1]" pattern "${dir}") # the folder's name is no pattern
      file(GLOB there RELATIVE "${dir}" "${pattern}/*.tc")
      set(hint "")
      if(there)
        cmake_path(GET path FILENAME name)
        _tritonc_nearest("${name}" "${there}" nearest)
        set(hint "; did you mean ${nearest}?")
      endif()
      message(FATAL_ERROR "${call}: source ${path} does not exist${hint}")
    endif()
    list(APPEND absolute "${path}")
  endforeach()
  set(${out} "${absolute}" PARENT_SCOPE)
endfunction()

# Checks the scope in VARIANTS[...]: a kernel, one of ARCHITECTURES, or both.
function(_tritonc_check_scope call scope architectures sources)
  set(keyword "VARIANTS[${scope}]")
  string(REPLACE "," ";" parts "${scope}")
  list(LENGTH parts count)
  if(count LESS 1 OR count GREATER 2)
    message(FATAL_ERROR "${call}: ${keyword}: write VARIANTS[kernel], VARIANTS[sm_90a] or VARIANTS[kernel,sm_90a]")
  endif()
  foreach(part IN LISTS parts)
    if(NOT part MATCHES "^(sm_|[0-9])")
      _tritonc_check_kernel("${call}" "${keyword}" "${part}" "${sources}")
      continue()
    endif()
    _tritonc_known_architectures("${call}" "${part}" plain)
    if(NOT plain IN_LIST architectures)
      string(REPLACE ";" " " compiled "${architectures}")
      message(FATAL_ERROR "${call}: ${keyword}: ${plain} is not in ARCHITECTURES ${compiled}; add it there")
    endif()
  endforeach()
endfunction()

# Rejects a kernel that the sources do not contain. If the sources include files or build names with
# macros, only the tool can check this.
function(_tritonc_check_kernel call keyword kernel sources)
  if(NOT kernel MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "${call}: ${keyword}: \"${kernel}\" is not an identifier; write the name of a kernel")
  endif()
  set(kernels "")
  foreach(source IN LISTS sources)
    if(NOT EXISTS "${source}")
      return()
    endif()
    file(READ "${source}" text)
    if(text MATCHES "#[ \t]*include|##")
      return()
    endif()
    string(REGEX MATCHALL "void[ \t\r\n]+[A-Za-z_][A-Za-z0-9_]*[ \t\r\n]*\\(" heads "${text}")
    foreach(head IN LISTS heads)
      string(REGEX REPLACE "^void[ \t\r\n]+([A-Za-z0-9_]+).*$" "\\1" name "${head}")
      list(APPEND kernels "${name}")
    endforeach()
  endforeach()
  if(kernels AND NOT kernel IN_LIST kernels)
    _tritonc_nearest("${kernel}" "${kernels}" nearest)
    message(FATAL_ERROR "${call}: ${keyword}: unknown kernel ${kernel}; did you mean ${nearest}?")
  endif()
endfunction()

# Sets <out> to the LLVM triple of the target; empty if the target is this machine.
function(_tritonc_target_triple call out)
  set(${out} "" PARENT_SCOPE)
  if(CMAKE_CXX_COMPILER_TARGET AND NOT APPLE)
    set(${out} "${CMAKE_CXX_COMPILER_TARGET}" PARENT_SCOPE)
    return()
  endif()
  if(NOT CMAKE_CROSSCOMPILING OR CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
    return()
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
    set(${out} "aarch64-linux-gnu" PARENT_SCOPE)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    set(${out} "x86_64-linux-gnu" PARENT_SCOPE)
  else()
    message(FATAL_ERROR "${call}: cannot write an object file for CMAKE_SYSTEM_PROCESSOR ${CMAKE_SYSTEM_PROCESSOR}; "
      "use EMBED HEADER")
  endif()
endfunction()

# Sets <out> to the value of the tool's --ptx: empty, auto, or architectures. Later GPUs can run PTX
# only for an architecture without a letter.
function(_tritonc_check_ptx call values out)
  list(LENGTH values count)
  if(count GREATER 1 AND ("AUTO" IN_LIST values OR "NONE" IN_LIST values))
    message(FATAL_ERROR "${call}: cannot combine PTX NONE or AUTO with other values; write NONE, AUTO or a list of architectures")
  endif()
  set(${out} "" PARENT_SCOPE)
  if(values STREQUAL "AUTO")
    set(${out} auto PARENT_SCOPE)
  elseif(count AND NOT values STREQUAL "NONE")
    _tritonc_check_first_word("${call}" PTX "${values}" "NONE, AUTO or a list of architectures, such as PTX 80")
    _tritonc_known_architectures("${call}" "${values}" plain)
    foreach(architecture IN LISTS plain)
      if(architecture MATCHES "^([0-9]+)[a-z]$")
        message(FATAL_ERROR "${call}: PTX ${architecture}: later GPUs cannot run this PTX; write PTX ${CMAKE_MATCH_1}")
      endif()
    endforeach()
    set(${out} "${plain}" PARENT_SCOPE)
  endif()
endfunction()

# Rejects a first value that is neither a word of this keyword nor an architecture.
function(_tritonc_check_first_word call keyword values expected)
  list(GET values 0 first)
  if(NOT first MATCHES "^(sm_)?[0-9]")
    message(FATAL_ERROR "${call}: unknown value ${first} for ${keyword}; write ${expected}")
  endif()
endfunction()

# Sets <out> to the architectures that get host code. Each must be one of ARCHITECTURES.
function(_tritonc_check_emulate call values architectures out)
  list(LENGTH values count)
  if(count GREATER 1 AND ("ON" IN_LIST values OR "OFF" IN_LIST values))
    message(FATAL_ERROR "${call}: cannot combine EMULATE ON or OFF with other values; write ON, OFF or a list of architectures")
  endif()
  if(count EQUAL 0 OR values STREQUAL "OFF")
    set(${out} "" PARENT_SCOPE)
    return()
  endif()
  if(values STREQUAL "ON")
    set(${out} "${architectures}" PARENT_SCOPE)
    return()
  endif()
  _tritonc_check_first_word("${call}" EMULATE "${values}" "ON, OFF or a list of architectures, such as EMULATE 80 90a")
  _tritonc_known_architectures("${call}" "${values}" plain)
  foreach(architecture IN LISTS plain)
    if(NOT architecture IN_LIST architectures)
      string(REPLACE ";" " " compiled "${architectures}")
      message(FATAL_ERROR "${call}: EMULATE ${architecture} is not in ARCHITECTURES ${compiled}; add it there")
    endif()
  endforeach()
  set(${out} "${plain}" PARENT_SCOPE)
endfunction()

function(_tritonc_check_architectures call architectures out)
  if(NOT architectures)
    set(architectures "${CMAKE_CUDA_ARCHITECTURES}")
  endif()
  if(NOT architectures)
    message(FATAL_ERROR "${call}: ARCHITECTURES is missing and CMAKE_CUDA_ARCHITECTURES is not set; "
      "name GPUs such as 80 90a")
  endif()
  _tritonc_known_architectures("${call}" "${architectures}" plain)
  set(${out} "${plain}" PARENT_SCOPE)
endfunction()

# Converts "sm_90a", "90a-real" and "90a" to "90a" and removes duplicates.
function(_tritonc_known_architectures call architectures out)
  string(REPLACE ";" " " known "${TritonC_KNOWN_ARCHITECTURES}")
  set(plain "")
  foreach(architecture IN LISTS architectures)
    string(REGEX REPLACE "^sm_|-real$" "" name "${architecture}")
    if(name MATCHES "^(native|all|all-major)$")
      message(FATAL_ERROR "${call}: cannot use ${architecture} as an architecture: TritonC compiles ahead of time, without "
        "a look at this machine; name each GPU, such as 80 90a; supported: ${known}")
    endif()
    if(name MATCHES "^([0-9]+)-virtual$")
      message(FATAL_ERROR "${call}: cannot use ${architecture} as an architecture: it is PTX and no GPU code; write PTX ${CMAKE_MATCH_1}")
    endif()
    if(NOT name IN_LIST TritonC_KNOWN_ARCHITECTURES)
      set(suggestion "")
      if(name MATCHES "^[0-9]")
        _tritonc_nearest("${name}" "${TritonC_KNOWN_ARCHITECTURES}" nearest)
        set(suggestion "; did you mean ${nearest}?")
      endif()
      message(FATAL_ERROR "${call}: unknown architecture ${architecture}${suggestion}; supported: ${known}")
    endif()
    list(APPEND plain "${name}")
  endforeach()
  list(REMOVE_DUPLICATES plain)
  set(${out} "${plain}" PARENT_SCOPE)
endfunction()

function(_tritonc_check_choice call keyword value choices)
  if(NOT value IN_LIST choices)
    _tritonc_nearest("${value}" "${choices}" nearest distance)
    math(EXPR twice "2 * ${distance}")
    string(LENGTH "${value}" length)
    if(twice LESS_EQUAL length)
      message(FATAL_ERROR "${call}: unknown value ${value} for ${keyword}; did you mean ${nearest}?")
    endif()
    list(POP_BACK choices last)
    string(JOIN ", " all ${choices})
    message(FATAL_ERROR "${call}: unknown value ${value} for ${keyword}; write ${all} or ${last}")
  endif()
endfunction()

# Checks limits. The tool has the same syntax (generator/jobs/limits.h).
function(_tritonc_check_limits call limits)
  set(quantities spills regs shared stack threads cubin embedded total)
  foreach(limit IN LISTS limits)
    if(NOT limit MATCHES "^ *([a-z]+) *(==|!=|<=|>=|<|>) *[0-9]+k? *$")
      message(FATAL_ERROR "${call}: REQUIRE \"${limit}\": write it as spills == 0 or shared <= 100k")
    endif()
    if(NOT CMAKE_MATCH_1 IN_LIST quantities)
      _tritonc_nearest("${CMAKE_MATCH_1}" "${quantities}" nearest)
      message(FATAL_ERROR "${call}: REQUIRE \"${limit}\": unknown quantity ${CMAKE_MATCH_1}; did you mean ${nearest}?")
    endif()
  endforeach()
endfunction()

# Checks specializations. The tool has the same syntax (generator/variants/specialization.h).
function(_tritonc_check_specializations call keyword all)
  set(pattern " *[A-Za-z_][A-Za-z0-9_]* *(% *[0-9]+( *== *0)?|== *-?[0-9]+) *")
  foreach(specialization IN LISTS all)
    if(NOT specialization MATCHES "^${pattern}(&&${pattern})*$")
      message(FATAL_ERROR "${call}: ${keyword} \"${specialization}\": write it as lda % 8 && n == 1")
    endif()
  endforeach()
endfunction()

function(_tritonc_check_assignments call keyword pattern example values)
  foreach(value IN LISTS values)
    if(NOT value MATCHES "^[A-Za-z_][A-Za-z0-9_]*${pattern}$")
      message(FATAL_ERROR "${call}: ${keyword} \"${value}\": write it as ${example}")
    endif()
  endforeach()
endfunction()

# Sets <out> to the candidate with the smallest edit distance, and the optional variable after it to
# this distance. Upper and lower case are the same. If the word is a prefix of candidates, the
# distance is 0 and the shortest candidate wins. Only error paths call this function, so it may be
# slow.
function(_tritonc_nearest word candidates out)
  set(best "")
  set(best_distance 1000)
  string(TOUPPER "${word}" word)
  foreach(candidate IN LISTS candidates)
    string(TOUPPER "${candidate}" upper)
    string(FIND "${upper}" "${word}" place)
    if(place EQUAL 0)
      set(distance 0)
    else()
      _tritonc_edit_distance("${word}" "${upper}" distance)
    endif()
    string(LENGTH "${candidate}" length)
    if(distance LESS best_distance OR (distance EQUAL 0 AND length LESS best_length))
      string(CONCAT best "${candidate}") # not set(): CACHE is a keyword of set()
      set(best_length ${length})
      set(best_distance ${distance})
    endif()
  endforeach()
  set(${out} "${best}" PARENT_SCOPE)
  if(ARGC GREATER 3)
    set(${ARGV3} ${best_distance} PARENT_SCOPE)
  endif()
endfunction()

# Sets <out> to the Levenshtein distance. Computes the table row by row.
function(_tritonc_edit_distance from to out)
  string(LENGTH "${from}" from_length)
  string(LENGTH "${to}" to_length)
  set(row "")
  foreach(column RANGE ${to_length})
    list(APPEND row ${column})
  endforeach()
  set(i 0)
  while(i LESS from_length)
    string(SUBSTRING "${from}" ${i} 1 letter)
    math(EXPR i "${i} + 1")
    set(next ${i})
    set(left ${i})
    set(j 0)
    while(j LESS to_length)
      string(SUBSTRING "${to}" ${j} 1 other)
      list(GET row ${j} diagonal)
      math(EXPR j "${j} + 1")
      list(GET row ${j} above)
      if(NOT letter STREQUAL other)
        math(EXPR diagonal "${diagonal} + 1")
      endif()
      math(EXPR above "${above} + 1")
      math(EXPR left "${left} + 1")
      foreach(way IN ITEMS ${diagonal} ${above})
        if(way LESS left)
          set(left ${way})
        endif()
      endforeach()
      list(APPEND next ${left})
    endwhile()
    set(row ${next})
  endwhile()
  list(GET row ${to_length} distance)
  set(${out} ${distance} PARENT_SCOPE)
endfunction()

cmake_policy(POP)
