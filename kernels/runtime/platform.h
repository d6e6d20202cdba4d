// What the program runs on: NVIDIA GPUs, or the CPU executor that stands in for them. The one place that
// knows the difference at run time.
#pragma once

#include <rondo/kernels/core/status.h>

#include <string>

namespace rondo {

// "cuda" or "cpu".
const char* platform();

// Sets variables of CUDA's that the user has not set. To be called before the first CUDA call, which reads
// them.
//
// CUDA_DEVICE_MAX_CONNECTIONS=32: a device has 8 hardware queues by default, and streams that share one wait
// for each other. Each rank on a device has a stream of its caller's and two of its communicator's, so that
// three ranks on one device are enough for an exchange that waits behind a backward pass, or behind work that
// is stuck.
void set_cuda_environment();

// "cuda:0" or "cpu:0".
std::string device_label(int device);

// One line for people: the device's name, its size, and where it computes.
std::string describe_device(int device);

int device_count();

// Makes sure that devices 0 .. count-1 exist. The CPU executor makes as many as asked for, before the first
// device is used; on GPUs a count beyond the machine's is a bad argument. So is a negative count.
Status request_devices(int count);

}  // namespace rondo
