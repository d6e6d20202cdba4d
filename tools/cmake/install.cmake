# cmake --install, and the package for find_package(rondo CONFIG): one component for each of rondo::kernels,
# rondo::collectives, rondo::nn and rondo::across_hosts. Each component requires only its own dependencies.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(RONDO_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)

# rondo_install(NAME targets ...): installs the targets, and the file that defines them for find_package().
function(rondo_install name)
  foreach(target ${ARGN})
    string(REPLACE rondo_ "" exported ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${exported})
  endforeach()
  install(TARGETS ${ARGN} EXPORT rondo-${name} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT rondo-${name} NAMESPACE rondo:: DESTINATION ${RONDO_PACKAGE_DIR}
          FILE rondo-${name}-targets.cmake)
endfunction()

# For each component: the arguments of find_package(), and the target, of its external dependency. Threads
# come with CMake.
if(RONDO_CUDA)
  rondo_install(core rondo_options rondo_kernel_options rondo_core rondo_runtime)
  set(rondo_core_needs "CUDAToolkit 12.8" CUDA::cudart_static)
else()
  rondo_install(core rondo_options rondo_kernel_options rondo_core rondo_runtime simt)
  install(TARGETS simt-translate EXPORT rondo-core RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/tools/simt/program.cmake DESTINATION ${RONDO_PACKAGE_DIR})
  if(TARGET simt_observed AND TARGET rondo)
    install(TARGETS simt_observed ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/simt/include/
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rondo-simt)
  if(NOT SIMT_X86_64)
    set(rondo_core_needs "Boost 1.74 COMPONENTS context" Boost::context)
  endif()
endif()
foreach(component kernels collectives nn across_hosts)
  rondo_install(${component} rondo_${component})
endforeach()
set(rondo_nn_needs ZLIB ZLIB::ZLIB)
if(RONDO_MPI_FOUND)
  set(rondo_across_hosts_needs "MPI COMPONENTS CXX" MPI::MPI_CXX)
endif()

# The headers. Of the .cuh files only elementwise() and what it includes: others are internal to kernels and
# depend on their compile flags (core/vec.cuh).
foreach(part kernels collectives nn)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${part} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rondo
          FILES_MATCHING PATTERN "*.h")
endforeach()
foreach(header launch loops pack slots values)
  install(FILES ${PROJECT_SOURCE_DIR}/kernels/core/${header}.cuh
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rondo/kernels/core)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels/elementwise
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rondo/kernels FILES_MATCHING PATTERN "*.cuh")
install(FILES ${RONDO_VERSION_DIR}/rondo/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rondo)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET rondo)
  install(TARGETS rondo RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/rondo-config.cmake.in
  ${PROJECT_BINARY_DIR}/rondo-config.cmake INSTALL_DESTINATION ${RONDO_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rondo-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rondo-config.cmake ${PROJECT_BINARY_DIR}/rondo-config-version.cmake
        DESTINATION ${RONDO_PACKAGE_DIR})

# rondo_pkg_config(COMPONENT LIBRARIES [REQUIRES]): rondo-COMPONENT.pc for pkg-config, beside the CMake
# package. Paths are relative to the file, so that an installed folder can be moved.
file(RELATIVE_PATH rondo_prefix_of_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
if(RONDO_CUDA)
  set(rondo_pc_flags "-I${CUDAToolkit_INCLUDE_DIRS}")
  set(rondo_pc_core "-lrondo_runtime -lrondo_core -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl")
  string(APPEND rondo_pc_core " -lrt -pthread")
else()
  set(rondo_pc_flags "-I\${includedir}/rondo-simt")
  set(rondo_pc_core "-lrondo_runtime -lrondo_core -lsimt -pthread")
  if(NOT SIMT_X86_64)
    string(APPEND rondo_pc_core " -lboost_context")
  endif()
endif()
function(rondo_pkg_config component libraries)
  set(rondo_pc_component ${component})
  set(rondo_pc_libraries ${libraries})
  set(rondo_pc_requires ${ARGN})
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/rondo.pc.in
    ${PROJECT_BINARY_DIR}/rondo-${component}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/rondo-${component}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
rondo_pkg_config(kernels "-lrondo_kernels")
rondo_pkg_config(collectives "-lrondo_collectives")
rondo_pkg_config(nn "-lrondo_nn -lrondo_collectives -lrondo_kernels" zlib)
