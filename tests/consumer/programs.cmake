# Programs that link Rondo as a user does, with the libraries' names only (see "Linking it" in the README).
# They check that the version is `version`.
function(add_consumers version)
  foreach(program consumer trainer)
    add_executable(${program} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${program}.cpp)
    target_compile_definitions(${program} PRIVATE EXPECTED_VERSION="${version}")
  endforeach()
  target_link_libraries(consumer PRIVATE rondo::kernels rondo::collectives)
  target_link_libraries(trainer PRIVATE rondo::nn)
  # Options that the libraries' targets add to the programs, for expect_no_options() in run.cmake.
  set(added "")
  foreach(program consumer trainer)
    foreach(kind COMPILE_OPTIONS LINK_OPTIONS)
      string(APPEND added "$<TARGET_PROPERTY:${program},${kind}>")
    endforeach()
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/added_options CONTENT "${added}")
endfunction()
