// Where a profiler begins and ends to observe a program. There is none that uses it: no effect.
#pragma once

#include <driver_types.h>

cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
