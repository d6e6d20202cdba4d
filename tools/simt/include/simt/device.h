// The parts of CUDA C++ that plain C++ does not have, for device code. <cuda_runtime.h> includes it.
#pragma once

#include <simt/async_copy.h>
#include <simt/atomics.h>
#include <simt/barrier.h>
#include <simt/builtins.h>
#include <simt/cached_access.h>
#include <simt/clock.h>
#include <simt/conversions.h>
#include <simt/fast_math.h>
#include <simt/math.h>
#include <simt/packed_bytes.h>
#include <simt/rounding.h>
#include <simt/shared.h>
#include <simt/warp.h>
