# triton_add_kernels(<target>
#   SOURCES <file.tc>...               Triton-C files; each kernel in them becomes a class in the header
#   ARCHITECTURES <arch>...            GPUs to compile for: 80 90a ... ("sm_90a" and "90-real" are understood);
#                                      default: CMAKE_CUDA_ARCHITECTURES
#   [PTX NONE|AUTO|<arch>...]          whether to add PTX, which the driver compiles for GPUs that no code is for (see below):
#                                      AUTO, of the first of the ARCHITECTURES that later GPUs run; or of which. Default NONE
#   [VARIANTS <AXIS=value,...>...]     values of macros; all combinations are compiled. An axis that the source declares
#                                      is restricted to these values, any other is added to those it declares
#   [VARIANTS[<kernel>] <AXIS=value,...>...]   what this kernel has instead; likewise VARIANTS[sm_90a] for one GPU, and
#                                      VARIANTS[<kernel>,sm_90a]. What is said for a GPU goes before what is for a kernel.
#                                      A GPU also runs code for older ones of its generation (sm_90a that for sm_90), but only
#                                      where no variant with code for itself takes the arguments
#   [VARIANT_FILE <file.json>]         the variants there shall be: [{"TM": 64, "TN": [64, 128]}, ...]; "kernel" and "arch"
#                                      in an entry say what it is meant for, and what no entry is meant for has all
#   [WHERE <condition>...]             only variants for which these hold: "TM * TN <= 16384 && TYPE != float"; C's
#                                      operators on axes, `arch` (90 for sm_90a) and `kernel`
#   [SPECIALIZE <hints>...]            what arguments often are: "lda % 8 && ldb % 8" "n == 1". For each of these there is code
#                                      besides, which a launch takes where all of it is true of its arguments; they are tried in this
#                                      order, and the general code last. `%` says that an integer is a multiple, or an address
#   [SPECIALIZE[<kernel>] <hints>...]  what this kernel has instead; no hints: none
#   [DEFAULT_VARIANT <AXIS=value>...]  what a launch prefers where it is not known what variants cost; default: the largest tiles
#                                      that keep all values in registers
#   [KERNELS <name>...]                only these kernels of the sources; default: all
#   [GRID <expression>...]             grid of every kernel, instead of the one its source declares: "M / TM" "N / TN"
#   [DEFINES <NAME[=tokens]>...]       macros, the same for all variants
#   [INCLUDE_DIRECTORIES <dir>...]     where #include also looks
#   [NAMESPACE <name>]                 C++ namespace of the header, default <target>; may be nested: a::b
#   [HEADER <name.hpp>]                what the application includes, default <target>.hpp
#   [C_HEADER <name.h>]                a header for C besides, in the same folder
#   [OUTPUT_DIR <dir>]                 where all files go, below the current build folder; default <target>.kernels
#   [EMBED OBJECT|HEADER|BUNDLE]       where the GPU code goes: into an object file (default), into the header itself, or into a
#                                      file <target>.tcb beside every program and shared library that links the kernels, from
#                                      which each kernel is read when it is first used: for very many variants (see below)
#   [EMULATE ON|OFF|<arch>...]         also compile for this machine's CPU what is compiled for these GPUs (ON: for all), so
#                                      that kernels can be run and checked without a GPU (see below); default OFF
#   [COMPRESS none|speed|balance|size] how the GPU code is packed; default balance. The driver unpacks all of them, speed in
#                                      less than half the time of balance, which is a quarter smaller (runtime/README.md)
#   [MIN_DRIVER <12.x>]                the oldest driver that shall run the kernels, as the version of CUDA that it is for: stops
#                                      the build if the code needs a newer one, and packs it with speed where drivers before
#                                      12.4 are meant, which know neither balance nor size. Default: what the tools make, which
#                                      is for drivers of their own major version
#   [CHECKS ON|OFF]                    whether code for GPUs has the `assert` and `print` of the kernels, which the emulator's always
#                                      has: an assertion that fails ends the launch, and is told on standard error; what is printed
#                                      comes out on standard output when the program waits for the GPU. Default OFF
#   [LINEINFO ON|OFF]                  whether profilers can show lines of the source; the code is larger then. Default OFF
#   [PTXAS_OPTIONS <option>...]        given to ptxas behind our own
#   [TIMEOUT <seconds>]                that one run of ptxas may take, default 120
#   [KEEP <form>...]                   forms of every kernel that are written besides: tile-ir llvm ptx cubin sass-stats
#   [KEPT <variable>]                  is set to the folder of those; index.json in it says which file is what
#   [SHARDS AUTO|<number>]             divides the work among so many calls of the tool, AUTO: one per core, that write machine
#                                      code, and one that makes a library of it: for Ninja and TritonC_LAUNCHER to distribute.
#                                      Default: one call, which uses all cores by itself, and the cache, which parts do not
#   [JOB_POOL <pool>]                  a pool of Ninja's: how many calls of the tool run at once
#   [REQUIRE <limit>...]               stops the build unless all that is compiled keeps to it: "spills == 0" "regs <= 168"
#                                      "shared <= 100k"; also stack, threads, cubin, embedded, and total, of all images
#   [TUNING <file.json>...]            what `tritonc tune` measured (TritonCTuner.cmake): launches choose variants by it. Where two
#                                      say something of the same, the later one counts
#   [WERROR]                           a warning about a kernel stops the build; COMPILE_OPTIONS -Wno-spills drops those of one name
#   [QUIET]                            does not say how far it is
#   [CACHE <dir>|OFF]                  where compiled code is kept between builds; default TritonC_CACHE_DIR if that variable is set,
#                                      else what the environment says, else ~/.cache/tritonc. TritonC_CACHE_LIMIT: its size (2G)
#   [COMPILE_OPTIONS <option>...]      given to the tool behind all others
#   [DEPENDS <file or target>...]      what must be there, and up to date, before the kernels are compiled
#   [TOOL <target or program>]         in place of TritonC::tritonc
#   [RUNTIME <target>]                 in place of TritonC::runtime
#   [MANIFEST <variable>]              is set to the path of the manifest (JSON: all that was compiled, and how)
#   [REPORT <variable>]                is set to the path of the report (text: registers, shared memory, spills, sizes)
# )
#
# Compiles kernels for all variants and GPUs while the project is built; no GPU is needed for that. <target> becomes a
# library: target_link_libraries(app PRIVATE <target>) is all that an application needs in order to #include <target>.hpp.
#
# With EMULATE the program runs as it is where there is no GPU, on an emulator that looks at every access for races, bounds
# and memory that nobody wrote. It is slow, and meant for tests. The environment says that it takes the driver's place:
#
#   triton_add_kernels(gemm SOURCES gemm.tc ARCHITECTURES 80 90a EMULATE ON)
#   add_test(NAME gemm COMMAND test_gemm)
#   set_tests_properties(gemm PROPERTIES ENVIRONMENT "TRITONC_DRIVER=$<TARGET_FILE:TritonC::emulator>")
#
# Code for a GPU runs on those of its generation that are not older (sm_80 on 8.6 and 8.9), code with a letter (sm_90a) on that
# one alone. On any other GPU, such as next year's, a launch is told `no_image_for_device`: nothing is compiled where the program
# runs unless you say so. With PTX it runs there too: the driver compiles each kernel when it is first used, which took 44 to
# 223 ms on an H200, and keeps the result in its own cache. The hook `on_jit` tells of it (tritonc/hooks.hpp),
# and preload() does it ahead. For programs that are given away, PTX AUTO; where you know the machines, name their GPUs.
# PTX has the structures that all GPUs from its own on can run, so code for a GPU itself may be several times as fast.
#
# With EMBED BUNDLE objects and programs stay small, and only what is launched is ever read. Targets of the project that link the
# kernels get the file beside them; triton_install_kernels() installs it, and triton_place_bundles() does the same for targets of
# other projects (TritonCBundles.cmake). It is looked for in the folders of the environment's
# TRITONC_BUNDLE_PATH, then in the folder of the program or shared library that has the kernels. It must be the one that was made with
# them: a launch is told `no_bundle`, `wrong_bundle` or `corrupt_bundle` otherwise.
#
# A shard reads its sources and writes its files, by paths relative to the build folder, and nothing else.
# TritonC_LAUNCHER, a list, goes before every call of the tool, as CMAKE_CXX_COMPILER_LAUNCHER does before the compiler's. If
# it ends as if all were well though the tool did not, the build fails; behind the script launch_again, beside this file, it
# may lose machines. The README shows that with Slurm. `cmake --build build -j 64` then has 64 parts compiled at a time, and
# pools limit what this machine does itself:
#
#   set_property(GLOBAL PROPERTY JOB_POOLS here=8)
#   set(CMAKE_JOB_POOL_COMPILE here)
#   set(CMAKE_JOB_POOL_LINK here)
#
# Kernels are compiled again when a source, a file that one includes, an option or the compiler changes. The header is
# only written when it changes, so editing the body of a kernel compiles no C++ again.
#
# Names of files and folders may have blanks, `$`, `#`, letters of any language, but no `;`: CMake separates lists with it, and make
# and Ninja end a name with it, so that a file that changed would be missed. The call stops there.

