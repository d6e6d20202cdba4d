// make_float4(x, y, z, w) and similar functions.
#pragma once

#include <vector_types.h>

#define SIMT_MAKERS(name, type)                                                  \
  constexpr name##1 make_##name##1(type x) { return {x}; }                       \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

SIMT_MAKERS(char, signed char)
SIMT_MAKERS(uchar, unsigned char)
SIMT_MAKERS(short, short)
SIMT_MAKERS(ushort, unsigned short)
SIMT_MAKERS(int, int)
SIMT_MAKERS(uint, unsigned int)
SIMT_MAKERS(long, long)
SIMT_MAKERS(ulong, unsigned long)
SIMT_MAKERS(longlong, long long)
SIMT_MAKERS(ulonglong, unsigned long long)
SIMT_MAKERS(float, float)
SIMT_MAKERS(double, double)

#undef SIMT_MAKERS
