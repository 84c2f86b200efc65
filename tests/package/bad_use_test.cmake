# Wrong calls of the functions of the package: each must stop the configuration with a message that
# says how to fix the call. Correct calls that look similar must not.

set(failures 0)

# project_says(<message> <text> [<source folder> <build folder>])
#
# The first error of a project with <text> must contain <message>.
function(project_says message text)
  set(source_dir "${WORK}")
  set(build_dir "${WORK}/build")
  if(ARGC GREATER 2)
    set(source_dir "${ARGV2}")
    set(build_dir "${ARGV3}")
  endif()
  # Without a compiler, so that the configuration is fast.
  file(WRITE "${source_dir}/CMakeLists.txt"
    "cmake_minimum_required(VERSION 3.25)\n"
    "project(wrong LANGUAGES NONE)\n"
    "function(target_compile_features)\n"
    "endfunction()\n"
    "add_library(TritonC::runtime INTERFACE IMPORTED)\n"
    "set(TritonC_KNOWN_ARCHITECTURES 75 80 86 90 90a 100)\n"
    "include(\"${ROOT}/cmake/TritonCKernels.cmake\")\n"
    "include(\"${ROOT}/runtime/TritonCBundles.cmake\")\n"
    "${text}\n")
  execute_process(COMMAND "${CMAKE_COMMAND}" -Wno-dev -S "${source_dir}" -B "${build_dir}"
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}") # CMake wraps messages
  string(FIND "${output}" "(message): ${message}" place)
  string(FIND "${output}" "(message):" first)
  if(result EQUAL 0 OR place EQUAL -1 OR place GREATER first)
    message("${text}\n  expected: ${message}\n  got: ${output}\n")
    math(EXPR failures "${failures} + 1")
    set(failures ${failures} PARENT_SCOPE)
  endif()
endfunction()

# wrong_text(<expected text> <text> [<source folder> <build folder>])
#
# A project with <text> must fail with <expected text> about triton_add_kernels(gemm).
function(wrong_text expected text)
  if(ARGC GREATER 2)
    project_says("triton_add_kernels(gemm): ${expected}" "${text}" "${ARGV2}" "${ARGV3}")
  else()
    project_says("triton_add_kernels(gemm): ${expected}" "${text}")
  endif()
  set(failures ${failures} PARENT_SCOPE)
endfunction()

# right(<call>...)
#
# The calls must cause no error.
function(right)
  string(REPLACE ";" "\n" calls "${ARGN}")
  project_says("no error" "${calls}\nmessage(FATAL_ERROR \"no error\")")
  set(failures ${failures} PARENT_SCOPE)
endfunction()

