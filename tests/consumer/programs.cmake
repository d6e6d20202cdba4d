# Programs as a user links them: the libraries' names and nothing else (the README's "Linking it"). `version` is the one that they
# must find.
function(add_consumers version)
  foreach(program consumer trainer)
    add_executable(${program} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${program}.cpp)
    target_compile_definitions(${program} PRIVATE EXPECTED_VERSION="${version}")
  endforeach()
  target_link_libraries(consumer PRIVATE rondo::kernels rondo::collectives)
  target_link_libraries(trainer PRIVATE rondo::nn)
endfunction()
