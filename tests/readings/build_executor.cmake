# Builds TARGET of the preset cpu in the folder BUILD, which is configured first if it is new.
if(NOT EXISTS ${BUILD}/CMakeCache.txt)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} --preset cpu COMMAND_ERROR_IS_FATAL ANY)
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target ${TARGET} COMMAND_ERROR_IS_FATAL ANY)