# wrong(<expected text> <argument>...)
#
# The call triton_add_kernels(gemm <argument>...) must fail with <expected text>.
function(wrong expected)
  set(call "triton_add_kernels(gemm")
  foreach(argument IN LISTS ARGN)
    string(APPEND call " \"${argument}\"")
  endforeach()
  wrong_text("${expected}" "${call})")
  set(failures ${failures} PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
file(WRITE "${WORK}/matmul.tc" "__global__ void matmul(float *p) { *p = 1; }\n__global__ void add(float *p) { *p = 1; }\n")
set(good SOURCES matmul.tc ARCHITECTURES 80)

wrong("SOURCES is missing; name at least one .tc file" ARCHITECTURES 80)
wrong("source ${WORK}/matmull.tc does not exist; did you mean matmul.tc?" SOURCES matmull.tc ARCHITECTURES 80)
wrong("source /nowhere/matmul.tc does not exist" SOURCES /nowhere/matmul.tc ARCHITECTURES 80)
wrong("ARCHITECTURES is missing and CMAKE_CUDA_ARCHITECTURES is not set; name GPUs such as 80 90a" SOURCES matmul.tc)
wrong("unknown architecture 81; did you mean 80?; supported: 75 80 86 90 90a 100" SOURCES matmul.tc ARCHITECTURES 81)
wrong("unknown architecture sm_90b; did you mean 90?" SOURCES matmul.tc ARCHITECTURES 80 sm_90b)
wrong("unknown architecture hopper; supported: 75 80 86 90 90a 100" SOURCES matmul.tc ARCHITECTURES hopper)
wrong("cannot use 80-virtual as an architecture: it is PTX and no GPU code; write PTX 80" SOURCES matmul.tc ARCHITECTURES 80-virtual)
set(ahead "as an architecture: TritonC compiles ahead of time, without a look at this machine; name each GPU, such as 80 90a;")
foreach(word IN ITEMS native all all-major)
  wrong("cannot use ${word} ${ahead} supported: 75 80 86 90 90a 100" SOURCES matmul.tc ARCHITECTURES ${word})
endforeach()
wrong_text("cannot use native ${ahead}" "set(CMAKE_CUDA_ARCHITECTURES native)\ntriton_add_kernels(gemm SOURCES matmul.tc)")
right("set(CMAKE_CUDA_ARCHITECTURES 80-real)" "triton_add_kernels(gemm SOURCES matmul.tc)")
wrong("MIN_DRIVER 525: expected a CUDA version, 12.0 or later; write it as 12.2" ${good} MIN_DRIVER 525)
wrong("MIN_DRIVER 0: expected a CUDA version, 12.0 or later; write it as 12.2" ${good} MIN_DRIVER 0)
wrong("cannot combine PTX NONE or AUTO with other values; write NONE, AUTO or a list of architectures" ${good} PTX AUTO 80)
wrong("PTX 90a: later GPUs cannot run this PTX; write PTX 90" ${good} PTX 90a)
wrong("unknown architecture 81; did you mean 80?" ${good} PTX 81)
wrong("unknown keyword SOURCE; did you mean SOURCES?" SOURCE matmul.tc ARCHITECTURES 80)
wrong("unknown keyword ARCHITECTURE; did you mean ARCHITECTURES?" SOURCES matmul.tc ARCHITECTURE 80)
wrong("unknown keyword ARCH; did you mean ARCHITECTURES?" ARCH 80 SOURCES matmul.tc)
wrong("unknown keyword VARIANT; did you mean VARIANTS?" ${good} VARIANT TM=32)
wrong("unknown keyword DEFINE; did you mean DEFINES?" ${good} DEFINE X=1)
wrong("unknown keyword INCLUDE_DIRECTORY; did you mean INCLUDE_DIRECTORIES?" ${good} INCLUDE_DIRECTORY .)
wrong("VARIANTS \"TM\": write it as TM=32,64" ${good} VARIANTS TM)
wrong("VARIANTS \"=32\": write it as TM=32,64" ${good} VARIANTS =32)
wrong("VARIANTS \"TM=\": write it as TM=32,64" ${good} VARIANTS TM=)
wrong("VARIANTS[matmul] \"TM\": write it as TM=32,64" ${good} VARIANTS[matmul] TM)
wrong("VARIANTS[matmull]: unknown kernel matmull; did you mean matmul?" ${good} VARIANTS[matmull] TM=32)
wrong("VARIANTS[sm_90a]: 90a is not in ARCHITECTURES 80; add it there" ${good} VARIANTS[sm_90a] TM=32)
wrong("unknown architecture sm_8; did you mean 80?" ${good} VARIANTS[sm_8] TM=32)
wrong("VARIANTS[matmul,add,sm_80]: write VARIANTS[kernel], VARIANTS[sm_90a] or VARIANTS[kernel,sm_90a]"
  ${good} VARIANTS[matmul,add,sm_80] TM=32)
wrong("VARIANTS[a-b]: \"a-b\" is not an identifier; write the name of a kernel" ${good} VARIANTS[a-b] TM=32)
wrong("unknown keyword VARIANT[matmul]; did you mean VARIANTS[...]?" ${good} VARIANT[matmul] TM=32)
wrong("KERNELS: unknown kernel mul; did you mean matmul?" ${good} KERNELS add mul)
wrong("VARIANT_FILE ${WORK}/none.json does not exist" ${good} VARIANT_FILE none.json)
wrong("unknown keyword WHEN; did you mean WHERE?" ${good} WHEN "TM < 3")
wrong("unknown keyword KERNEL; did you mean KERNELS?" ${good} KERNEL add)
wrong("REQUIRE \"spills\": write it as spills == 0 or shared <= 100k" ${good} REQUIRE spills)
wrong("REQUIRE \"spill == 0\": unknown quantity spill; did you mean spills?" ${good} REQUIRE "spill == 0")
wrong("unknown keyword REQUIRES; did you mean REQUIRE?" ${good} REQUIRES "spills == 0")
wrong("DEFAULT_VARIANT \"TM=1,2\": write it as TM=64" ${good} DEFAULT_VARIANT TM=1,2)
wrong("unknown keyword DEFAULT_VARIANTS; did you mean DEFAULT_VARIANT?" ${good} DEFAULT_VARIANTS TM=1)
wrong("cannot use C_HEADER gemm.hpp; write the path in the application's #include, different from HEADER, such as my/gemm.h"
  ${good} C_HEADER gemm.hpp)
wrong("cannot use C_HEADER /gemm.h; write the path in the application's #include, different from HEADER, such as my/gemm.h"
  ${good} C_HEADER /gemm.h)
wrong("cannot use C_HEADER with EMBED HEADER: a C header contains no GPU code; use EMBED OBJECT or BUNDLE"
  ${good} C_HEADER gemm.h EMBED HEADER)
wrong("unknown keyword OUTPUT_DIRECTORY; write OUTPUT_DIR" ${good} OUTPUT_DIRECTORY out)
wrong("unknown keyword WERRORS; did you mean WERROR?" WERRORS ${good})
wrong("unknown keyword CACHE_DIR; write CACHE" ${good} CACHE_DIR off)
wrong("unknown keyword COMPILER_OPTIONS; did you mean COMPILE_OPTIONS?" ${good} COMPILER_OPTIONS --quiet)
wrong("unknown keyword DEPEND; did you mean DEPENDS?" ${good} DEPEND x)
wrong("TOOL ptxas is neither a target nor a program; remove TOOL to use TritonC::tritonc" ${good} TOOL ptxas)
wrong("RUNTIME rt is not a target; remove RUNTIME to use TritonC::runtime" ${good} RUNTIME rt)
wrong("unknown keyword MAX_IMAGE_SIZE; write REQUIRE \"embedded <= 100k\" for each image" ${good} MAX_IMAGE_SIZE 100)
wrong("unknown keyword SASS; write KEEP cubin sass-stats KEPT <variable>" ${good} SASS files)
wrong("unknown keyword PTX_FILES; write KEEP ptx KEPT <variable>" PTX_FILES files ${good})
wrong("unknown keyword EXPORT; write triton_install_kernels(<target> EXPORT <set>)" ${good} EXPORT set)
wrong("unknown keyword FAST_MATH; remove it: the compiler keeps arithmetic as written" ${good} FAST_MATH ON)
wrong("SPECIALIZE \"lda\": write it as lda % 8 && n == 1" ${good} SPECIALIZE lda)
wrong("SPECIALIZE \"n = 1\": write it as lda % 8 && n == 1" ${good} SPECIALIZE "lda % 8" "n = 1")
wrong("SPECIALIZE[add] \"n = 1\": write it as lda % 8 && n == 1" ${good} SPECIALIZE[matmul] "n == 1" SPECIALIZE[add] "n = 1")
wrong("SPECIALIZE[sub]: unknown kernel sub; did you mean add?" ${good} SPECIALIZE[sub] "n == 1")
wrong("SPECIALIZE[sm_80]: expected one kernel, because a specialization applies to all GPUs; write SPECIALIZE[kernel]"
  ${good} SPECIALIZE[sm_80] "n == 1")
wrong("unknown keyword SPECIALISE[add]; did you mean SPECIALIZE[...]?" ${good} SPECIALISE[add] "n == 1")
wrong("unknown keyword SPECIALISE; did you mean SPECIALIZE?" ${good} SPECIALISE "n == 1")
wrong("unknown value sizes for COMPRESS; did you mean size?" ${good} COMPRESS sizes)
wrong("unknown value yes for LINEINFO; write ON or OFF" ${good} LINEINFO yes)
wrong("unknown value on for CHECKS; did you mean ON?" ${good} CHECKS on)
wrong("unknown value 9 for COMPRESS; write none, speed, balance or size" ${good} COMPRESS 9)
wrong("unknown value sass for KEEP; did you mean sass-stats?" ${good} KEEP ptx sass)
wrong("KEPT requires KEEP; name the formats to keep, such as KEEP ptx" ${good} KEPT folder)
wrong("TIMEOUT 0: expected a number of seconds; write it as 120" ${good} TIMEOUT 0)
wrong("TIMEOUT 2m: expected a number of seconds; write it as 120" ${good} TIMEOUT 2m)
wrong("JOB_POOL none is not in the global property JOB_POOLS []; add none=<number> there" ${good} JOB_POOL none)
wrong("unknown keyword PTXAS_OPTION; did you mean PTXAS_OPTIONS?" ${good} PTXAS_OPTION -O2)
wrong("SHARDS 0: write AUTO or a number from 1 to 999" ${good} SHARDS 0)
wrong("SHARDS all: write AUTO or a number from 1 to 999" ${good} SHARDS all)
wrong("NAMESPACE a-b is not a C++ namespace; write it as a::b" ${good} NAMESPACE a-b)
wrong("cannot use HEADER /tmp/gemm.hpp; write the path in the application's #include, such as my/gemm.hpp" ${good} HEADER /tmp/gemm.hpp)
wrong("cannot use HEADER ../gemm.hpp; write the path in the application's #include, such as my/gemm.hpp" ${good} HEADER ../gemm.hpp)
wrong("DEFINES \"3=4\": write it as NAME or NAME=value" ${good} DEFINES 3=4)
wrong("unknown value OBJEKT for EMBED; did you mean OBJECT?" ${good} EMBED OBJEKT)
wrong("cannot use EMULATE with EMBED HEADER: a header cannot contain CPU code; use EMBED OBJECT or BUNDLE" ${good} EMULATE ON EMBED HEADER)
wrong("EMULATE 90a is not in ARCHITECTURES 75 80; add it there" SOURCES matmul.tc ARCHITECTURES 75 80 EMULATE 80 90a)
wrong("cannot combine EMULATE ON or OFF with other values; write ON, OFF or a list of architectures" ${good} EMULATE ON 80)
foreach(value IN ITEMS YES MAYBE on)
  wrong("unknown value ${value} for EMULATE; write ON, OFF or a list of architectures, such as EMULATE 80 90a" ${good} EMULATE ${value})
endforeach()
wrong("unknown value ALL for PTX; write NONE, AUTO or a list of architectures, such as PTX 80" ${good} PTX ALL)
wrong("unknown architecture 9; did you mean 90?" ${good} EMULATE 9)
wrong("unknown keyword EMULATED; did you mean EMULATE?" ${good} EMULATED ON)
right("triton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES sm_80 90a-real EMULATE sm_80 PTX 80)")
right("triton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES 80 EMULATE OFF PTX NONE)")

# A keyword without its value, at the end of the call and before another keyword.
foreach(example IN ITEMS "SOURCES gemm.tc" "KERNELS matmul" "ARCHITECTURES 80 90a" "EMULATE ON" "PTX AUTO" "EMBED BUNDLE"
    "DEFAULT_VARIANT TM=64" "GRID \"M / TM\"" "VARIANT_FILE variants.json" "COMPRESS speed" "MIN_DRIVER 12.2" "CHECKS ON"
    "LINEINFO ON" "NAMESPACE a::b" "HEADER my/gemm.hpp" "C_HEADER my/gemm.h" "OUTPUT_DIR gemm" "KEPT kept_folder"
    "MANIFEST manifest_path" "REPORT report_path" "SHARDS AUTO" "JOB_POOL kernels" "CACHE OFF" "TIMEOUT 120"
    "TOOL TritonC::tritonc" "RUNTIME TritonC::runtime")
  string(REGEX REPLACE " .*" "" keyword "${example}")
  wrong("${keyword} has no value; write it as ${example}" ${good} ${keyword})
endforeach()
wrong("EMULATE has no value; write it as EMULATE ON" SOURCES matmul.tc EMULATE ARCHITECTURES 80)
wrong("ARCHITECTURES has no value; write it as ARCHITECTURES 80 90a" SOURCES matmul.tc ARCHITECTURES QUIET)
wrong("NAMESPACE has no value; write it as NAMESPACE a::b" ${good} NAMESPACE HEADER gemm.hpp)
wrong("WERROR takes no value; remove ON" ${good} WERROR ON)
# Lists that add something may be empty.
right("triton_add_kernels(gemm SOURCES matmul.tc VARIANTS WHERE SPECIALIZE DEFINES INCLUDE_DIRECTORIES TUNING PTXAS_OPTIONS"
  "  REQUIRE KEEP COMPILE_OPTIONS DEPENDS VARIANTS[matmul] SPECIALIZE[matmul] ARCHITECTURES 80)")

# An unknown word in upper case in a list.
set(keywords "keywords: SOURCES KERNELS VARIANTS")
wrong("unknown keyword FOO; write the values of ARCHITECTURES as ARCHITECTURES 80 90a; ${keywords}" ${good} FOO BAR)
wrong("unknown keyword FOO_2; write the values of ARCHITECTURES" ${good} FOO_2)
wrong("unknown keyword FOO; write the values of EMULATE as EMULATE ON; ${keywords}" ${good} EMULATE 80 FOO)
wrong("unknown keyword FOO; write the values of SOURCES as SOURCES gemm.tc; ${keywords}" SOURCES matmul.tc FOO ARCHITECTURES 80)
wrong("VARIANTS[matmul] \"FOO\": write it as TM=32,64" ${good} VARIANTS[matmul] TM=32 FOO)
wrong("unknown keyword FOO; write the values of REQUIRE as REQUIRE \"spills == 0\"; ${keywords}" ${good} REQUIRE FOO 3)
wrong("unknown keyword FOO; write the values of KEEP as KEEP ptx; ${keywords}" ${good} KEEP ptx FOO)
wrong("unknown keyword FOO; ${keywords}" ${good} QUIET NAMESPACE a FOO)
wrong("unknown keyword FOO[matmul]; did you mean" ${good} FOO[matmul] TM=32)
wrong("expected a keyword but found matmul.tc; ${keywords}" matmul.tc ARCHITECTURES 80)
wrong("unknown keyword sources; did you mean SOURCES?" sources matmul.tc ARCHITECTURES 80)
file(WRITE "${WORK}/FOO/x.tch" "")
right("triton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES 80 INCLUDE_DIRECTORIES FOO DEFINES FOO N M=1 GRID M WHERE FOO"
  "  NAMESPACE FOO)")

# The other functions know only their own keywords.
set(in_test "triton_add_kernel_test(t)")
set(in_tuner "triton_add_tuner(t)")
set(in_install "triton_install_kernels()")
foreach(word IN ITEMS CACHE_DIR MAX_IMAGE_SIZE EMULATE VARIANTS[matmul] FOO)
  project_says("${in_test}: unknown keyword ${word}; keywords: FROM MANIFEST SOURCES LINK_LIBRARIES"
    "triton_add_kernel_test(t FROM gemm ${word} a)")
  project_says("${in_tuner}: unknown keyword ${word}; write the values of FROM as FROM gemm; keywords: FROM PROBLEMS OUTPUT PARTS"
    "triton_add_tuner(t FROM gemm ${word} a)")
  project_says("${in_install}: unknown keyword ${word}; keywords: EXPORT COMPONENT BUNDLES_DIR"
    "triton_install_kernels(gemm EXPORT a ${word} a)")
endforeach()
project_says("${in_test}: unknown keyword MANIFESTS; did you mean MANIFEST?" "triton_add_kernel_test(t FROM gemm MANIFESTS a)")
project_says("${in_test}: unknown keyword FORM; did you mean FROM?" "triton_add_kernel_test(t FORM gemm)")
project_says("${in_test}: SOURCES has no value; write it as SOURCES main.cpp" "triton_add_kernel_test(t FROM gemm SOURCES)")
project_says("${in_test}: FROM has no value; write it as FROM gemm" "triton_add_kernel_test(t FROM MANIFEST a.json)")
project_says("${in_test}: FROM gemm is not a target of triton_add_kernels()" "triton_add_kernel_test(t FROM gemm LINK_LIBRARIES)")
project_says("${in_tuner}: unknown keyword PROBLEM; did you mean PROBLEMS?" "triton_add_tuner(t FROM gemm PROBLEM a)")
project_says("${in_tuner}: FROM has no value; write it as FROM gemm" "triton_add_tuner(t FROM)")
project_says("${in_tuner}: PARTS has no value; write it as PARTS 4" "triton_add_tuner(t FROM gemm PROBLEMS a OUTPUT b PARTS)")
project_says("${in_install}: unknown keyword EXPORTS; did you mean EXPORT?" "triton_install_kernels(gemm EXPORTS a)")
project_says("${in_install}: COMPONENT has no value; write it as COMPONENT kernels" "triton_install_kernels(gemm EXPORT a COMPONENT)")
project_says("${in_install}: gemm is not a target of triton_add_kernels()" "triton_install_kernels(gemm EXPORT FOO)")
project_says("triton_place_bundles(): targets are missing; name at least one program" "triton_place_bundles()")
set(kernels "triton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES 80)")
right("${kernels}" "triton_add_kernel_test(t FROM gemm MANIFEST a.json)" "triton_install_kernels(gemm EXPORT KEPT COMPONENT FOO)")
right("add_library(TritonC::tuner INTERFACE IMPORTED)" "triton_add_kernels(GEMM SOURCES matmul.tc ARCHITECTURES 80)"
  "triton_add_tuner(t FROM GEMM)" "triton_install_kernels(GEMM EXPORT a)")

wrong("TUNING file ${WORK}/none.json does not exist; build without TUNING and write the file with tritonc tune" ${good} TUNING none.json)
wrong("unknown keyword TUNINGS; did you mean TUNING?" ${good} TUNINGS none.json)

# Names with a `;`, with every kind of quotes.
set(no_semicolon "CMake, make and Ninja end a name there; rename the file or folder")
file(COPY "${WORK}/matmul.tc" DESTINATION "${WORK}/a;b")
foreach(way IN ITEMS [==[SOURCES "a;b/matmul.tc"]==] [==[SOURCES "a\;b/matmul.tc"]==] "SOURCES [=[a;b/matmul.tc]=]"
    [==[SOURCES ${some}]==] [==[SOURCES "${some}"]==])
  wrong_text("cannot use `;` in a;b/matmul.tc: ${no_semicolon}"
    "set(some matmul.tc [==[a\\;b/matmul.tc]==])\ntriton_add_kernels(gemm ${way} ARCHITECTURES 80)")
endforeach()
foreach(keyword IN ITEMS INCLUDE_DIRECTORIES OUTPUT_DIR CACHE)
  wrong_text("cannot use `;` in a;b: ${no_semicolon}" "triton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES 80 ${keyword} [==[a;b]==])")
endforeach()
wrong_text("cannot use `;` in new;place: ${no_semicolon}"
  "triton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES 80 OUTPUT_DIR [==[new;place]==])")
set(call "triton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES 80)")
wrong_text("cannot use `;` in ${WORK}/a;b: ${no_semicolon}" "${call}" "${WORK}/a;b" "${WORK}/plain")
wrong_text("cannot use `;` in ${WORK}/c;d: ${no_semicolon}" "${call}" "${WORK}" "${WORK}/c;d")

# Other names that CMake does not pass on, and names that it does.
set(rename "rename the file or folder")
function(wrong_name message name)
  wrong_text("cannot use ${message}" "triton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES 80 OUTPUT_DIR [==[${name}]==])")
  set(failures ${failures} PARENT_SCOPE)
endfunction()
wrong_name("a control character in a?b: CMake, make and Ninja end a name there; ${rename}" "a\nb")
wrong_name("a control character in a?b: CMake, make and Ninja end a name there; ${rename}" "a\tb")
wrong_name("`\\` in a\\b: CMake reads it as `/`; ${rename}" "a\\b")
wrong_name("`$<` in a$<b: CMake reads it as a generator expression; ${rename}" "a$<b")
foreach(name IN ITEMS "a[b" "a]b" "a]]b[c")
  wrong_name("`[` or `]` alone in ${name}: CMake ends no list element after it; ${rename}, or write both brackets" "${name}")
endforeach()
set(name [==[%d %s 100% $x a@b@c (é) [y] {z} ~ ! ^ = + - , . # $]==])
file(COPY "${WORK}/matmul.tc" DESTINATION "${WORK}/${name}")
wrong_text("cannot use `%` in OUTPUT_DIR o%d: make reads the name of a built file as a pattern; rename the folder, or use Ninja"
  "set(CMAKE_GENERATOR \"Unix Makefiles\")\ntriton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES 80 OUTPUT_DIR o%d)")
right("set(CMAKE_GENERATOR Ninja)" "triton_add_kernels(gemm SOURCES matmul.tc ARCHITECTURES 80 OUTPUT_DIR o%d)")
string(REPLACE "%" "p" output_dir "${name}")
right("triton_add_kernels(gemm SOURCES [==[${name}/matmul.tc]==] ARCHITECTURES 80 OUTPUT_DIR [==[${output_dir}]==]"
  "  INCLUDE_DIRECTORIES [==[${name}]==] CACHE [==[${name}]==])")
wrong_text("source ${WORK}/${name}/matmull.tc does not exist; did you mean matmul.tc?"
  "triton_add_kernels(gemm SOURCES [==[${name}/matmull.tc]==] ARCHITECTURES 80)")

if(failures)
  message(FATAL_ERROR "${failures} wrong calls are not reported as they should be")
endif()
