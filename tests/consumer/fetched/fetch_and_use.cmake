# cmake -DSOURCE=... -DVERSION=... -DFOLDER=... -DBUILD=ON|OFF -P: configures the project beside this file against the sources, by
# FetchContent and by add_subdirectory, in an empty folder. With BUILD it also builds and runs the first: minutes.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
foreach(way FetchContent add_subdirectory)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${FOLDER}/${way} -DWAY=${way} -DRONDO_SOURCE=${SOURCE}
      -DEXPECTED_VERSION=${VERSION} -DCMAKE_BUILD_TYPE=Release)
endforeach()
if(BUILD)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  run(${CMAKE_COMMAND} --build ${FOLDER}/FetchContent --parallel ${cores})
  run(${FOLDER}/FetchContent/consumer)
  run(${FOLDER}/FetchContent/trainer)
endif()
file(REMOVE_RECURSE ${FOLDER})
