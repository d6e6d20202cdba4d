// threadIdx, blockIdx, blockDim, gridDim and warpSize.
#pragma once

#include <simt/builtins.h>