# Where the project is for another processor than the machine that builds, so is the object. triton_add_kernel_test(),
# triton_add_tuner() and triton_install_kernels() are described in TritonCKernelTest.cmake, TritonCTuner.cmake and
# TritonCInstallKernels.cmake.

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

include("${CMAKE_CURRENT_LIST_DIR}/TritonCKernelTest.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TritonCInstallKernels.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/TritonCTuner.cmake")

function(triton_add_kernels target)
  set(flags WERROR QUIET)
  set(single_value NAMESPACE HEADER C_HEADER OUTPUT_DIR EMBED VARIANT_FILE COMPRESS MIN_DRIVER LINEINFO CHECKS TIMEOUT CACHE TOOL RUNTIME KEPT
    SHARDS JOB_POOL MANIFEST REPORT)
  set(multi_value SOURCES KERNELS ARCHITECTURES VARIANTS WHERE SPECIALIZE DEFAULT_VARIANT GRID DEFINES INCLUDE_DIRECTORIES
    EMULATE PTX PTXAS_OPTIONS COMPILE_OPTIONS DEPENDS KEEP REQUIRE TUNING)
  set(call "triton_add_kernels(${target})")
  _tritonc_check_semicolons("${call}" "${CMAKE_CURRENT_SOURCE_DIR}")
  _tritonc_check_semicolons("${call}" "${CMAKE_CURRENT_BINARY_DIR}")
  set(before "")
  math(EXPR last "${ARGC} - 1")
  foreach(i RANGE ${last})
    # What is one value here is several below if there is a `;` in it. Where it may be several, it is one name if there is such a file.
    string(REPLACE "\\;" ";" argument "${ARGV${i}}")
    foreach(name IN LISTS ARGV${i} ITEMS "${argument}")
      cmake_path(ABSOLUTE_PATH name OUTPUT_VARIABLE path)
      if(before IN_LIST single_value OR EXISTS "${path}")
        _tritonc_check_semicolons("${call}" "${name}")
      endif()
    endforeach()
    string(CONCAT before "${argument}") # set() would read CACHE
  endforeach()
  # HEADER is a keyword and a value of another one; as a value it would end EMBED.
  string(REGEX REPLACE "(^|;)EMBED;HEADER(;|$)" "\\1EMBED;header\\2" arguments "${ARGN}")
  # VARIANTS[...] and SPECIALIZE[...] are as many keywords as are written, of names that variables can have.
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
      list(APPEND scoped_values ${keyword}_${number})
      string(REPLACE "${keyword}[${scope}]" "${keyword}_${number}" arguments "${arguments}")
    endforeach()
  endforeach()
  cmake_parse_arguments(arg "${flags}" "${single_value}" "${multi_value};${scoped_values}" ${arguments})
  _tritonc_check_keywords("${call}" "${single_value}" "${flags};${multi_value}" "${arguments}" "${arg_UNPARSED_ARGUMENTS}")
  foreach(keyword IN LISTS single_value) # a list may be empty: VARIANTS ${perhaps_some}
    if(keyword IN_LIST arg_KEYWORDS_MISSING_VALUES)
      message(FATAL_ERROR "${call}: ${keyword} has no value")
    endif()
  endforeach()
  if(TARGET "${target}")
    message(FATAL_ERROR "${call}: there is a target of this name already")
  endif()
  if(NOT target MATCHES "^[A-Za-z_][A-Za-z0-9_]*$" AND NOT arg_NAMESPACE)
    message(FATAL_ERROR "${call}: the target's name is no C++ name; give the namespace with NAMESPACE")
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
      message(FATAL_ERROR "${call}: there is no VARIANT_FILE ${arg_VARIANT_FILE}")
    endif()
  endif()
  set(tuning "")
  set(tuning_options "")
  foreach(file IN LISTS arg_TUNING)
    cmake_path(ABSOLUTE_PATH file NORMALIZE)
    get_source_file_property(generated "${file}" GENERATED)
    if(NOT EXISTS "${file}" AND NOT generated)
      message(FATAL_ERROR "${call}: there is no TUNING ${file}; tritonc tune writes it, of a build without")
    endif()
    list(APPEND tuning "${file}")
    list(APPEND tuning_options --tuning "${file}")
  endforeach()
  _tritonc_check_limits("${call}" "${arg_REQUIRE}")
  _tritonc_check_hints("${call}" SPECIALIZE "${arg_SPECIALIZE}")
  set(hints ${arg_SPECIALIZE})
  set(number 0)
  foreach(kernel IN LISTS SPECIALIZE_scopes)
    set(keyword "SPECIALIZE[${kernel}]")
    if(kernel MATCHES "^sm_|,")
      message(FATAL_ERROR "${call}: ${keyword}: hints are for a kernel, on all GPUs; write SPECIALIZE[kernel]")
    endif()
    _tritonc_check_kernel("${call}" "${keyword}" "${kernel}" "${sources}")
    _tritonc_check_hints("${call}" "${keyword}" "${arg_SPECIALIZE_${number}}")
    if("${arg_SPECIALIZE_${number}}" STREQUAL "")
      list(APPEND hints "[${kernel}]")
    endif()
    foreach(one IN LISTS arg_SPECIALIZE_${number})
      list(APPEND hints "[${kernel}]${one}")
    endforeach()
    math(EXPR number "${number} + 1")
  endforeach()
  _tritonc_check_assignments("${call}" DEFAULT_VARIANT "=[^,]+" "TM=64" "${arg_DEFAULT_VARIANT}")
  _tritonc_check_assignments("${call}" DEFINES "(=.*)?" "NAME or NAME=value" "${arg_DEFINES}")
  if(NOT arg_NAMESPACE)
    set(arg_NAMESPACE "${target}")
  endif()
  if(NOT arg_NAMESPACE MATCHES "^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$")
    message(FATAL_ERROR "${call}: NAMESPACE ${arg_NAMESPACE}: write it as in C++: a::b")
  endif()
  if(NOT arg_HEADER)
    set(arg_HEADER "${target}.hpp")
  endif()
  if(arg_HEADER MATCHES "^/|(^|/)\\.\\.(/|$)|/$")
    message(FATAL_ERROR "${call}: HEADER ${arg_HEADER}: write what the application includes, such as my/${target}.hpp")
  endif()
  if(arg_C_HEADER MATCHES "^/|(^|/)\\.\\.(/|$)|/$" OR arg_C_HEADER STREQUAL arg_HEADER)
    message(FATAL_ERROR "${call}: C_HEADER ${arg_C_HEADER}: write what the application includes, such as my/${target}.h")
  endif()
  if(NOT arg_EMBED)
    set(arg_EMBED OBJECT)
  endif()
  string(TOUPPER "${arg_EMBED}" arg_EMBED)
  _tritonc_check_choice("${call}" EMBED "${arg_EMBED}" "OBJECT;HEADER;BUNDLE")

  if(arg_C_HEADER AND arg_EMBED STREQUAL "HEADER")
    message(FATAL_ERROR "${call}: C_HEADER needs EMBED OBJECT or BUNDLE; there is no code in it")
  endif()

  if(arg_MIN_DRIVER AND NOT arg_MIN_DRIVER MATCHES "^(1[2-9]|[2-9][0-9])\\.[0-9]$")
    message(FATAL_ERROR "${call}: MIN_DRIVER ${arg_MIN_DRIVER}: write it as a version of CUDA, such as 12.2")
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
    message(FATAL_ERROR "${call}: KEPT without KEEP; name what is kept, such as KEEP ptx")
  endif()
  if(arg_SHARDS STREQUAL "AUTO")
    cmake_host_system_information(RESULT arg_SHARDS QUERY NUMBER_OF_LOGICAL_CORES)
  elseif(arg_SHARDS AND NOT arg_SHARDS MATCHES "^[1-9][0-9]?[0-9]?$")
    message(FATAL_ERROR "${call}: SHARDS ${arg_SHARDS}: write AUTO or a number up to 999")
  endif()
  if(arg_TIMEOUT AND NOT arg_TIMEOUT MATCHES "^[1-9][0-9]*$")
    message(FATAL_ERROR "${call}: TIMEOUT ${arg_TIMEOUT}: write it as a number of seconds")
  endif()

  _tritonc_check_emulate("${call}" "${arg_EMULATE}" "${architectures}" emulate)
  if(emulate AND CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "${call}: EMULATE compiles for this machine, and the project is for another")
  endif()
  if(emulate AND arg_EMBED STREQUAL "HEADER")
    message(FATAL_ERROR "${call}: EMULATE needs EMBED OBJECT; code for the CPU cannot be in a header")
  endif()

  if(NOT arg_OUTPUT_DIR)
    set(arg_OUTPUT_DIR "${target}.kernels")
  endif()
  cmake_path(ABSOLUTE_PATH arg_OUTPUT_DIR BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)
  get_property(taken GLOBAL PROPERTY TRITONC_OUTPUT_DIRS)
  if(arg_OUTPUT_DIR IN_LIST taken)
    message(FATAL_ERROR "${call}: OUTPUT_DIR ${arg_OUTPUT_DIR} is another target's; each needs one of its own")
  endif()
  set_property(GLOBAL APPEND PROPERTY TRITONC_OUTPUT_DIRS "${arg_OUTPUT_DIR}")
  set(include_dir "${arg_OUTPUT_DIR}/include")
  set(header "${include_dir}/${arg_HEADER}")
  set(base "${arg_OUTPUT_DIR}/${target}")
  cmake_path(GET header PARENT_PATH header_dir)
  file(MAKE_DIRECTORY "${header_dir}")

  # `outputs` is what a test compares: pairs of an option and a file.
  string(TOLOWER "${arg_EMBED}" embed)
  set(options --name "${target}" --namespace "${arg_NAMESPACE}" --embed "${embed}")
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
  set(host_options "")
  if(emulate)
    string(REPLACE ";" "," emulate_list "${emulate}")
    set(host_options --emulate "${emulate_list}")
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
  foreach(one IN LISTS hints)
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

  # How it is compiled, not what comes out.
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
    message(FATAL_ERROR "${call}: TOOL ${arg_TOOL} is neither a target nor a program; without TOOL it is TritonC::tritonc")
  endif()
  if(NOT arg_RUNTIME)
    set(arg_RUNTIME TritonC::runtime)
  elseif(NOT TARGET "${arg_RUNTIME}")
    message(FATAL_ERROR "${call}: RUNTIME ${arg_RUNTIME} is no target; without RUNTIME it is TritonC::runtime")
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
      message(FATAL_ERROR "${call}: JOB_POOL ${arg_JOB_POOL}: the global property JOB_POOLS has [${known}]")
    endif()
    set(job_pool JOB_POOL "${arg_JOB_POOL}")
  endif()
  string(REPLACE "$<SEMICOLON>" "\\;" command "${sources};${options};${tuning_options};${host_options}")

  # CMake rewrites depfiles for Ninja, and forgets to write \# and $$ for # and $. Where such a name is known to occur, Ninja
  # reads the tool's own, which must call the stamp as Ninja does.
  cmake_policy(PUSH)
  set(depfile_target "")
  if(CMAKE_GENERATOR MATCHES "Ninja" AND "${sources};${arg_INCLUDE_DIRECTORIES};${base}" MATCHES "['\"&*?<>|`]")
    message(WARNING "${call}: Ninja cannot read names with any of '\"&*?<>|` in depfiles: the kernels are compiled in every build; "
      "rename the file or folder ${CMAKE_MATCH_0} is in")
  endif()
  if(CMAKE_GENERATOR MATCHES "Ninja" AND "${sources};${arg_INCLUDE_DIRECTORIES};${base}" MATCHES "[#$]")
    cmake_policy(SET CMP0116 OLD)
    cmake_path(RELATIVE_PATH base BASE_DIRECTORY "${CMAKE_BINARY_DIR}" OUTPUT_VARIABLE relative)
    set(depfile_target --depfile-target "${relative}.stamp")
  endif()

  # The stamp is what the build system compares; the other files are only written when they change.
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
    COMMAND ${tool} ${sources} ${options} ${tuning_options} ${host_options} ${outputs} ${codes} ${calling_options}
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
  target_include_directories(${target} ${scope} "$<BUILD_INTERFACE:${include_dir}>")
  target_compile_features(${target} ${scope} cxx_std_17)
  target_link_libraries(${target} ${scope} ${arg_RUNTIME})
  if(emulate)
    # What the object refers to; behind it for the linker, and in front of <math.h>.
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

