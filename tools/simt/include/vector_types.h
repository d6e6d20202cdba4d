// CUDA's short vectors (float4, int2, ...) and dim3, with CUDA's sizes and alignments.
#pragma once

#define __VECTOR_TYPES_H__  // programs ask whether CUDA's header was included

#ifdef SIMT_OBSERVE
#include <simt/memory_access.h>
// A GPU copies a vector of 2 or 4 elements with one instruction, g++ with one access per element. So a copy
// reports itself.
#define SIMT_COPY_AS_ONE_ACCESS(vector, assign_members)      \
  constexpr vector() = default;                              \
  constexpr vector(const vector& from) {                     \
    if (__builtin_is_constant_evaluated())                   \
      assign_members;                                        \
    else                                                     \
      simt::detail::observe_copy(this, &from, sizeof(from)); \
  }                                                          \
  constexpr vector& operator=(const vector& from) {          \
    if (__builtin_is_constant_evaluated())                   \
      assign_members;                                        \
    else                                                     \
      simt::detail::observe_copy(this, &from, sizeof(from)); \
    return *this;                                            \
  }
#define SIMT_VECTOR2(vector, type)                     \
  constexpr vector(type vx, type vy) : x(vx), y(vy) {} \
  SIMT_COPY_AS_ONE_ACCESS(vector, (x = from.x, y = from.y))
#define SIMT_VECTOR4(vector, type)                                                     \
  constexpr vector(type vx, type vy, type vz, type vw) : x(vx), y(vy), z(vz), w(vw) {} \
  SIMT_COPY_AS_ONE_ACCESS(vector, (x = from.x, y = from.y, z = from.z, w = from.w))
#else
#define SIMT_VECTOR2(vector, type)
#define SIMT_VECTOR4(vector, type)
#endif

#define SIMT_VECTORS(name, type, align2, align4) \
  struct name##1 {                               \
    type x;                                      \
  };                                             \
  struct alignas(align2) name##2 {               \
    type x, y;                                   \
    SIMT_VECTOR2(name##2, type)                  \
  };                                             \
  struct name##3 {                               \
    type x, y, z;                                \
  };                                             \
  struct alignas(align4) name##4 {               \
    type x, y, z, w;                             \
    SIMT_VECTOR4(name##4, type)                  \
  };

SIMT_VECTORS(char, signed char, 2, 4)
SIMT_VECTORS(uchar, unsigned char, 2, 4)
SIMT_VECTORS(short, short, 4, 8)
SIMT_VECTORS(ushort, unsigned short, 4, 8)
SIMT_VECTORS(int, int, 8, 16)
SIMT_VECTORS(uint, unsigned int, 8, 16)
SIMT_VECTORS(long, long, 16, 16)
SIMT_VECTORS(ulong, unsigned long, 16, 16)
SIMT_VECTORS(longlong, long long, 16, 16)
SIMT_VECTORS(ulonglong, unsigned long long, 16, 16)
SIMT_VECTORS(float, float, 8, 16)
SIMT_VECTORS(double, double, 16, 16)

#undef SIMT_VECTORS
#undef SIMT_VECTOR2
#undef SIMT_VECTOR4
#undef SIMT_COPY_AS_ONE_ACCESS

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};
