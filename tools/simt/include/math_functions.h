// Mathematical functions; <cuda_runtime.h> has them, too.
#pragma once

#include <simt/device.h>