# Sets `before` and `after` to what goes around a call of the tool that TritonC_LAUNCHER makes. Launchers have been seen to say
# that all is well when a machine was lost with what it ran: then an old stamp, and what it stands for, would pass for new.
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

# Stops at a name that neither CMake nor make nor Ninja can handle: of a file that changed they would not know it.
function(_tritonc_check_semicolons call name)
  if(name MATCHES ";")
    message(FATAL_ERROR "${call}: ${name}: no name may have a `;`, which ends a name in lists of CMake and for make and Ninja; "
      "rename the file or folder")
  endif()
endfunction()

# Stops at a keyword that isn't one. Misspelt keywords hide among the values of the one before them, so that anything
# in capitals close to a keyword counts as one, but for what can only be the value of a keyword that takes one.
function(_tritonc_check_keywords call single multi arguments unparsed)
  # What is said otherwise here: pairs of a word that others have for it and what to write.
  set(other_words
    MAX_IMAGE_SIZE "REQUIRE \"embedded <= 100k\" for each image, \"total <= 4000k\" for all"
    PTX_FILES "KEEP ptx KEPT <variable>"
    SASS "KEEP cubin sass-stats KEPT <variable>"
    LLVM_IR "KEEP llvm KEPT <variable>"
    TILE_IR "KEEP tile-ir KEPT <variable>"
    EXPORT "triton_install_kernels(<target> EXPORT <set>)"
    CACHE_DIR "CACHE"
    OUTPUT_DIRECTORY "OUTPUT_DIR"
    REGISTRATION "nothing: whoever links the target has its kernels"
    FMAD "nothing: arithmetic is done as it is written, and never fused"
    FAST_MATH "nothing: arithmetic is done as it is written, and never fused")
  set(keywords ${single} ${multi})
  set(before "")
  foreach(argument IN LISTS arguments)
    list(FIND other_words "${argument}" place)
    if(place GREATER -1 AND NOT argument IN_LIST keywords AND argument MATCHES "^[A-Z_]+$" AND NOT before IN_LIST single)
      math(EXPR place "${place} + 1")
      list(GET other_words ${place} words)
      message(FATAL_ERROR "${call}: unknown keyword ${argument}; write ${words}")
    endif()
    string(CONCAT before "${argument}") # set() would read CACHE
  endforeach()
  foreach(argument IN LISTS unparsed)
    _tritonc_nearest("${argument}" "${keywords}" nearest)
    message(FATAL_ERROR "${call}: unknown keyword ${argument}; did you mean ${nearest}?")
  endforeach()
  set(before "")
  foreach(argument IN LISTS arguments)
    if(argument MATCHES "^[A-Z_]+\\[.*\\]$")
      string(REGEX REPLACE "\\[.*$" "" name "${argument}")
      _tritonc_nearest("${name}" "VARIANTS;SPECIALIZE" nearest)
      message(FATAL_ERROR "${call}: unknown keyword ${argument}; did you mean ${nearest}[...]?")
    endif()
    if(argument MATCHES "^[A-Z_]+$" AND NOT argument IN_LIST keywords AND NOT before IN_LIST single)
      _tritonc_nearest("${argument}" "${keywords}" nearest distance)
      math(EXPR twice "2 * ${distance}")
      string(LENGTH "${argument}" length)
      if(distance LESS_EQUAL 3 AND twice LESS_EQUAL length AND NOT argument MATCHES "^(ON|OFF)$")
        message(FATAL_ERROR "${call}: unknown keyword ${argument}; did you mean ${nearest}?")
      endif()
    endif()
    string(CONCAT before "${argument}") # set() would read CACHE
  endforeach()
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
      file(GLOB there RELATIVE "${dir}" "${dir}/*.tc")
      set(hint "")
      if(there)
        cmake_path(GET path FILENAME name)
        _tritonc_nearest("${name}" "${there}" nearest)
        set(hint "; did you mean ${nearest}?")
      endif()
      message(FATAL_ERROR "${call}: there is no source ${path}${hint}")
    endif()
    list(APPEND absolute "${path}")
  endforeach()
  set(${out} "${absolute}" PARENT_SCOPE)
