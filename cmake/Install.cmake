# Defines the install rules and the CMake package TritonC. The package exists for the installed tree
# and for the build tree (find_package(TritonC) with TritonC_DIR set to the build folder).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The only list of GPUs is in the generator. The CMake functions use it to check names.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS generator/target/gpus.def)
file(STRINGS generator/target/gpus.def gpu_rows REGEX "^GPU\\(")
list(TRANSFORM gpu_rows REPLACE "^GPU\\(\"([^\"]+)\".*" "\\1" OUTPUT_VARIABLE TritonC_KNOWN_ARCHITECTURES)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/TritonC")
set(kernels_dir "${CMAKE_INSTALL_DATADIR}/tritonc/kernels")

# runtime/CMakeLists.txt installs the runtime, as a separate package.
install(TARGETS tritonc EXPORT TritonCTargets)
install(DIRECTORY kernels/ DESTINATION "${kernels_dir}")
install(EXPORT TritonCTargets NAMESPACE TritonC:: DESTINATION "${package_dir}")
export(EXPORT TritonCTargets NAMESPACE TritonC:: FILE "${PROJECT_BINARY_DIR}/TritonCTargets.cmake")

# ARCH_INDEPENDENT: the tool runs on the build machine, for any target.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/TritonCConfigVersion.cmake" COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
get_directory_property(runtime_version DIRECTORY runtime DEFINITION PROJECT_VERSION)
if(NOT runtime_version STREQUAL PROJECT_VERSION)
  message(FATAL_ERROR "runtime/CMakeLists.txt has version ${runtime_version}, but CMakeLists.txt has ${PROJECT_VERSION}; "
    "set the same version in both")
endif()

set(functions TritonCKernels.cmake TritonCKernelTest.cmake TritonCInstallKernels.cmake TritonCTuner.cmake check_launched.cmake
  compare_builds.cmake)
list(TRANSFORM functions PREPEND cmake/)

# The package in the installed tree.
set(TritonC_KERNELS_DIR "${kernels_dir}")
configure_package_config_file(cmake/TritonCConfig.cmake.in "${PROJECT_BINARY_DIR}/installed/TritonCConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" PATH_VARS TritonC_KERNELS_DIR)
install(
  FILES "${PROJECT_BINARY_DIR}/installed/TritonCConfig.cmake" "${PROJECT_BINARY_DIR}/TritonCConfigVersion.cmake"
        ${functions}
  DESTINATION "${package_dir}")
install(PROGRAMS cmake/launch_again DESTINATION "${package_dir}")

# The manual and the samples, in the same folders as here, so that the links of the pages work.
install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs samples DESTINATION "${CMAKE_INSTALL_DOCDIR}" PATTERN run EXCLUDE PATTERN build EXCLUDE)

# The package in the build tree.
set(TritonC_KERNELS_DIR "${PROJECT_SOURCE_DIR}/kernels")
configure_package_config_file(cmake/TritonCConfig.cmake.in "${PROJECT_BINARY_DIR}/TritonCConfig.cmake"
  INSTALL_DESTINATION "${PROJECT_BINARY_DIR}" INSTALL_PREFIX "${PROJECT_BINARY_DIR}" PATH_VARS TritonC_KERNELS_DIR)
foreach(file IN LISTS functions ITEMS cmake/launch_again)
  cmake_path(GET file FILENAME name)
  configure_file("${file}" "${PROJECT_BINARY_DIR}/${name}" COPYONLY)
endforeach()

# If setup.sh downloaded ptxas and fatbinary, the tool finds them in its own folder.
foreach(program IN ITEMS ptxas fatbinary)
  if(EXISTS "${PROJECT_SOURCE_DIR}/build/cuda/bin/${program}")
    file(MAKE_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}") # missing in a new build folder
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/build/cuda/bin/${program}" "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program}" SYMBOLIC)
    install(PROGRAMS "${PROJECT_SOURCE_DIR}/build/cuda/bin/${program}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()

# A project with TritonC as a subdirectory can call triton_add_kernels() as after find_package().
if(NOT PROJECT_IS_TOP_LEVEL)
  set(TritonC_KERNELS_DIR "${TritonC_KERNELS_DIR}" PARENT_SCOPE)
  set(TritonC_KNOWN_ARCHITECTURES "${TritonC_KNOWN_ARCHITECTURES}" PARENT_SCOPE)
endif()
