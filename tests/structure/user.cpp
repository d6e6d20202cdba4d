// Not compiled: its target gives CMake the include folders that a user of a library gets.