endfunction()

# What stands in the brackets of VARIANTS[...]: a kernel, a GPU that is compiled for, or both.
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
      message(FATAL_ERROR "${call}: ${keyword}: ARCHITECTURES are ${compiled}")
    endif()
  endforeach()
endfunction()

# Stops if the sources show all their kernels, and this one isn't among them. Where they include files or macros make the
# names, the tool will say it.
function(_tritonc_check_kernel call keyword kernel sources)
  if(NOT kernel MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "${call}: ${keyword}: \"${kernel}\" is no name of a kernel")
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
    message(FATAL_ERROR "${call}: ${keyword}: there is no kernel ${kernel}; did you mean ${nearest}?")
  endif()
endfunction()

# The LLVM triple of what the project is built for, if that is not this machine.
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
    message(FATAL_ERROR "${call}: no objects can be written for CMAKE_SYSTEM_PROCESSOR ${CMAKE_SYSTEM_PROCESSOR}; "
      "EMBED HEADER needs none")
  endif()
endfunction()

# What the tool is told of PTX: nothing, auto, or architectures that later GPUs run.
function(_tritonc_check_ptx call values out)
  list(LENGTH values count)
  if(count GREATER 1 AND ("AUTO" IN_LIST values OR "NONE" IN_LIST values))
    message(FATAL_ERROR "${call}: PTX is NONE, AUTO or a list of architectures")
  endif()
  set(${out} "" PARENT_SCOPE)
  if(values STREQUAL "AUTO")
    set(${out} auto PARENT_SCOPE)
  elseif(count AND NOT values STREQUAL "NONE")
    _tritonc_known_architectures("${call}" "${values}" plain)
    foreach(architecture IN LISTS plain)
      if(architecture MATCHES "^([0-9]+)[a-z]$")
        message(FATAL_ERROR "${call}: PTX ${architecture}: later GPUs don't run what only that one has; write PTX ${CMAKE_MATCH_1}")
      endif()
    endforeach()
    set(${out} "${plain}" PARENT_SCOPE)
  endif()
