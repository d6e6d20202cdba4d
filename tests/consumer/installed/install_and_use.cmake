# cmake -DBUILD=... -DFOLDER=... -DTYPE=... -P: installs the build into an empty folder, builds the project beside this file
# against it, and runs what comes out.
include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${FOLDER}/build -DCMAKE_PREFIX_PATH=${FOLDER}/prefix
    -DCMAKE_BUILD_TYPE=${TYPE})
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
if(RUN)
  run(${FOLDER}/build/consumer)
  run(${FOLDER}/build/trainer)
  run(${FOLDER}/prefix/bin/rondo --version)
endif()
file(REMOVE_RECURSE ${FOLDER})
