# refused(text command ...): an error unless the command fails and says the text, of which spaces and line
# ends count alike.
function(refused text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " line "${output}")
  string(FIND "${line}" "${text}" place)
  if(result EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "${ARGN}\nshould have failed with '${text}', and ended with ${result}:\n${output}")
  endif()
endfunction()

# expect_no_options(build): the programs of programs.cmake are compiled and linked as their project says, and
# with nothing that comes from Rondo.
function(expect_no_options build)
  file(READ ${build}/added_options added)
  if(NOT added STREQUAL "")
    message(FATAL_ERROR "Rondo hands the options '${added}' to programs that link it")
  endif()
endfunction()

# run(command ...): an error with all that it said where it fails.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()