endfunction()

# The architectures to have host code for: those that are named, which must be compiled for.
function(_tritonc_check_emulate call values architectures out)
  list(LENGTH values count)
  if(count GREATER 1 AND ("ON" IN_LIST values OR "OFF" IN_LIST values))
    message(FATAL_ERROR "${call}: EMULATE is ON, OFF or a list of architectures")
  endif()
  if(count EQUAL 0 OR values STREQUAL "OFF")
    set(${out} "" PARENT_SCOPE)
    return()
  endif()
  if(values STREQUAL "ON")
    set(${out} "${architectures}" PARENT_SCOPE)
    return()
  endif()
  _tritonc_known_architectures("${call}" "${values}" plain)
  foreach(architecture IN LISTS plain)
    if(NOT architecture IN_LIST architectures)
      string(REPLACE ";" " " compiled "${architectures}")
      message(FATAL_ERROR "${call}: EMULATE ${architecture}: ARCHITECTURES are ${compiled}")
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

# Turns "sm_90a", "90a-real" and "90a" into "90a", once each.
function(_tritonc_known_architectures call architectures out)
  string(REPLACE ";" " " known "${TritonC_KNOWN_ARCHITECTURES}")
  set(plain "")
  foreach(architecture IN LISTS architectures)
    string(REGEX REPLACE "^sm_|-real$" "" name "${architecture}")
    if(NOT name IN_LIST TritonC_KNOWN_ARCHITECTURES)
      _tritonc_nearest("${name}" "${TritonC_KNOWN_ARCHITECTURES}" nearest)
      message(FATAL_ERROR "${call}: unknown architecture ${architecture}; did you mean ${nearest}? There are: ${known}")
    endif()
    list(APPEND plain "${name}")
  endforeach()
  list(REMOVE_DUPLICATES plain)
  set(${out} "${plain}" PARENT_SCOPE)
