// What the program runs on: NVIDIA GPUs, or the CPU executor that stands in for them. The one place that
// knows the difference at run time.
#pragma once

#include <rondo/kernels/core/status.h>

#include <string>

namespace rondo {

// "cuda" or "cpu".
const char* platform();

// "cuda:0" or "cpu:0".
std::string device_label(int device);

// One line for people: the device's name, its size, and where it computes.
std::string describe_device(int device);

int device_count();

// Makes sure that devices 0 .. count-1 exist. The CPU executor makes as many as asked for, before the first
// device is used; on GPUs a count beyond the machine's is a bad argument. So is a negative count.
Status request_devices(int count);

}  // namespace rondo
