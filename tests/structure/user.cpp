// Compiled by nobody: its target tells CMake which include folders the user of a library gets.
