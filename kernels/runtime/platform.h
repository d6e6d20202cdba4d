// The platform: NVIDIA GPUs, or the CPU executor that replaces them. The only run-time distinction between
// the two is here.
#pragma once

#include <rondo/kernels/core/status.h>

#include <string>

namespace rondo {

// "cuda" or "cpu".
const char* platform();

// Sets CUDA's environment variables that the user has not set. Must be called before the first CUDA call,
// which reads them.
//
// CUDA_DEVICE_MAX_CONNECTIONS=32: a device has 8 hardware queues by default, and streams that share a queue
// wait for each other. Each rank uses one stream of the caller and two of the communicator. With the default,
// three ranks on one device (nine streams) are enough for an exchange to wait behind a backward pass, or
// behind blocked work.
//
// CUDA_MODULE_LOADING stays as it is: EAGER would load every kernel of the program on each device, which
// costs time and memory. A Communicator loads its kernels when it is made (load() in core/launch.cuh).
void set_cuda_environment();

// "cuda:0" or "cpu:0".
std::string device_label(int device);

// A one-line description for output: the device's name, its size, and the hardware that it runs on.
std::string describe_device(int device);

// The number of devices, 0 if there are none. device_failed if CUDA cannot count them, for example because
// the driver is older than the toolkit (cudaErrorInsufficientDriver).
Status count_devices(int& count);

// The same, with 0 if CUDA cannot count them.
int device_count();

// Ensures that devices 0 .. count-1 exist. The CPU executor creates as many as requested, before the first
// device is used. On GPUs, a count above the number of devices is a bad argument. So is a negative count.
Status request_devices(int count);

}  // namespace rondo
