# Programs as a user links them: the libraries' names and nothing else (the README's "Linking it"). `version` is the one that they
# must find.
function(add_consumers version)
  foreach(program consumer trainer)
    add_executable(${program} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${program}.cpp)
    target_compile_definitions(${program} PRIVATE EXPECTED_VERSION="${version}")
  endforeach()
  target_link_libraries(consumer PRIVATE rondo::kernels rondo::collectives)
  target_link_libraries(trainer PRIVATE rondo::nn)
  # What the libraries' targets add to how the programs are compiled, for expect_no_options() of run.cmake.
  set(added "")
  foreach(program consumer trainer)
    foreach(kind COMPILE_OPTIONS LINK_OPTIONS)
      string(APPEND added "$<TARGET_PROPERTY:${program},${kind}>")
    endforeach()
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/added_options CONTENT "${added}")
endfunction()
