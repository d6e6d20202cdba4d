# refused(text command ...): fails unless the command fails and its output contains the text. Line ends and
# repeated spaces count as one space.
function(refused text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " line "${output}")
  string(FIND "${line}" "${text}" place)
  if(result EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "${ARGN}\nshould have failed with '${text}', and ended with ${result}:\n${output}")
  endif()
endfunction()

# expect_no_options(build): Rondo adds no compile or link options to the programs of programs.cmake.
function(expect_no_options build)
  file(READ ${build}/added_options added)
  if(NOT added STREQUAL "")
    message(FATAL_ERROR "Rondo hands the options '${added}' to programs that link it")
  endif()
endfunction()

# run(command ...): runs the command, and fails with its output if it fails.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()
