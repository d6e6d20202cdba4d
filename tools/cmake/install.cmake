# cmake --install, and what find_package(rondo CONFIG) finds afterwards: rondo::kernels, rondo::collectives, rondo::nn.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(RONDO_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
set(rondo_installed rondo_options rondo_core rondo_kernels rondo_collectives rondo_across_hosts rondo_nn)
if(NOT RONDO_CUDA)
  list(APPEND rondo_installed simt)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/simt/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rondo-simt)
endif()
foreach(target ${rondo_installed})
  string(REPLACE rondo_ "" name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endforeach()
install(TARGETS ${rondo_installed} EXPORT rondo ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT rondo NAMESPACE rondo:: DESTINATION ${RONDO_PACKAGE_DIR} FILE rondo-targets.cmake)

foreach(part kernels collectives nn)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${part} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rondo
          FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
endforeach()
install(FILES ${RONDO_INCLUDE_DIR}/rondo/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rondo)
if(TARGET rondo)
  install(TARGETS rondo RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/rondo-config.cmake.in
  ${PROJECT_BINARY_DIR}/rondo-config.cmake INSTALL_DESTINATION ${RONDO_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rondo-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rondo-config.cmake ${PROJECT_BINARY_DIR}/rondo-config-version.cmake
        DESTINATION ${RONDO_PACKAGE_DIR})