endfunction()

function(_tritonc_check_choice call keyword value choices)
  if(NOT value IN_LIST choices)
    _tritonc_nearest("${value}" "${choices}" nearest)
    message(FATAL_ERROR "${call}: ${keyword} ${value}: did you mean ${nearest}?")
  endif()
endfunction()

# Limits are written as the tool reads them (generator/requirements.cpp).
function(_tritonc_check_limits call limits)
  set(quantities spills regs shared stack threads cubin embedded total)
  foreach(limit IN LISTS limits)
    if(NOT limit MATCHES "^ *([a-z]+) *(==|!=|<=|>=|<|>) *[0-9]+k? *$")
      message(FATAL_ERROR "${call}: REQUIRE \"${limit}\": write it as spills == 0 or shared <= 100k")
    endif()
    if(NOT CMAKE_MATCH_1 IN_LIST quantities)
      _tritonc_nearest("${CMAKE_MATCH_1}" "${quantities}" nearest)
      message(FATAL_ERROR "${call}: REQUIRE \"${limit}\": did you mean ${nearest}?")
    endif()
  endforeach()
endfunction()

# Hints are written as the tool reads them (generator/argument_hints.h).
function(_tritonc_check_hints call keyword all)
  set(hint " *[A-Za-z_][A-Za-z0-9_]* *(% *[0-9]+( *== *0)?|== *-?[0-9]+) *")
  foreach(hints IN LISTS all)
    if(NOT hints MATCHES "^${hint}(&&${hint})*$")
      message(FATAL_ERROR "${call}: ${keyword} \"${hints}\": write it as lda % 8 && n == 1")
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

# Sets <out> to the candidate that takes the fewest inserted, deleted or changed letters (none, if the word is its
# beginning; of several such the shortest), and the optional variable after it to their number. Only used on the way to an
# error: it may be slow.
function(_tritonc_nearest word candidates out)
  set(best "")
  set(best_distance 1000)
  foreach(candidate IN LISTS candidates)
    string(FIND "${candidate}" "${word}" place)
    if(place EQUAL 0)
      set(distance 0)
    else()
      _tritonc_edit_distance("${word}" "${candidate}" distance)
    endif()
    string(LENGTH "${candidate}" length)
    if(distance LESS best_distance OR (distance EQUAL 0 AND length LESS best_length))
      string(CONCAT best "${candidate}") # not set(): CACHE is a keyword of its
      set(best_length ${length})
      set(best_distance ${distance})
    endif()
  endforeach()
  set(${out} "${best}" PARENT_SCOPE)
  if(ARGC GREATER 3)
    set(${ARGV3} ${best_distance} PARENT_SCOPE)
  endif()
endfunction()

# Levenshtein's distance, a row of the table at a time.
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
