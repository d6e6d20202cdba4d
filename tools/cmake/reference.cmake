# The API reference from the headers' comments, by Doxygen:
#   cmake --build --preset cpu --target reference     writes build/cpu/reference/html/index.html
find_package(Doxygen QUIET)
if(NOT DOXYGEN_FOUND)
  add_custom_target(reference
    COMMAND ${CMAKE_COMMAND} -E echo "doxygen was not found: install it and configure again"
    COMMAND ${CMAKE_COMMAND} -E false)
  return()
endif()

set(DOXYGEN_PROJECT_NAME Rondo)
set(DOXYGEN_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/reference)
set(DOXYGEN_GENERATE_LATEX NO)
set(DOXYGEN_FILE_PATTERNS *.h README.md architecture.md glossary.md numerics.md training.md ring.md)
set(DOXYGEN_USE_MDFILE_AS_MAINPAGE ${PROJECT_SOURCE_DIR}/README.md)
set(DOXYGEN_EXTRACT_ALL YES)
set(DOXYGEN_STRIP_FROM_PATH ${PROJECT_SOURCE_DIR})
set(DOXYGEN_STRIP_FROM_INC_PATH ${PROJECT_SOURCE_DIR})
set(DOXYGEN_ENABLE_PREPROCESSING YES)
set(DOXYGEN_PREDEFINED __host__= __device__= __global__= __forceinline__=inline)
set(DOXYGEN_QUIET YES)
set(DOXYGEN_WARN_IF_UNDOCUMENTED NO)
set(DOXYGEN_WARN_IF_DOC_ERROR NO)
# The headers have plain comments: one before a declaration describes it, one behind it too. Examples are
# indented by three blanks.
set(DOXYGEN_FILTER_PATTERNS "*.h=${PROJECT_SOURCE_DIR}/tools/cmake/doxygen_comments")
doxygen_add_docs(reference README.md docs kernels collectives nn WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
