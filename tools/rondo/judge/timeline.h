// The time of a counted program on a GPU, by its counts.
//
// A launch takes the sum of the times of its resources, as if nothing overlapped: so every count that grows
// shows. They are the bytes of memory; the sectors of requests, all from L2, as if there were no L1; the
// wavefronts of shared memory; the bytes of links to other devices and to the host; the instructions; and the
// launch itself. Lanes of an atomic that meet at one address follow each other. A launch with fewer blocks
// than the GPU has multiprocessors uses only as many. A copy takes the time of its link. An operation begins
// when those before it have ended and its engine is free: a device runs one kernel at a time, and has one
// engine for copies to it and one for copies from it. It is arithmetic on counts and published peaks, not a
// simulation and not a measurement.
#pragma once

#include <simt/counted_operations.h>
#include <simt/gpus.h>

namespace rondo::program {

// Bytes per second in one direction.
struct GpuLinks {
  double host, peer;
};
GpuLinks links_of(const simt::GpuProperties& gpu);

struct KernelTime {
  double seconds = 0;      // of all launches
  const char* bound = "";  // the resource that takes the longest
};
KernelTime counted_time(const simt::KernelProfile& kernel, const simt::GpuProperties& gpu);
double counted_seconds(const simt::ProgramProfile& profile, const simt::GpuProperties& gpu);

}  // namespace rondo::program
