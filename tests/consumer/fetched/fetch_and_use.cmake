# cmake -DSOURCE=... -DVERSION=... -DFOLDER=... -DBUILD=ON|OFF -P: in an empty folder, configures the project
# beside this file with Rondo's sources, by FetchContent and by add_subdirectory. With BUILD it also builds
# and runs the first one, which takes minutes.
include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

file(REMOVE_RECURSE ${FOLDER})
foreach(way FetchContent add_subdirectory)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${FOLDER}/${way} -DWAY=${way} -DRONDO_SOURCE=${SOURCE}
      -DEXPECTED_VERSION=${VERSION} -DCMAKE_BUILD_TYPE=Release -DRONDO_NATIVE=ON)
  expect_no_options(${FOLDER}/${way})
endforeach()
if(BUILD)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  run(${CMAKE_COMMAND} --build ${FOLDER}/FetchContent --parallel ${cores})
  run(${FOLDER}/FetchContent/consumer)
  run(${FOLDER}/FetchContent/trainer)
  run(${FOLDER}/FetchContent/functor)
endif()
file(REMOVE_RECURSE ${FOLDER})
