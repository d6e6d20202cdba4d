# cmake -DBUILD=... -DFOLDER=... -DTYPE=... -DRUN=ON -DCOMPILER=... -DCPU=... -DVERSION=... -P: installs the
# build into an empty folder, builds the project beside this file and the project in components against it,
# and runs their programs.
include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${FOLDER}/build -DCMAKE_PREFIX_PATH=${FOLDER}/prefix
    -DCMAKE_BUILD_TYPE=${TYPE})
expect_no_options(${FOLDER}/build)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
if(RUN)
  run(${FOLDER}/build/consumer)
  run(${FOLDER}/build/trainer)
  run(${FOLDER}/build/processes)
  if(EXISTS ${FOLDER}/build/functor)
    run(${FOLDER}/build/functor)
  endif()
  run(${FOLDER}/prefix/bin/rondo --version)
endif()

# The same programs with the flags of pkg-config, where it is installed.
find_program(pkg_config pkg-config)
file(GLOB_RECURSE pc ${FOLDER}/prefix/rondo-nn.pc)
cmake_path(GET pc PARENT_PATH pc_folder)
if(pkg_config AND RUN)
  set(ENV{PKG_CONFIG_PATH} ${pc_folder})
  run(${pkg_config} --exact-version=${VERSION} rondo-nn)
  set(programs consumer trainer)
  if(EXISTS ${FOLDER}/build/functor)
    list(APPEND programs functor)
  endif()
  foreach(program ${programs})
    set(packages rondo-nn)
    if(program STREQUAL consumer)
      set(packages "rondo-kernels rondo-collectives")
    elseif(program STREQUAL functor)
      set(packages rondo-kernels)
    endif()
    run(sh -c "${COMPILER} -std=c++20 -DEXPECTED_VERSION='\"${VERSION}\"' \
      ${CMAKE_CURRENT_LIST_DIR}/../${program}.cpp -o ${FOLDER}/${program} \
      $(${pkg_config} --cflags --libs ${packages})")
    run(${FOLDER}/${program})
  endforeach()
endif()

# The kernels only, on a machine without the other dependencies.
set(components ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/components -B ${FOLDER}/components
    -DCMAKE_PREFIX_PATH=${FOLDER}/prefix -DCMAKE_BUILD_TYPE=${TYPE} -DCPU=${CPU})
run(${components} -DWANTED=)
run(${CMAKE_COMMAND} --build ${FOLDER}/components)
if(RUN)
  run(${FOLDER}/components/product)
endif()
refused("rondo component 'nn' needs ZLIB, which was not found" ${components} -DWANTED=nn)
refused("rondo has no component 'kernel', must be one of kernels, collectives, nn, across_hosts"
  ${components} "-DWANTED=kernels\;kernel")

# The libraries and their user may be compiled for different instruction sets, so the text of the preprocessed
# headers must not depend on it.
if(CPU STREQUAL "x86-64")
  file(GLOB_RECURSE headers RELATIVE ${FOLDER}/prefix/include ${FOLDER}/prefix/include/rondo/*)
  file(GLOB_RECURSE of_executor RELATIVE ${FOLDER}/prefix/include/rondo-simt
    ${FOLDER}/prefix/include/rondo-simt/*.h*)
  set(text "")
  foreach(header ${headers} ${of_executor})
    string(APPEND text "#include <${header}>\n")
  endforeach()
  file(WRITE ${FOLDER}/headers.cpp ${text})
  set(preprocess ${COMPILER} -std=c++20 -E -P -I${FOLDER}/prefix/include -I${FOLDER}/prefix/include/rondo-simt
      ${FOLDER}/headers.cpp)
  foreach(level x86-64 x86-64-v4)
    run(${preprocess} -march=${level} -o ${FOLDER}/${level})
  endforeach()
  run(${CMAKE_COMMAND} -E compare_files ${FOLDER}/x86-64 ${FOLDER}/x86-64-v4)
endif()
file(REMOVE_RECURSE ${FOLDER})
