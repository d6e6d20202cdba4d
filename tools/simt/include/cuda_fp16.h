// __half and __half2: 16-bit IEEE 754 floats.
#pragma once

#include <simt/conversions.h>
#include <simt/narrow_float.h>
#include <simt/narrow_functions.h>
#include <vector_types.h>

using __half = simt::NarrowFloat<simt::HalfFormat>;
using __half2 = simt::NarrowFloat2<simt::HalfFormat>;
using half = __half;
using half2 = __half2;

inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline float __half2float(__half x) { return x; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }
inline __half __ushort_as_half(unsigned short bits) { return __half::from_bits(bits); }
inline __half __double2half(double x) { return static_cast<__half>(static_cast<float>(x)); }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline short __half_as_short(__half x) { return static_cast<short>(x.bits); }
inline __half __short_as_half(short bits) { return __half::from_bits(static_cast<unsigned short>(bits)); }
inline __half2 __low2half2(__half2 v) { return {v.x, v.x}; }
inline __half2 __high2half2(__half2 v) { return {v.y, v.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
inline __half2 __lowhigh2highlow(__half2 v) { return {v.y, v.x}; }
inline __half __int2half_rn(int x) { return static_cast<float>(x); }
inline __half __uint2half_rn(unsigned x) { return static_cast<float>(x); }
inline int __half2int_rn(__half x) { return __float2int_rn(x); }
inline int __half2int_rz(__half x) { return __float2int_rz(x); }
inline int __half2int_rd(__half x) { return __float2int_rd(x); }
inline int __half2int_ru(__half x) { return __float2int_ru(x); }
