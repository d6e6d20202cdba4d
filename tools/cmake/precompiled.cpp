// CMake gives a target precompiled headers only if it has a source file (precompiled.cmake).
